"""The script of a kernel mixture's fit: what follows what, and when it ends."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.solution import MultiviewMixture, Outcome
from bigtensor.errors import DataError, IdentifiabilityError
from bigtensor.models.data_shape import DataShape
from bigtensor.models.kernel_mixture.bandwidth_choice import with_chosen_bandwidth
from bigtensor.models.kernel_mixture.component_choice import (
    with_counted_components,
    with_populations_if_dependent,
)
from bigtensor.models.kernel_mixture.constant_features import (
    LeftOut,
    described,
    varying_columns,
    without_constant_features,
)
from bigtensor.models.kernel_mixture.held_out import PilotScores, score_pilot
from bigtensor.models.kernel_mixture.passes import (
    decomposed,
    moments_pass,
    pilot,
    posterior_solution,
)
from bigtensor.models.kernel_mixture.population_choice import find_populations
from bigtensor.models.kernel_mixture.populations import Populations
from bigtensor.models.kernel_mixture.preparation import Preparation, prepare
from bigtensor.models.kernel_mixture.refinement import clustered_start, spectral_start
from bigtensor.models.kernel_mixture.rival_starts import best_of_rivals
from bigtensor.models.kernel_mixture.settings import Settings, purpose_seed
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.models.kernel_mixture.stages import (
    moments_reason,
    moments_windows,
    posterior_stages,
)
from bigtensor.models.kernel_mixture.verdict import Evidence, form_verdict
from bigtensor.statistics.base import Narrowing, Pass
from bigtensor.statistics.co_posterior import CoPosteriorSumsResult
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.triple_moments import TripleMomentsResult


@dataclass(frozen=True, eq=False)
class KernelFit:
    """What a fit found."""

    solution: KernelSolution
    populations: Populations | None
    diagnostics: dict[str, Any]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything but the diagnostics as named arrays."""
        return fitted_arrays(self.solution, self.populations)

    def population_by(self, order: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Return the population of every component as numbered before it was put in order."""
        return (
            None if self.populations is None else self.populations.of_component[np.argsort(order)]
        )


def fitted_arrays(
    solution: KernelSolution, populations: Populations | None
) -> dict[str, NDArray[Any]]:
    """Return what a fitted model is saved as."""
    arrays = solution.arrays()
    if populations is not None:
        arrays |= populations.arrays()
    return arrays


def fit_passes(
    settings: Settings, shape: DataShape
) -> Generator[Pass[Any] | Narrowing, Any, KernelFit]:
    """Ask for a sample, the moments and the posterior sums, and solve between them."""
    sample, settings, preparation = yield from preparation_passes(settings, shape)
    diagnostics: dict[str, Any] = dict(preparation.diagnostics)
    windows = moments_windows(settings, shape.rows)
    mixture, doubtful = yield from _start(sample, preparation, settings, diagnostics, windows)
    co_posterior: CoPosteriorSumsResult | None = None
    for stage in posterior_stages(settings, shape.rows, doubtful=doubtful):
        passes = yield from posterior_solution(
            mixture,
            preparation,
            stage.most,
            settle=stage.settle,
            name=stage.name,
            rows=stage.windows,
            co_posterior=stage.co_posterior,
        )
        co_posterior = passes.sums.co_posterior or co_posterior
        if doubtful and stage.settle and preparation.groups:
            # the settings know nothing of a number that was counted, nor of rows beside the data
            known = replace(settings, n_components=preparation.n_components, rows=shape.rows)
            passes = yield from best_of_rivals(
                passes, sample, preparation, known, stage, diagnostics
            )
        mixture = passes.solution.mixture()
        key = "mean" if stage.name == "posterior" else stage.name
        diagnostics[f"{key}_log_likelihood"] = passes.likelihoods
    found = finished(passes.solution, co_posterior, settings, preparation, diagnostics, sample)
    scores = score_pilot(
        sample,
        passes,
        preparation,
        contained=stage.windows is None,
        of_component=found.population_by(passes.solution.descending),
        random_state=settings.random_state,
    )
    rows = shape.rows if stage.windows else passes.sums.rows
    order = passes.solution.descending
    judge(found, order, co_posterior, settings, rows, scores, len(passes.likelihoods))
    return found


def preparation_passes(
    settings: Settings, shape: DataShape
) -> Generator[Pass[Any] | Narrowing, Any, tuple[Sample, Settings, Preparation]]:
    """Ask for a sample, and prepare everything that is fixed before the first full pass.

    Constant features are left out of the sample, the settings, the preparation, and all later
    passes.
    """
    sample = counted((yield from pilot(shape, settings.sample_size, settings.random_state)))
    varying = varying_columns(sample)
    left_out: LeftOut = {}
    if not varying.all():
        sample, settings, left_out = without_constant_features(sample, settings, varying)
        yield Narrowing(tuple(np.flatnonzero(varying).tolist()))
    settings, counted_in_sample = with_counted_components(sample, settings)
    settings, dependence = with_populations_if_dependent(sample, settings)
    preparation = yield from with_chosen_bandwidth(
        sample, prepare(sample, settings), settings, moments_windows(settings, shape.rows)
    )
    if counted_in_sample:
        preparation.diagnostics["component_count"] = counted_in_sample
    if dependence is not None:
        preparation.diagnostics["dependence_within_components"] = dependence
    if left_out:
        preparation.diagnostics["constant_features"] = left_out
        preparation.diagnostics["notes"].append(
            f"{described(left_out, len(sample.values))}, and left out of the fit"
        )
    return sample, settings, preparation


def finished(
    solution: KernelSolution,
    co_posterior: CoPosteriorSumsResult | None,
    settings: Settings,
    preparation: Preparation,
    diagnostics: dict[str, Any],
    sample: Sample | None = None,
) -> KernelFit:
    """Put the components in order, and merge them where populations were asked for.

    Parameters
    ----------
    solution : KernelSolution
    co_posterior : CoPosteriorSumsResult, optional
        What the components share.
    settings : Settings
    preparation : Preparation
    diagnostics : dict
        Receives the number of populations, and what they were found by.
    sample : Sample, optional
        The pilot sample, where its rows are at hand.
    """
    order = solution.descending
    ordered = solution.ordered(order, sample)
    populations = None
    if settings.n_populations is not None and co_posterior is not None:
        populations = find_populations(
            ordered, co_posterior.ordered(order), sample, preparation, settings, diagnostics
        )
        diagnostics["n_populations"] = len(populations.weights)
    return KernelFit(ordered, populations, diagnostics)


def judge(
    found: KernelFit,
    order: NDArray[np.intp],
    co_posterior: CoPosteriorSumsResult | None,
    settings: Settings,
    rows: int,
    scores: PilotScores | None = None,
    passes: int = 0,
) -> None:
    """Form the verdict on a fit, record it in the diagnostics, and warn of a fault.

    Parameters
    ----------
    found : KernelFit
        Its diagnostics receive ``verdict``.
    order : (k,) integer array
        The final order of the components.
    co_posterior : CoPosteriorSumsResult, optional
        What the components share.
    settings : Settings
    rows : int
        Rows of the data.
    scores : PilotScores, optional
        None if no row is at hand.
    passes : int
        Number of posterior passes.
    """
    evidence = Evidence(
        weights=found.solution.weights,
        order=order,
        rows=rows,
        scores=scores,
        labelled=None if co_posterior is None else co_posterior.assigned.sum(axis=0),
        population_weights=None if found.populations is None else found.populations.weights,
        # a number of passes that was asked for is not questioned, and components that are merged
        # only have to cover the data
        judge_settling=settings.posterior_passes is None and settings.n_populations is None,
        passes=passes,
        spectral=found.diagnostics.get("spectral"),
    )
    verdict = form_verdict(evidence)
    found.diagnostics["verdict"] = verdict.as_diagnostics()
    verdict.warn(stacklevel=6)


def _start(
    sample: Sample,
    preparation: Preparation,
    settings: Settings,
    diagnostics: dict[str, Any],
    windows: tuple[tuple[int, int], ...] | None,
) -> Generator[Pass[Any], Any, tuple[MixtureDensities, bool]]:
    """Return the mixture to start from, and whether it is a doubtful one."""
    if preparation.groups is None:
        return clustered_components(sample, preparation).mixture(), True
    moments = yield moments_pass(preparation.groups, windows)
    spectral = spectral_components(moments, preparation, settings, diagnostics)
    diagnostics["moments"] = {
        "rows": moments.rows,
        "reason": moments_reason(settings, windowed=windows is not None),
    }
    doubtful = spectral.outcome is not Outcome.CONVERGED
    return spectral_start(spectral, preparation), doubtful


def clustered_components(sample: Sample, preparation: Preparation) -> KernelSolution:
    """Return the components that the clusters of the sample make, if there are enough."""
    _require_clusters(preparation)
    return clustered_start(sample, preparation)


def spectral_components(
    moments: TripleMomentsResult,
    preparation: Preparation,
    settings: Settings,
    diagnostics: dict[str, Any],
) -> MultiviewMixture:
    """Decompose the moments and record diagnostics."""
    seed = purpose_seed(settings.random_state, "power")
    spectral = decomposed(moments, preparation, settings.decomposition, seed)
    diagnostics["spectral"] = {"outcome": spectral.outcome.value, **spectral.diagnostics}
    return spectral


def counted(sample: Sample) -> Sample:
    """Leave rows of weight zero out of a sample: they are not part of the data.

    Raises
    ------
    DataError
        When nothing is left.
    """
    if sample.weight is None:
        return sample
    positive = sample.weight > 0
    if not positive.any():
        raise DataError(
            f"every sample weight is zero in the {len(positive)} rows of the pilot sample, so that "
            "nothing is left to fit; give some rows a positive weight"
        )
    return replace(
        sample,
        values=sample.values[positive],
        index=sample.index[positive],
        weight=sample.weight[positive],
    )


def _require_clusters(preparation: Preparation) -> None:
    """Raise unless k-means found as many clusters as there are components."""
    found, wanted = np.unique(preparation.assignment).size, preparation.n_components
    if found < wanted:
        raise IdentifiabilityError(
            f"the sample has only {found} distinct rows, which support at most {found} "
            f"components, but {wanted} were asked for: use fewer components"
        )
