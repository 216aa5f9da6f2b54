"""Low-rank kernel embedding of a sample: its width and rank by validation."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from bigtensor.decomposition.tensor_train.kernel_svd import nested_kernel_svd
from bigtensor.errors import DataError, Setting
from bigtensor.features.kernels.kernel_basis import KernelBasis
from bigtensor.features.modes import Nodes
from bigtensor.models.contract.script import Step
from bigtensor.models.tensor_train_density.choice import possible_systems
from bigtensor.models.tensor_train_density.embedded_density import EmbeddedDensity
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from bigtensor.models.tensor_train_density.settings import TrainSettings
from bigtensor.models.tensor_train_density.validation import (
    Candidate,
    Validated,
    folds_of,
    problem_of,
)

_FIRST_RANK = 3
"""Rank with which coordinates and widths are compared."""


def embed(
    rows: PilotRows, settings: TrainSettings
) -> Generator[Step, None, tuple[EmbeddedDensity, SampleProblem, Validated, list[Validated]]]:
    """Choose coordinates and width, then the rank, and embed the sample.

    Parameters
    ----------
    rows : PilotRows
        From `measured_rows`.
    settings : TrainSettings
        Resolved parameters of the fit.

    Returns
    -------
    density : EmbeddedDensity
        Embedding of the whole sample.
    problem : SampleProblem
        The rows, in the coordinates that were chosen.
    best : Validated
        The candidate with the largest score.
    tried : list of Validated
        All candidates that were scored.
    """
    folds = folds_of(rows, settings.random_state)
    first = settings.ranks[0] if len(settings.ranks) == 1 else _FIRST_RANK
    yield Step("choosing coordinates")
    tried = [
        _validated(Candidate(system, 0.0, widths, first), folds, settings)
        for system in possible_systems(rows, settings)
        for widths in settings.widths
    ]
    best = max(tried, key=lambda validated: validated.score)
    yield Step("choosing the rank")
    others = [replace(best.candidate, rank=rank) for rank in settings.ranks if rank != first]
    tried += [_validated(candidate, folds, settings) for candidate in others]
    best = max(tried, key=lambda validated: validated.score)
    yield Step("fitting the sample")
    problem = problem_of(rows, best.candidate, settings.structure)
    return embedded(problem, best.candidate, settings), problem, best, tried


def embedded(
    problem: SampleProblem, candidate: Candidate, settings: TrainSettings
) -> EmbeddedDensity:
    """Return the embedding of rows in coordinates, which keeps the mass of the kernel estimate.

    Parameters
    ----------
    problem : SampleProblem
        Rows in the coordinates of the candidate.
    candidate : Candidate
        Settings of the embedding, of which the rank is used here.
    settings : TrainSettings
        Settings with the views of the density.
    """
    bases = []
    for mode in problem.modes.modes:
        assert isinstance(mode, Nodes)
        # the tail begins one bump away from the sample, or where outliers are cut off
        bases.append(KernelBasis.of_range(mode.points[0], mode.points[-1], mode.tail))
    functions = [bases[j].functions(problem.values[:, j]) for j in problem.order]
    train = nested_kernel_svd(functions, candidate.rank, keeps_mass=True)
    background = tuple(
        share @ bumps for share, bumps in zip(problem.background, problem.bumps, strict=True)
    )
    return EmbeddedDensity(
        *(problem.coordinates, problem.order, train, tuple(bases)),
        *(problem.modes, background, settings.shape.views),
    )


def measured_rows(rows: PilotRows, settings: TrainSettings) -> PilotRows:
    """Return rows whose variables are all measured ones: a kernel smooths few values, too.

    Parameters
    ----------
    rows : PilotRows
        Pilot sample, whose variables of few values become measured ones.
    settings : TrainSettings
        Settings that name the features in messages.

    Raises
    ------
    DataError
        When an entry is missing, or a variable is constant.
    """
    if np.isnan(rows.values).any():
        raise DataError(
            "entries are missing, and a kernel embedding is of complete rows: leave such rows out ("
            + Setting("missing", "omit")
            + "), or use "
            + Setting("method", "likelihood")
        )
    constant = np.flatnonzero(np.ptp(rows.values, axis=0) == 0)
    if constant.size:
        raise DataError(
            f"constant: {', '.join(settings.features[j] for j in constant)}; a kernel has no width "
            "for such a variable: leave it out (" + Setting("views") + ")"
        )
    return replace(rows, symbols=(None,) * len(rows.symbols))


def _validated(
    candidate: Candidate, folds: list[tuple[PilotRows, PilotRows]], settings: TrainSettings
) -> Validated:
    """Return the mean log-density of held-out rows."""
    total = weight = 0.0
    for fitted, held in folds:
        problem = problem_of(fitted, candidate, settings.structure)
        density = embedded(problem, candidate, settings)
        total += float(held.weight @ density.log_densities_of(held.values))
        weight += float(held.weight.sum())
    return Validated(candidate, 0, total / weight)
