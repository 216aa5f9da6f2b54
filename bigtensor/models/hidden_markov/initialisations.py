"""Initialisations beside the one of triples, which compete along whole sequences."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.features.category_order import sequence_places
from bigtensor.features.clustering import kmeans
from bigtensor.models.hidden_markov.emissions.categorical_emissions import Categories
from bigtensor.models.hidden_markov.emissions.law_preparation import LawPreparation
from bigtensor.models.hidden_markov.emissions.protocols import Family
from bigtensor.models.hidden_markov.expectation_maximisation import triple_expectation_maximisation
from bigtensor.models.hidden_markov.sequence_iterations import sequence_iterations
from bigtensor.models.hidden_markov.settings import (
    OTHER_INITIALISATIONS,
    ROUNDS,
    MarkovSettings,
)
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.models.hidden_markov.triple_estimate import FLOOR, TripleSettings
from bigtensor.statistics.codes.triple_counts import TripleCountsResult

STAY = 0.5
"""Probability to stay in a state, before the EM iterations on triples."""

ITERATIONS_OF_PARTITION, ITERATIONS_OF_RANDOM = 2, 50
"""EM iterations on triples of groups of cells, which only look for transitions, and of categories.

More iterations would lead groups of cells to where the decomposition of the triples has led.
"""

ALIKE = 2e-3
"""Difference of mean log-likelihoods, in nats a row, up to which one of two fits goes on."""

CELL_FLOOR = 1e-3
"""Smallest probability of a cell before the EM iterations on triples."""

_Fit = tuple[MarkovFit, list[float]]
"""A model, and the likelihoods before its iterations."""


def other_initialisations(
    counts: TripleCountsResult, settings: TripleSettings, family: Family
) -> list[MarkovParameters]:
    """Return random initialisations: groups of cells around random ones, or random probabilities.

    Parameters
    ----------
    counts : TripleCountsResult
        Distinct triples of codes, with their weights.
    settings : TripleSettings
        Settings with the number of states.
    family : Family
        Emissions. Kernel emissions have no other initialisation, because theirs are costly.
    """
    k, n = settings.n_states, settings.n_codes
    seeds = np.random.SeedSequence([settings.random_state, 2]).spawn(OTHER_INITIALISATIONS)
    # the same draws for any names and codes of the categories
    places = sequence_places(counts.codes, n, counts.weight)
    others = list[MarkovParameters]()
    for number, seed in enumerate(seeds if 1 < k <= n else ()):
        rng = np.random.default_rng(seed)
        if isinstance(family, LawPreparation):
            emission = _groups_of_cells(family, k, rng, clustered=number % 2 == 0)
            most = ITERATIONS_OF_PARTITION
        elif isinstance(family, Categories):
            drawn = rng.random((k, n)) + 0.1
            emission, most = drawn[:, places], ITERATIONS_OF_RANDOM
        else:
            break
        emission = emission / emission.sum(axis=1, keepdims=True)
        transition = np.full((k, k), (1 - STAY) / (k - 1))
        np.fill_diagonal(transition, STAY)
        start = MarkovParameters(np.full(k, 1 / k), transition, emission).clipped(CELL_FLOOR)
        end = triple_expectation_maximisation(
            start, counts.codes, counts.weight, smoothing=settings.smoothing, most=most
        )
        others.append(end.parameters.clipped(FLOOR))
    return others


def best_of_initialisations(
    starts: list[MarkovFit], family: Family, settings: MarkovSettings, smoothing: float
) -> Generator[Any, Any, tuple[MarkovFit, list[float], list[float]]]:
    """Ask for a few iterations of every initialisation, and for more of the most likely one.

    Parameters
    ----------
    starts : list of MarkovFit
        Initialisations; the first one is the one of triples.
    family : Family
        Re-estimates emissions.
    settings : MarkovSettings
        Settings of the fit.
    smoothing : float
        Pseudo-count of every transition and category.

    Returns
    -------
    fit : MarkovFit
        After the last iteration.
    likelihoods : list of float
        Mean log-likelihood of a row before every iteration of this fit, in nats.
    ends : list of float
        Of every initialisation, the likelihood after a few iterations; empty without competition.
    """
    rows, all_rows = settings.shape.most_rows, settings.shape.all_rows
    if len(starts) == 1:
        fit, likelihoods = yield from sequence_iterations(
            starts[0],
            family,
            smoothing=smoothing,
            most=settings.max_iter,
            rows=rows,
            all_rows=all_rows,
        )
        return fit, likelihoods, []
    competing = [(start, list[float]()) for start in starts]
    ends = list[float]()
    for kept, most in ROUNDS:
        competing = _kept(competing, kept)
        for place, (start, before) in enumerate(competing):
            fit, likelihoods = yield from sequence_iterations(
                start,
                family,
                smoothing=smoothing,
                most=min(most, settings.max_iter) - len(before),
                rows=rows,
                all_rows=all_rows,
            )
            competing[place] = fit, [*before, *likelihoods]
        ends = ends or [likelihoods[-1] for _, likelihoods in competing]
    fit, before = max(competing, key=lambda fit: fit[1][-1])
    fit, likelihoods = yield from sequence_iterations(
        fit,
        family,
        smoothing=smoothing,
        most=settings.max_iter - len(before),
        rows=rows,
        all_rows=all_rows,
    )
    return fit, [*before, *likelihoods], ends


def _kept(competing: list[_Fit], count: int) -> list[_Fit]:
    """Return the initialisation of triples and the most likely others, no two of them alike."""
    first, *others = competing
    if not first[1]:
        return competing[:count]
    kept = [first]
    for fit in sorted(others, key=lambda fit: fit[1][-1], reverse=True):
        if len(kept) < count and all(abs(fit[1][-1] - one[1][-1]) > ALIKE for one in kept):
            kept.append(fit)
    return kept


def _groups_of_cells(
    family: LawPreparation, k: int, rng: np.random.Generator, *, clustered: bool
) -> NDArray[np.float64]:
    """Return the shares of the cells ``(k, cells)`` in groups around k centres.

    The centres are random cells, or those of k-means with random weights of the cells.
    """
    mass = np.maximum(family.sums[-1], np.finfo(np.float64).tiny)
    cells = family.cells.centres
    if clustered:
        seed = int(rng.integers(2**31))
        weight = mass * rng.exponential(size=len(mass))
        centres = kmeans(cells, k, seed, weight=weight, n_starts=1).centres
    else:
        centres = cells[rng.choice(len(mass), k, replace=False, p=mass / mass.sum())]
    apart = np.square(cells[:, None] - centres).sum(axis=2)
    return np.where(apart.argmin(axis=1) == np.arange(k)[:, None], mass, 0.0)
