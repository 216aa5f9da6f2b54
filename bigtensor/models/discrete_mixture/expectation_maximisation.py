"""EM iterations of a discrete mixture: posterior sums, and the mixture that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.models.contract.iteration import Iterations, iterate, relative_change_below
from bigtensor.models.contract.script import Estimate, Script, Solved
from bigtensor.models.discrete_mixture.solution import DiscreteSolution
from bigtensor.statistics.base import Pass
from bigtensor.statistics.codes.code_moments import Groups
from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.densities.posterior_sums import PosteriorSums, PosteriorSumsResult

LOWEST = 1e-12
"""Smallest probability of a category in a fitted mixture, whose logarithm is to be finite."""

SMOOTHING = 0.5
"""Pseudo-count of every category in the EM iterations, where there is a ridge."""

EM_ITERATIONS = {"ex": 20, "em": 1000}
"""Most EM iterations over rows in memory, by method; other methods have none."""

MOST_COMPETING_ROWS = 20_000
"""Distinct rows that random initialisations compete on."""

EM_PASSES = {"ex": 5, "em": 30}
"""Most EM iterations that read all rows."""

TOLERANCE = {"ex": 1e-6, "em": 1e-7}
"""Relative change of the log-likelihood at which EM iterations end, by method."""

ITERATIONS_IN_CHOICE, TOLERANCE_IN_CHOICE = 200, 1e-5
"""Most EM iterations, and their end, of fits that only choose."""


@dataclass(frozen=True, eq=False)
class Estimated:
    """Mixture, and how it was estimated.

    Attributes
    ----------
    solution : DiscreteSolution
        The estimate.
    likelihoods : list of float
        Mean log-likelihood before every EM iteration.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    weight : float
        Of the rows that the mixture was estimated from.
    """

    solution: DiscreteSolution
    likelihoods: list[float]
    diagnostics: dict[str, Any]
    weight: float


Conclude = Callable[[Estimated], Solved]
"""Makes the fitted mixture of an estimate."""

_Weighted = tuple[DiscreteSolution, float]
"""A mixture, and the weight of the rows that it was estimated from."""


@dataclass(frozen=True)
class Stopping:
    """Most EM iterations, and the relative change of the log-likelihood at which they end."""

    most: int
    tolerance: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Mixture to be estimated.

    Attributes
    ----------
    sizes : tuple of int
        Number of categories of every view.
    groups : three SymbolGroup
        Views whose joint codes are decomposed.
    weight : float
        Of all rows; of the sampled ones until a pass over all rows has found theirs.
    method : str
        Algorithm of the fit.
    max_iter : int, optional
        Most EM iterations; None stands for a number that depends on the method.
    passes : bool
        The sums are passes over data, and not over rows in memory.
    n_starts : int
        Most random initialisations of method "em", and beside the spectral one.
    seed : int
        Seed of the model.
    unregularised : bool, default False
        True if the user wants no ridge, and the driver holds few rows.
    thorough : bool, default True
        False for a fit that only chooses a ridge or a number of components.
    conclude : callable, optional
        Makes the solution after a pass, for fits in rounds.
    places : tuple of (categories,) int64 arrays
        Place of every category by its content, of every view. Empty if the codes are the places.
    """

    sizes: tuple[int, ...]
    groups: Groups
    weight: float
    method: str
    max_iter: int | None
    passes: bool
    n_starts: int
    seed: int
    unregularised: bool = False
    thorough: bool = True
    conclude: Conclude | None = field(default=None, repr=False)
    places: tuple[IntArray, ...] = ()

    @property
    def _varying(self) -> int:
        """Number of views of several categories."""
        return sum(size > 1 for size in self.sizes)

    @property
    def most_spectral(self) -> int:
        """Most components of which a spectral solution exists."""
        return min(group.size for group in self.groups)

    def is_spectral(self, k: int) -> bool:
        """Return True if so many components start from a spectral solution."""
        return self.method != "em" and 1 < k <= self.most_spectral

    def stopping(self, method: str) -> Stopping:
        """Return when EM iterations after an initialisation end.

        Views in no group need one at least: they follow from the posterior probabilities.
        """
        most = self.max_iter
        if most is None:
            most = (EM_PASSES if self.passes else EM_ITERATIONS).get(method, 0)
        grouped = sum(len(group.columns) for group in self.groups)
        most = max(most, int(grouped < self._varying))
        if not self.thorough:
            return Stopping(min(most, ITERATIONS_IN_CHOICE), TOLERANCE_IN_CHOICE)
        return Stopping(most, TOLERANCE.get(method, TOLERANCE["ex"]))

    @property
    def compares_initialisations(self) -> bool:
        """True if random initialisations compete with the spectral one.

        Joint codes of several views leave out that these are independent given the component, there
        are more of them than a few rows determine, and views may be in no group. Passes over all
        rows are too few to compare in.
        """
        joined = self._varying > len(self.groups)
        return joined and self.method == "ex" and not self.passes and self.max_iter != 0

    @property
    def last_iterations(self) -> Stopping:
        """Stopping rule after the spectral initialisation, where no other one competes.

        With a ridge, iterations that settle are no better than twenty: at 500 rows of five
        components the errors of the joint table were .38 and .37.
        """
        return self.stopping("em" if self.unregularised and self.method == "ex" else self.method)

    def rng(self, purpose: int) -> np.random.Generator:
        """Return the random numbers of a purpose."""
        return np.random.default_rng([self.seed, purpose])


