"""Script of a hidden Markov model's fit: a count of triples, and iterations along sequences."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete_core import core_of_table
from bigtensor.decomposition.exterior_point import MarkovExteriorPoint, markov_exterior_point
from bigtensor.decomposition.hidden_markov import MarkovParameters
from bigtensor.errors import DataError, IdentifiabilityError
from bigtensor.models.hidden_markov.expectation_maximisation import (
    TripleEstimate,
    triple_expectation_maximisation,
)
from bigtensor.models.hidden_markov.initial_states import initial_states
from bigtensor.models.hidden_markov.sequence_iterations import operators_of, sequence_iterations
from bigtensor.models.hidden_markov.settings import Settings
from bigtensor.models.hidden_markov.solution import MarkovFit, chain_of, fit_of
from bigtensor.models.hidden_markov.verdict import judged
from bigtensor.models.script import PlannedPass, Script
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.expectation import SequencePosteriorSums
from bigtensor.statistics.sequences.transfer import Boundaries
from bigtensor.statistics.triple_counts import TripleCounts, TripleCountsResult

FLOOR = 1e-5
"""Smallest probability at the start of the EM iterations on triples."""

DAMPINGS = (0.0, 0.1)
"""Shares that are added to the frequencies of all categories together before the table is scaled.

Without one, a run of a rare category stands out as much as a state does: of 191,400 letters of DNA
with 60 ambiguous ones, one state in two was theirs. With one, states of rare categories are found
later. Both are tried, and the likelihood decides.
"""

SMOOTHING = 1.0
"""Pseudo-count of the EM iterations, where there is a ridge."""

TRIPLE_ITERATIONS, TRIPLE_TOLERANCE = 20, 1e-8
"""Most EM iterations on triples after the exterior point method, and where they end."""

RANDOM_STARTS, RANDOM_ITERATIONS = 10, 1000
"""Random initialisations where triples have no spectral solution, and their EM iterations."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """Decisions before the sums over all rows.

    Attributes
    ----------
    settings : Settings
    diagnostics : dict
    """

    settings: Settings
    diagnostics: dict[str, Any] = field(default_factory=dict)


STORED_CLASSES = (MarkovFit, Preparation, Settings, TripleCounts)
"""Dataclasses that a saved hidden Markov model, prepared or fitted, is made of."""


def prepare(settings: Settings) -> Generator[Pass[Any], Any, Preparation]:
    """Return the settings: triples are counted without anything fixed beforehand."""
    yield from ()
    return Preparation(settings)


def refine(preparation: Preparation) -> Script:
    """Ask for the counts of triples, and for expected counts along sequences."""
    settings = preparation.settings
    counts: TripleCountsResult = yield Pass("triples", TripleCounts(settings.n_categories))
    if not counts.weight.sum() > 0:
        raise DataError(
            "no three consecutive rows of a sequence with a positive weight are left to fit: "
            "sequences have to be runs of rows, one behind the other"
        )
    smoothing = SMOOTHING if settings.ridge else 0.0
    estimate, told = _estimated(counts, settings, smoothing)
    initial = initial_states(counts.first_pairs, estimate.parameters)
    initial, parameters, likelihoods = yield from sequence_iterations(
        initial, estimate.parameters, smoothing, settings
    )
    fit = fit_of(initial, parameters, settings.views, settings.categories)
    return judged(
        fit,
        counts,
        {
            "n_states": settings.n_states,
            "ridge": settings.ridge,
            "sequences": counts.sequences,
            "sequences_of_one_row": counts.single_rows,
            "triples": float(counts.weight.sum()),
            "distinct_triples": len(counts.weight),
            "parameters": fit.parameters,
            "refined": "sequences" if likelihoods else "triples",
            "triple_log_likelihood": estimate.likelihoods,
            "mean_log_likelihood": likelihoods,
            **told,
        },
    )


def planned_refinement(settings: Settings) -> list[PlannedPass]:
    """Return upper bounds of the passes of `refine`."""
    k, n = settings.n_states, settings.n_categories
    cells = (n + 1) ** 3
    counted = Pass("triples", TripleCounts(n))
    # the table, copies of it in the decomposition, and the distinct triples with their posteriors
    planned = [PlannedPass(counted, driver_nbytes=8 * cells * 6 + cells * (12 + 24))]
    if settings.em_iterations:
        chain = chain_of(np.full(k, 1 / k), np.full((k, k), 1 / k), np.full((k, n), 1 / n))
        operators = operators_of(chain, settings.rows)
        blocks = operators.most_entries
        nothing = np.zeros((blocks, k))
        blank = Boundaries(np.arange(blocks), np.zeros(blocks, bool), nothing, nothing, 0)
        times, held = settings.em_iterations, operators.state_nbytes()
        expected = Pass("expectation", SequencePosteriorSums(chain, blank))
        planned.append(PlannedPass(Pass("messages", operators), times, driver_nbytes=2 * held))
        planned.append(PlannedPass(expected, times, driver_nbytes=2 * nothing.nbytes))
    return planned


def _estimated(
    counts: TripleCountsResult, settings: Settings, smoothing: float
) -> tuple[TripleEstimate, dict[str, Any]]:
    """Return the estimate from triples, and diagnostics."""
    complete = (counts.codes >= 0).all(axis=1)
    if settings.n_states == 1 or not complete.any():
        return _best_of_random_starts(counts, settings, smoothing), {}
    ends, told = list[TripleEstimate](), dict[str, Any]()
    for damping in DAMPINGS:
        try:
            end = _exterior_point(
                counts.codes[complete], counts.weight[complete], settings, damping
            )
        except IdentifiabilityError as error:
            told["no_spectral"] = str(error)
            continue
        start = end.parameters.clipped(FLOOR)
        ends.append(_iterations(start, counts, smoothing, TRIPLE_ITERATIONS))
        figures = {"residual": end.residual, "iterations": end.iterations, **end.diagnostics}
        told[f"exterior_point_{damping:g}"] = figures
    if not ends:
        return _best_of_random_starts(counts, settings, smoothing), told
    return max(ends, key=lambda end: end.likelihoods[-1]), told


def _exterior_point(
    codes: NDArray[np.int32], weight: NDArray[np.float64], settings: Settings, damping: float
) -> MarkovExteriorPoint:
    """Return the end of descents from spectral solutions of the table of triples."""
    k, n, total = settings.n_states, settings.n_categories, float(weight.sum())
    table = np.zeros((n, n, n))
    table[tuple(codes.T)] = weight / total
    return markov_exterior_point(
        core_of_table(table, 2 * k, damping=damping, common_scale=True),
        k,
        ridge=settings.ridge * n / total,
        rng=np.random.default_rng([settings.random_state, 0]),
    )


def _best_of_random_starts(
    counts: TripleCountsResult, settings: Settings, smoothing: float
) -> TripleEstimate:
    """Return the end of the EM iterations with the largest likelihood, of several starts."""
    rng = np.random.default_rng([settings.random_state, 1])
    k, n = settings.n_states, settings.n_categories
    ends = []
    for _ in range(RANDOM_STARTS if k > 1 else 1):
        drawn = [rng.random(shape) + 0.1 for shape in ((k,), (k, k), (k, n))]
        start = MarkovParameters(*(part / part.sum(axis=-1, keepdims=True) for part in drawn))
        ends.append(_iterations(start, counts, smoothing, RANDOM_ITERATIONS))
    return max(ends, key=lambda end: end.likelihoods[-1])


def _iterations(
    start: MarkovParameters, counts: TripleCountsResult, smoothing: float, most: int
) -> TripleEstimate:
    """Return the end of EM iterations on all triples."""
    return triple_expectation_maximisation(
        start,
        counts.codes,
        counts.weight,
        smoothing=smoothing,
        most=most,
        tolerance=TRIPLE_TOLERANCE,
    )
