"""Estimate of a discrete mixture from sums over rows, wherever the rows are."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.discrete_core import DiscreteFactors
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.decomposition.exterior_point import exterior_point, literal_exterior_point
from bigtensor.errors import IdentifiabilityError
from bigtensor.models.discrete_mixture.core import Moments, moments_of, unscaled_moments_of
from bigtensor.models.discrete_mixture.expectation_maximisation import (
    SMOOTHING,
    Estimated,
    Problem,
    em_iterations,
)
from bigtensor.models.discrete_mixture.initialisations import best_of_initialisations
from bigtensor.models.discrete_mixture.solution import DiscreteSolution

FLOOR = 1e-5
"""Smallest probability of a category, and smallest weight, at the start of the EM iterations."""

ROTATIONS = {"svd": "single", "svd_joint": "joint", "std": "power"}
"""Rotation of the spectral solution of a method."""

LITERAL_SUM_PENALTY, LITERAL_NEGATIVE_PENALTY = 0.5, 1e-3
"""Penalties of the exterior point method as it was published, which names no values."""


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
        return (yield from best_of_initialisations(problem, k, smoothing))
    if problem.method == "ex_literal" or problem.method == "svd":
        moments = yield from unscaled_moments_of(problem.groups)
    elif moments is None:
        moments = yield from moments_of(problem.groups, 2 * k, problem.rng(0), problem.places)
    problem = replace(problem, weight=moments.weight)
    try:
        factors, diagnostics = _initialisation(moments, problem, k, ridge)
    except IdentifiabilityError as error:
        if problem.method != "ex":
            raise
        estimated = yield from best_of_initialisations(problem, k, smoothing)
        return replace(estimated, diagnostics={"no_spectral": str(error), **estimated.diagnostics})
    start = _solution_of(factors, problem).floored(FLOOR)
    if not problem.compares_initialisations:
        last = problem.last_iterations
        return (yield from em_iterations(start, problem, smoothing, last, diagnostics))
    best = yield from best_of_initialisations(problem, k, smoothing, start)
    return replace(best, diagnostics={**diagnostics, **best.diagnostics})


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