def em_iterations(
    start: DiscreteSolution,
    problem: Problem,
    smoothing: float,
    stopping: Stopping,
    diagnostics: dict[str, Any],
) -> Generator[Any, Any, Estimated]:
    """Ask for posterior sums and update the mixture, until the likelihood has settled.

    Parameters
    ----------
    start : DiscreteSolution
        Positive.
    problem : Problem
        Mixture to be estimated.
    smoothing : float
        Pseudo-count of every category and component.
    stopping : Stopping
        Stopping rule.
    diagnostics : dict
        Decisions and numbers of the fit, as JSON holds them.
    """

    def estimated(iterations: Iterations[_Weighted]) -> Estimated:
        mixture, weight = iterations.state
        return Estimated(mixture.by_weight(), iterations.measures, diagnostics, weight)

    def update(before: _Weighted, sums: PosteriorSumsResult) -> tuple[_Weighted, float]:
        mixture = updated(sums, before[0], smoothing)
        return (mixture, sums.weight), sums.log_likelihood / sums.weight

    conclude = problem.conclude
    initial: _Weighted = (start, problem.weight)
    if conclude is not None and stopping.most:
        yield Estimate(partial(conclude, estimated(Iterations(initial, []))))
    iterations = yield from iterate(
        initial,
        _posterior_sums,
        update,
        max_iter=stopping.most,
        stopping_rule=relative_change_below(stopping.tolerance),
        conclude=None if conclude is None else lambda ended: conclude(estimated(ended)),
    )
    return estimated(iterations)


def _posterior_sums(before: _Weighted, _: int) -> Script:
    """Ask for the posterior sums of an iteration."""
    return (yield Pass("posterior", PosteriorSums(before[0].mixture())))


def updated(
    sums: PosteriorSumsResult, before: DiscreteSolution, smoothing: float
) -> DiscreteSolution:
    """Return the mixture that follows from posterior sums, by one EM iteration.

    Parameters
    ----------
    sums : PosteriorSumsResult
        Posterior sums under the mixture before.
    before : DiscreteSolution
        What the sums were made with.
    smoothing : float
        Pseudo-count of every category and component.
    """
    tables = before.mixture().tables
    assert isinstance(tables, CodeTables)
    assert sums.histograms is not None
    counts = tables.of_views(sums.histograms)
    return DiscreteSolution(
        shares(sums.mass + smoothing), tuple(shares(table + smoothing) for table in counts)
    ).floored(LOWEST)


def shares(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns as parts of their sums; a column of zeros becomes uniform."""
    sums = columns.sum(axis=0)
    if (sums > 0).all():
        return np.asarray(columns / sums)
    return np.asarray(
        np.where(sums > 0, columns / np.where(sums > 0, sums, 1.0), 1.0 / len(columns))
    )
