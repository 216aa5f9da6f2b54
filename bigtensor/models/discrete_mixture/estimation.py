"""Estimate of a discrete mixture from sums over rows, wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.discrete_core import DiscreteFactors
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.decomposition.exterior_point import exterior_point, literal_exterior_point
from bigtensor.errors import IdentifiabilityError
from bigtensor.models.contract.iteration import Iterations, iterate, relative_change_below
from bigtensor.models.contract.script import Estimate, Script, Solved
from bigtensor.models.discrete_mixture.core import Moments, moments_of, unscaled_moments_of
from bigtensor.models.discrete_mixture.solution import DiscreteSolution
from bigtensor.statistics.base import Pass
from bigtensor.statistics.codes.code_moments import Groups
from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.densities.posterior_sums import PosteriorSums, PosteriorSumsResult

FLOOR = 1e-5
"""Smallest probability of a category, and smallest weight, at the start of the EM iterations."""

LOWEST = 1e-12
"""Smallest probability of a category in a fitted mixture, whose logarithm is to be finite."""

SMOOTHING = 0.5
"""Pseudo-count of every category in the EM iterations, where there is a ridge."""

ROTATIONS = {"svd": "single", "svd_joint": "joint", "std": "power"}
"""Rotation of the spectral solution of a method."""

LITERAL_SUM_PENALTY, LITERAL_NEGATIVE_PENALTY = 0.5, 1e-3
"""Penalties of the exterior point method as it was published, which names no values."""

EM_ITERATIONS = {"ex": 20, "em": 1000}
"""Most EM iterations over rows in memory, by method; other methods have none."""

EM_PASSES = {"ex": 5, "em": 30}
"""Most EM iterations that read all rows."""

TOLERANCE = {"ex": 1e-6, "em": 1e-7}
"""Relative change of the log-likelihood at which EM iterations end, by method."""

INITIALISATIONS_IN_CHOICE, ITERATIONS_IN_CHOICE, TOLERANCE_IN_CHOICE = 3, 200, 1e-5
"""Most random initialisations and EM iterations, and their end, of fits that only choose."""

SHORT_ITERATIONS = 50
"""EM iterations of every random initialisation; only the best one goes on until it settles."""


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
        Random initialisations of method "em", and beside the spectral one of grouped views.
    seed : int
        Seed of the model.
    thorough : bool, default True
        False for a fit that only chooses a ridge or a number of components.
    conclude : callable, optional
        Makes the solution after a pass, for fits in rounds.
    """

    sizes: tuple[int, ...]
    groups: Groups
    weight: float
    method: str
    max_iter: int | None
    passes: bool
    n_starts: int
    seed: int
    thorough: bool = True
    conclude: Conclude | None = field(default=None, repr=False)

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
        most = max(most, int(grouped < len(self.sizes)))
        if not self.thorough:
            return Stopping(min(most, ITERATIONS_IN_CHOICE), TOLERANCE_IN_CHOICE)
        return Stopping(most, TOLERANCE.get(method, TOLERANCE["ex"]))

    @property
    def compares_initialisations(self) -> bool:
        """True if random initialisations compete with the spectral one.

        Joint codes of several views leave out that these are independent given the component, and
        there are more of them than a few rows determine.
        """
        several = any(len(group.columns) > 1 for group in self.groups)
        return several and self.method == "ex" and not self.passes and self.max_iter != 0

    def rng(self, purpose: int) -> np.random.Generator:
        """Return the random numbers of a purpose."""
        return np.random.default_rng([self.seed, purpose])


def estimate(
    problem: Problem, k: int, ridge: float, moments: Moments | None = None
) -> Generator[Any, Any, Estimated]:
    """Ask for the sums of a mixture of k components, and estimate it.

    Parameters
    ----------
    problem : Problem
        Mixture to be estimated.
    k : int
        Number of components.
    ridge : float
        Pseudo-count.
    moments : Moments, optional
        Of the same rows, in at least 2 k directions where there are as many.
    """
    smoothing = SMOOTHING if ridge else 0.0
    if not problem.is_spectral(k):
        return (yield from _best_of_random_initialisations(problem, k, smoothing))
    if problem.method == "ex_literal" or problem.method == "svd":
        moments = yield from unscaled_moments_of(problem.groups)
    elif moments is None:
        moments = yield from moments_of(problem.groups, 2 * k, problem.rng(0))
    problem = replace(problem, weight=moments.weight)
    try:
        factors, diagnostics = _initialisation(moments, problem, k, ridge)
    except IdentifiabilityError as error:
        if problem.method != "ex":
            raise
        estimated = yield from _best_of_random_initialisations(problem, k, smoothing)
        return replace(estimated, diagnostics={"no_spectral": str(error), **estimated.diagnostics})
    start = _solution_of(factors, problem).floored(FLOOR)
    stopping = problem.stopping("em" if problem.compares_initialisations else problem.method)
    end = yield from em_iterations(start, problem, smoothing, stopping, diagnostics)
    if not problem.compares_initialisations:
        return end
    random = yield from _best_of_random_initialisations(problem, k, smoothing)
    best = random if random.likelihoods[-1] > end.likelihoods[-1] else end
    initialised = {"initialised": "random" if best is random else "spectral"}
    return replace(best, diagnostics={**end.diagnostics, **random.diagnostics, **initialised})


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
        _shares(sums.mass + smoothing), tuple(_shares(table + smoothing) for table in counts)
    ).floored(LOWEST)


