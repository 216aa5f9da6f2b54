"""Script of a tensor-train density: choices in a pilot sample, then passes over all rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain
from bigtensor.decomposition.tensor_train.kernel_svd import SignedTrain
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.kernels.kernel_basis import KernelBasis
from bigtensor.features.margins.normal_scores import NormalScores
from bigtensor.features.modes import Locator, Modes, Nodes, Symbols
from bigtensor.models.contract.iteration import Iterations, gain_below, iterate
from bigtensor.models.contract.script import Script, Solved, Step
from bigtensor.models.pilot.outliers import ordinary_rows
from bigtensor.models.pilot.sample import pilot_pass
from bigtensor.models.tensor_train_density.choice import choose
from bigtensor.models.tensor_train_density.embedded_density import EmbeddedDensity
from bigtensor.models.tensor_train_density.embedding import embed, measured_rows
from bigtensor.models.tensor_train_density.sample.kernel_fit import KernelCandidate
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.sample.sample_checks import sample_checks, sample_ranges
from bigtensor.models.tensor_train_density.sample_fit import PRIOR_WEIGHT, SampleProblem
from bigtensor.models.tensor_train_density.settings import HOLD_OUT, TrainSettings
from bigtensor.models.tensor_train_density.solution import TrainDensity
from bigtensor.models.tensor_train_density.validation import Validated, problem_of
from bigtensor.models.tensor_train_density.verdict import judged
from bigtensor.statistics.base import Pass
from bigtensor.statistics.row_sample import Sample
from bigtensor.statistics.tensor_train.gaussian_part import GaussianPart
from bigtensor.statistics.tensor_train.located_rows import RowLocator
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain
from bigtensor.statistics.tensor_train.train_counts import TrainCounts, TrainCountsResult

MORE_INITIALISATIONS = 3
"""Initialisations besides one for each train. Those of the smallest likelihood are left out."""

LEAST_GAIN = 1e-3
"""Gain of rows held out by a pass, in nats, below which it is the last."""


@dataclass(frozen=True, eq=False)
class TrainPreparation:
    """Choices from the pilot sample.

    Attributes
    ----------
    settings : TrainSettings
        Resolved parameters of the fit.
    density : TrainDensity or EmbeddedDensity
        Of the pilot sample.
    diagnostics : dict
        Choices and numbers of the sample.
    """

    settings: TrainSettings
    density: TrainDensity | EmbeddedDensity
    diagnostics: dict[str, Any]


STORED_CLASSES = (
    *(TrainDensity, TrainPreparation, TrainSettings, NonnegativeTrain, Coordinates, NormalScores),
    *(Modes, Nodes, Symbols, Locator, RowLocator, TrainCounts, TabulatedTrain),
    *(EmbeddedDensity, SignedTrain, KernelBasis, GaussianPart),
)
"""Dataclasses that a saved model, prepared or fitted, is made of."""


def prepare(settings: TrainSettings) -> Script:
    """Ask for a pilot sample, and choose everything in it that more rows do not decide better."""
    sample: Sample = yield pilot_pass(settings)
    d = len(settings.features)
    # coordinates and bumps are made for the ordinary rows; an outlying row is in the tails
    categorical = tuple(range(d)) if settings.symbols else ()
    ordinary = ordinary_rows(sample, ((0, d),), settings.shape, categorical=categorical)
    outliers = {"drawn_rows": len(sample.values), **ordinary.diagnostics}
    sample = ordinary.sample
    if settings.shape.weights_repeat_rows:
        sample = sample.by_occurrence(settings.pilot_rows)
    rows = PilotRows.of_sample(sample, settings)
    if settings.method == "embedding":
        rows = measured_rows(rows, settings)
        embedded, problem, best, tried = yield from embed(rows, settings)
        diagnostics = {
            **_choices(rows, problem, best, tried, settings),
            **sample_checks(rows, settings),
        }
        diagnostics |= outliers
        return TrainPreparation(settings, embedded, diagnostics)
    best, tried, stack = yield from choose(rows, settings)
    yield Step("fitting the sample")
    problem = problem_of(rows, best.candidate, settings.structure)
    # the last step is a pass over all rows
    steps = max(0, best.steps - 1)
    fitted = [problem.fitted(best.candidate.rank, seed, steps) for seed in _seeds(settings)]
    # some initialisations end in local maxima
    fitted.sort(key=lambda train_and_score: -train_and_score[1])
    trains = tuple(train for train, _ in fitted[: settings.n_trains])
    diagnostics = {
        **_choices(rows, problem, best, tried, settings),
        **sample_checks(rows, settings),
    }
    diagnostics |= outliers | {
        "ranges": sample_ranges(rows, settings),
        "validation_log_density": stack.score,
        "gaussian_components": 0,
        "kernels": isinstance(stack.candidate, KernelCandidate),
        "gaussian_share": stack.share,
    }
    density = _density(problem, trains, settings)
    if stack.candidate is not None:
        gaussian = stack.candidate.fitted(problem, settings.random_state)
        diagnostics["gaussian_components"] = gaussian.n_components
        density = replace(density, gaussian=gaussian, gaussian_share=stack.share)
    return TrainPreparation(settings, density, diagnostics)


def refine(preparation: TrainPreparation) -> Script:
    """Ask for steps of expectation maximisation as long as rows held out gain."""
    settings, density = preparation.settings, preparation.density
    if isinstance(density, EmbeddedDensity):
        return _solved(density, preparation, [])
    if not settings.is_sampled:
        counts = yield from _counted(density, settings, 0)
        if preparation.diagnostics["steps"]:
            density = density.updated(counts, PRIOR_WEIGHT)
        return _solved(density, preparation, [])

    def ask(state: _Stepped, _: int) -> Script:
        return _counted(state.density, settings, HOLD_OUT)

    def solved(iterations: Iterations[_Stepped]) -> Solved:
        return _solved(iterations.state.density, preparation, iterations.measures)

    return solved(
        (
            yield from iterate(
                _Stepped(density),
                ask,
                _step,
                max_iter=settings.max_iter,
                stopping_rule=gain_below(LEAST_GAIN),
                conclude=solved,
            )
        )
    )


@dataclass(frozen=True, eq=False)
class _Stepped:
    """A density, the density before it, and the score of held-out rows under that one."""

    density: TrainDensity
    before: TrainDensity | None = None
    score: float = -np.inf


def _step(state: _Stepped, sums: TrainCountsResult) -> tuple[_Stepped, float]:
    """Return the density after a step, or the better one of the last two without a gain."""
    score = sums.held_out
    if state.before is not None and score - state.score < LEAST_GAIN:
        better = state.density if score > state.score else state.before
        return _Stepped(better, state.density, score), score
    updated = state.density.updated(sums, PRIOR_WEIGHT)
    return _Stepped(updated, state.density, score), score


def _counted(
    density: TrainDensity, settings: TrainSettings, hold_out: int
) -> Generator[Pass[TrainCountsResult], TrainCountsResult, TrainCountsResult]:
    """Ask for the sums of one step."""
    return (yield Pass("expectation", density.counts(hold_out, settings.random_state)))


def _solved(
    density: TrainDensity | EmbeddedDensity, preparation: TrainPreparation, scores: list[float]
) -> Solved:
    """Return the density as it is, with a verdict."""
    diagnostics = {**preparation.diagnostics, "held_out_log_density": scores}
    return judged(density, preparation.settings, diagnostics)


def _seeds(settings: TrainSettings) -> list[int]:
    """Return one seed for each initialisation."""
    count = settings.n_trains + MORE_INITIALISATIONS
    spawned = np.random.SeedSequence(settings.random_state).generate_state(count)
    return [int(seed) for seed in spawned]


def _density(
    problem: SampleProblem, trains: tuple[NonnegativeTrain, ...], settings: TrainSettings
) -> TrainDensity:
    """Return the mixture of trains, with equal shares."""
    shares = np.full(len(trains), 1 / len(trains))
    return TrainDensity(
        *(problem.coordinates, problem.modes, problem.bumps, problem.background),
        *(trains, shares, settings.shape.views),
    )


def _choices(
    rows: PilotRows,
    problem: SampleProblem,
    best: Validated,
    tried: list[Validated],
    settings: TrainSettings,
) -> dict[str, Any]:
    """Return choices and numbers of the sample."""
    names = settings.features
    return {
        "pilot_rows": len(rows.weight),
        "steps": best.steps,
        "validation_log_density": best.score,
        **asdict(best.candidate),
        "order": [names[j] for j in problem.order],
        "categorical": [
            name for name, symbols in zip(names, rows.symbols, strict=True) if symbols is not None
        ],
        "atoms": {
            name: atoms.tolist()
            for name, atoms in zip(names, rows.atoms, strict=True)
            if len(atoms)
        },
        "tried": [
            {
                **asdict(one.candidate),
                "steps": one.steps,
                "log_density": one.score,
                "given_up": one.given_up,
            }
            for one in tried
        ],
    }
