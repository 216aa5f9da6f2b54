"""Estimate of a hidden Markov model of codes from counts of three consecutive ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.discrete_core import core_of_table
from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.decomposition.exterior_point import MarkovExteriorPoint, markov_exterior_point
from bigtensor.errors import IdentifiabilityError
from bigtensor.features.category_order import sequence_places
from bigtensor.models.hidden_markov.expectation_maximisation import (
    TripleEstimate,
    triple_expectation_maximisation,
)
from bigtensor.statistics.codes.triple_counts import TripleCountsResult

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

RANDOM_INITIALISATIONS, RANDOM_ITERATIONS = 10, 1000
"""Random initialisations where triples have no spectral solution, and their EM iterations."""


@dataclass(frozen=True)
class TripleSettings:
    """Settings of the estimate from triples.

    Attributes
    ----------
    n_states, n_codes : int
        Numbers of states and of codes.
    ridge : float
        Pseudo-count that draws states towards independence.
    random_state : int
        Seed of random initialisations.
    shares_smoothing : bool
        True if the states share one pseudo-count of the EM iterations, False for one each.
    """

    n_states: int
    n_codes: int
    ridge: float
    random_state: int
    shares_smoothing: bool = False

    @property
    def smoothing(self) -> float:
        """Pseudo-count of every state in the EM iterations."""
        smoothing = SMOOTHING if self.ridge else 0.0
        return smoothing / self.n_states if self.shares_smoothing else smoothing


def estimate_from_triples(
    counts: TripleCountsResult, settings: TripleSettings
) -> tuple[TripleEstimate, dict[str, Any]]:
    """Estimate transitions and emissions of codes, and their start, from counts of triples.

    Parameters
    ----------
    counts : TripleCountsResult
        Distinct triples of codes, with their weights.
    settings : TripleSettings
        Resolved parameters of the fit.

    Returns
    -------
    TripleEstimate
        The end of the EM iterations with the largest likelihood.
    dict
        Diagnostics.
    """
    complete = (counts.codes >= 0).all(axis=1)
    if settings.n_states == 1 or not complete.any():
        return _best_of_random_initialisations(counts, settings), {}
    ends, diagnostics = list[TripleEstimate](), dict[str, Any]()
    for damping in DAMPINGS:
        try:
            end = _exterior_point(
                counts.codes[complete], counts.weight[complete], settings, damping
            )
        except IdentifiabilityError as error:
            diagnostics["no_spectral"] = str(error)
            continue
        start = end.parameters.clipped(FLOOR)
        ends.append(_iterations(start, counts, settings, TRIPLE_ITERATIONS))
        figures = {"residual": end.residual, "iterations": end.iterations, **end.diagnostics}
        diagnostics[f"exterior_point_{damping:g}"] = figures
    if not ends:
        return _best_of_random_initialisations(counts, settings), diagnostics
    return max(ends, key=lambda end: end.likelihoods[-1]), diagnostics


def _exterior_point(
    codes: NDArray[np.int32], weight: NDArray[np.float64], settings: TripleSettings, damping: float
) -> MarkovExteriorPoint:
    """Return the end of descents from spectral solutions of the table of triples."""
    k, n, total = settings.n_states, settings.n_codes, float(weight.sum())
    table = np.zeros((n, n, n))
    table[tuple(codes.T)] = weight / total
    return markov_exterior_point(
        core_of_table(table, 2 * k, damping=damping, common_scale=True),
        k,
        ridge=settings.ridge * n / total,
        rng=np.random.default_rng([settings.random_state, 0]),
    )


def _best_of_random_initialisations(
    counts: TripleCountsResult, settings: TripleSettings
) -> TripleEstimate:
    """Return the estimate of the largest likelihood, of several random initialisations."""
    rng = np.random.default_rng([settings.random_state, 1])
    k, n = settings.n_states, settings.n_codes
    # the same draws for any names and codes of the categories
    places = sequence_places(counts.codes, n, counts.weight)
    ends = []
    for _ in range(RANDOM_INITIALISATIONS if k > 1 else 1):
        drawn = [rng.random(shape) + 0.1 for shape in ((k,), (k, k), (k, n))]
        initial, transition, emission = (part / part.sum(axis=-1, keepdims=True) for part in drawn)
        start = MarkovParameters(initial, transition, emission[:, places])
        ends.append(_iterations(start, counts, settings, RANDOM_ITERATIONS))
    return max(ends, key=lambda end: end.likelihoods[-1])


def _iterations(
    start: MarkovParameters, counts: TripleCountsResult, settings: TripleSettings, most: int
) -> TripleEstimate:
    """Return the end of EM iterations on all triples."""
    return triple_expectation_maximisation(
        start,
        counts.codes,
        counts.weight,
        smoothing=settings.smoothing,
        most=most,
        tolerance=TRIPLE_TOLERANCE,
    )
