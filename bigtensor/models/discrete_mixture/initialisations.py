"""Initialisations of EM iterations over rows in memory, until the most likely mixture recurs."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.discrete_mixture.expectation_maximisation import (
    Estimated,
    Problem,
    Stopping,
    em_iterations,
    shares,
)
from bigtensor.models.discrete_mixture.solution import DiscreteSolution

FEWEST_INITIALISATIONS = 10
"""Random tables before the best mixture may end the search, and before exchanges begin."""

RECURRENCES = 3
"""Spectral and random initialisations that reach the best mixture before the search ends.

Of 33 tables and numbers of components, two thirds had one mixture that half of all random tables
reach, and five had a best one that one of twenty reaches.
"""

SAME_LIKELIHOOD = 1e-4
"""Difference of mean log-likelihoods, in nats a row, up to which two mixtures are the same."""

SHORT_ITERATIONS = 50
"""EM iterations after which an initialisation that cannot reach the best is left."""

FINAL_TOLERANCE = 1e-9
"""Relative change of the log-likelihood at which the EM iterations of the best mixture end."""

INITIALISATIONS_IN_CHOICE = 3
"""Most random initialisations of fits that only choose, and of fits that read all rows."""

EXCHANGE_FLOOR = 1e-3
"""Smallest probability and weight after an exchange: EM iterations never leave a zero."""


@dataclass
class _Search:
    """Best mixture so far, and how often it was reached.

    Attributes
    ----------
    best : Estimated, optional
        The mixture; None before the first one.
    spectral : bool
        True if EM iterations reached it from the spectral initialisation.
    by_exchange : bool
        True if an exchange reached it first.
    reached : int
        Number of times that it was reached from the spectral or a random initialisation. Exchanges
        do not count.
    ends : list of float
        Mean log-likelihoods at the end of all other initialisations than the spectral one.
    """

    best: Estimated | None = None
    spectral: bool = False
    by_exchange: bool = False
    reached: int = 0
    ends: list[float] = field(default_factory=list)

    @property
    def likelihood(self) -> float:
        """Mean log-likelihood of the best mixture."""
        return -np.inf if self.best is None else _likelihood(self.best)

    def add(self, end: Estimated, *, spectral: bool, exchange: bool) -> None:
        """Add a mixture whose EM iterations have settled.

        An exchange often leads back to the mixture that it was made of, which is no evidence that
        no other mixture is better.
        """
        gain = _likelihood(end) - self.likelihood
        if self.best is None or gain > SAME_LIKELIHOOD:
            self.reached, self.by_exchange = int(not exchange), exchange
        elif gain >= -SAME_LIKELIHOOD and not exchange:
            self.reached += 1
        if self.best is None or gain > 0:
            self.best, self.spectral = end, spectral


def best_of_initialisations(
    problem: Problem, k: int, smoothing: float, spectral: DiscreteSolution | None = None
) -> Generator[Any, Any, Estimated]:
    """Ask for the EM iterations of initialisations, until the most likely mixture recurs.

    Random tables are followed by random tables and exchanges in turn: one component of the best
    mixture is dropped and another one is split, as in the split and merge EM algorithm (Ueda,
    Nakano, Ghahramani and Hinton, Neural Computation 2000), without its criteria.

    Parameters
    ----------
    problem : Problem
        Mixture to be estimated.
    k : int
        Number of components.
    smoothing : float
        Pseudo-count of every category and component.
    spectral : DiscreteSolution, optional
        First initialisation.
    """
    rng, stopping, search = problem.rng(1), problem.stopping("em"), _Search()
    if spectral is not None:
        end = yield from _settled(spectral, problem, smoothing, stopping, search)
        search.add(end, spectral=True, exchange=False)
    for number in range(_most_initialisations(problem, k, stopping)):
        exchange = number >= FEWEST_INITIALISATIONS and number % 2 == 0
        if exchange and search.best is not None:
            start = exchanged(search.best.solution, rng)
        else:
            start = _random_initialisation(problem.sizes, k, rng)
        end = yield from _settled(start, problem, smoothing, stopping, search)
        search.ends.append(_likelihood(end))
        search.add(end, spectral=False, exchange=exchange)
        if number + 1 >= FEWEST_INITIALISATIONS and search.reached >= RECURRENCES:
            break
    assert search.best is not None
    best = search.best
    tighter = replace(stopping, tolerance=min(stopping.tolerance, FINAL_TOLERANCE))
    final = tighter if problem.thorough and not problem.passes else replace(stopping, most=0)
    last = yield from _continued(best, problem, smoothing, final)
    return replace(
        last,
        diagnostics={
            "random_initialisations": [end for end in search.ends if np.isfinite(end)],
            "best_reached": search.reached + search.by_exchange,
            "initialised": "spectral" if search.spectral else "random",
        },
    )


def exchanged(mixture: DiscreteSolution, rng: np.random.Generator) -> DiscreteSolution:
    """Return a mixture without one of its components and with another one split, both at random.

    Parameters
    ----------
    mixture : DiscreteSolution
        Of at least two components.
    rng : numpy.random.Generator
        Draws both components, and the tables that one half is mixed with.
    """
    dropped, split = rng.choice(mixture.n_components, 2, replace=False)
    weights = mixture.weights.copy()
    weights[dropped] = weights[split] = weights[split] / 2
    tables = []
    for table in mixture.probabilities:
        halves = table.copy()
        random = _random_table(len(table), 1, rng)[:, 0]
        halves[:, dropped] = (table[:, split] + random) / 2
        tables.append(halves)
    return DiscreteSolution(weights / weights.sum(), tuple(tables)).floored(EXCHANGE_FLOOR)


def _most_initialisations(problem: Problem, k: int, stopping: Stopping) -> int:
    """Return the largest number of random initialisations."""
    if k == 1 or not stopping.most:
        # one component needs one initialisation, and without iterations they cannot be compared
        return 1
    if problem.thorough and not problem.passes:
        return problem.n_starts
    return min(problem.n_starts, INITIALISATIONS_IN_CHOICE)


def _settled(
    start: DiscreteSolution,
    problem: Problem,
    smoothing: float,
    stopping: Stopping,
    search: _Search,
) -> Generator[Any, Any, Estimated]:
    """Ask for a few EM iterations, and for more if they could reach the best mixture."""
    short = replace(stopping, most=min(SHORT_ITERATIONS, stopping.most))
    end = yield from em_iterations(start, problem, smoothing, short, {})
    if _reachable(end.likelihoods) < search.likelihood - SAME_LIKELIHOOD:
        return end
    return (yield from _continued(end, problem, smoothing, stopping))


def _continued(
    estimated: Estimated, problem: Problem, smoothing: float, stopping: Stopping
) -> Generator[Any, Any, Estimated]:
    """Ask for the EM iterations that are left of the largest number."""
    left = replace(stopping, most=max(0, stopping.most - len(estimated.likelihoods)))
    last = yield from em_iterations(estimated.solution, problem, smoothing, left, {})
    return replace(last, likelihoods=[*estimated.likelihoods, *last.likelihoods])


def _reachable(likelihoods: list[float]) -> float:
    """Return the likelihood that iterations may reach: twice the gain of Aitken's extrapolation."""
    if len(likelihoods) < 3:
        return np.inf
    before, last = np.diff(likelihoods[-3:])
    if last >= before:
        return np.inf
    return float(likelihoods[-1] + 2 * last**2 / (before - last))


def _likelihood(estimated: Estimated) -> float:
    """Return the mean log-likelihood before the last EM iteration."""
    return estimated.likelihoods[-1] if estimated.likelihoods else -np.inf


def _random_initialisation(
    sizes: tuple[int, ...], k: int, rng: np.random.Generator
) -> DiscreteSolution:
    """Return a mixture of equal weights and random probabilities, none of them small."""
    tables = tuple(_random_table(size, k, rng) for size in sizes)
    return DiscreteSolution(np.full(k, 1 / k), tables)


def _random_table(size: int, k: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return random probabilities of the categories of a view, none of them small.

    A view of one category takes no random numbers, so that it changes no other view.
    """
    return shares(rng.random((size, k)) + 0.1) if size > 1 else np.ones((1, k))