def _best_of_random_initialisations(
    problem: Problem, k: int, smoothing: float
) -> Generator[Any, Any, Estimated]:
    """Ask for a few EM iterations of random initialisations, and for more of the best one."""
    rng, stopping = problem.rng(1), problem.stopping("em")
    short = replace(stopping, most=min(SHORT_ITERATIONS, stopping.most))
    ends = list[Estimated]()
    # one component needs one initialisation, and without iterations they cannot be compared
    starts = (
        problem.n_starts if problem.thorough else min(problem.n_starts, INITIALISATIONS_IN_CHOICE)
    )
    for _ in range(starts if k > 1 and short.most else 1):
        start = _random_initialisation(problem.sizes, k, rng)
        ends.append((yield from em_iterations(start, problem, smoothing, short, {})))
    diagnostics = {
        "random_initialisations": [end.likelihoods[-1] for end in ends if end.likelihoods]
    }
    best = max(ends, key=lambda end: end.likelihoods[-1] if end.likelihoods else -np.inf)
    left = replace(stopping, most=stopping.most - len(best.likelihoods))
    last = yield from em_iterations(best.solution, problem, smoothing, left, diagnostics)
    return replace(last, likelihoods=[*best.likelihoods, *last.likelihoods])


def _random_initialisation(
    sizes: tuple[int, ...], k: int, rng: np.random.Generator
) -> DiscreteSolution:
    """Return a mixture of equal weights and random probabilities, none of them small."""
    tables = (rng.random((size, k)) + 0.1 for size in sizes)
    return DiscreteSolution(np.full(k, 1 / k), tuple(_shares(table) for table in tables))


def _initialisation(
    moments: Moments, problem: Problem, k: int, ridge: float
) -> tuple[DiscreteFactors, dict[str, Any]]:
    """Return factors of the joint codes of the groups."""
    core, rng = moments.core, problem.rng(2)
    if problem.method == "ex":
        symbols = float(np.mean([group.size for group in problem.groups]))
        penalty = ridge * symbols / problem.weight
        candidates = moments.candidates(k, rng)
        starts = 2 if problem.thorough else 1
        end = exterior_point(core, k, ridge=penalty, starts=starts, rng=rng, candidates=candidates)
        figures = {"residual": end.residual, "iterations": end.iterations}
        return end.factors, {"exterior_point": {**figures, **end.diagnostics}}
    rotation = ROTATIONS.get(problem.method, "single")
    spectral = spectral_factors(core, k, view=1, rotation=rotation, rng=rng)  # type: ignore[arg-type]
    if problem.method != "ex_literal":
        return spectral.factors.clipped(), {"spectral": spectral.diagnostics}
    end = literal_exterior_point(
        core,
        spectral.factors,
        sum_penalty=LITERAL_SUM_PENALTY,
        negative_penalty=LITERAL_NEGATIVE_PENALTY,
    )
    figures = {"residual": end.residual, "iterations": end.iterations}
    return end.factors, {"exterior_point": {**figures, **end.diagnostics}}


def _solution_of(factors: DiscreteFactors, problem: Problem) -> DiscreteSolution:
    """Return the probabilities of every view; uniform ones of views in no group."""
    k = len(factors.weights)
    tables: list[NDArray[np.float64]] = [np.full((size, k), 1 / size) for size in problem.sizes]
    for group, of_symbols in zip(problem.groups, factors.probabilities, strict=True):
        for view, table in zip(group.columns, group.marginals(of_symbols), strict=True):
            tables[view] = table
    return DiscreteSolution(factors.weights, tuple(tables))


def _shares(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns as parts of their sums; a column of zeros becomes uniform."""
    sums = columns.sum(axis=0)
    return np.asarray(
        np.where(sums > 0, columns / np.where(sums > 0, sums, 1.0), 1.0 / len(columns))
    )
