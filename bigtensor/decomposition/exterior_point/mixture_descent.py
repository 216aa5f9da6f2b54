"""Discrete three-view mixture: spectral candidates improved by the exterior point method."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from bigtensor.decomposition.discrete.discrete_core import (
    DiscreteCore,
    DiscreteFactors,
    check_components,
)
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.decomposition.exterior_point.mixture_objective import MixtureObjective
from bigtensor.decomposition.exterior_point.proximal_descent import (
    Descent,
    DescentRule,
    proximal_descent,
)
from bigtensor.decomposition.multiview.candidate_choice import EQUAL_RESIDUALS
from bigtensor.decomposition.multiview.subspaces import GROUPS
from bigtensor.decomposition.solution import Diagnostics
from bigtensor.errors import IdentifiabilityError, ParameterError

NEGATIVE_PENALTY = 0.3
"""Penalty of negative mass in scaled coordinates, in which the factors are of order one."""

RANKING_WEIGHT = 0.1
"""Smallest weight of a candidate that is compared with others, as a part of 1/k."""

ROUNDING_RESIDUAL = 1e-7
"""Relative residual below which only rounding errors are compared."""


@dataclass(frozen=True, eq=False)
class DescentEnd:
    """Figures of the end of a descent.

    Attributes
    ----------
    residual : float
        Norm of the residual of the valid parameters, relative to the norm of the projected table.
    residuals : list of float
        The residual of every descent, in the order of the candidates that they began at.
    iterations : int
        Of the descent that was chosen.
    negative_mass : float
        Negative mass of the parameters that the last clipping removed.
    diagnostics : dict
        ``converged``, ``objective``, ``sum_penalty``, ``negative_penalty`` and ``ridge`` of the
        descent. After a spectral initialisation also ``chosen`` (name of its candidate),
        ``candidates`` (name to figures of every candidate), ``discarded`` (name to reason),
        ``descents`` (name to figures of every descent), and the ``directions`` and
        ``subspace_defects`` of the core that they used.
    """

    residual: float
    residuals: list[float]
    iterations: int
    negative_mass: float
    diagnostics: Diagnostics

    @property
    def figures(self) -> Diagnostics:
        """Figures of this descent alone, by name."""
        return {
            "residual": self.residual,
            "iterations": self.iterations,
            "converged": self.diagnostics["converged"],
            "negative_mass": self.negative_mass,
        }


_End = TypeVar("_End", bound=DescentEnd)


@dataclass(frozen=True, eq=False)
class ExteriorPoint(DescentEnd):
    """Discrete mixture at the end of a descent.

    Attributes
    ----------
    factors : DiscreteFactors
        Valid: clipped at zero, weights and columns sum to one.
    """

    factors: DiscreteFactors


class _Candidate(NamedTuple):
    """Spectral solution, and its residual after clipping."""

    name: str
    factors: DiscreteFactors
    residual: float
    diagnostics: Diagnostics


@dataclass(frozen=True, eq=False)
class SpectralCandidates:
    """Spectral solutions by their residual after clipping, and why others gave none.

    They do not depend on the ridge: fits that differ in it share them.
    """

    ranked: list[_Candidate]
    discarded: dict[str, str]

    def best(self, count: int) -> list[_Candidate]:
        """Return the candidates that descents begin at, or raise a ParameterError for none."""
        if count < 1:
            raise ParameterError(f"starts must be at least 1, got {count}")
        return self.ranked[:count]

    @property
    def diagnostics(self) -> Diagnostics:
        """Figures of every candidate, and reasons why others were discarded, by name."""
        return {
            "candidates": {
                candidate.name: {"residual": candidate.residual, **candidate.diagnostics}
                for candidate in self.ranked
            },
            "discarded": self.discarded,
        }


def exterior_point(
    core: DiscreteCore,
    k: int,
    *,
    ridge: float,
    starts: int = 2,
    most_iterations: int = 150,
    rng: np.random.Generator,
    candidates: SpectralCandidates | None = None,
) -> ExteriorPoint:
    r"""Estimate a discrete three-view mixture by descents from its best spectral solutions.

    Every view is the target of two spectral solutions, in all directions of the core and in the
    first k. The best of the six after clipping are improved by a descent that may leave the valid
    parameters (exterior point method), and the one with the least residual is returned.

    Parameters
    ----------
    core : DiscreteCore
        Scaled table of three views.
    k : int
        Number of components.
    ridge : float
        Penalty of the distance from components in which the views are independent, such as
        :math:`\alpha n / N` for a pseudo-count alpha, n symbols and N rows.
    starts : int
        Number of descents.
    most_iterations : int
        Of every descent.
    rng : numpy.random.Generator
        Source of the random numbers of the spectral solutions.
    candidates : SpectralCandidates, optional
        Of the same core and number of components; found anew by default.

    Returns
    -------
    ExteriorPoint
        Components by descending weight.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    IdentifiabilityError
        If the table does not support `k` components.
    """
    check_components(core, k)
    candidates = spectral_candidates(core, k, rng) if candidates is None else candidates
    projected = core_of_descents(core, k)
    ends = {
        candidate.name: exterior_point_from(
            projected, candidate.factors, ridge=ridge, most_iterations=most_iterations
        )
        for candidate in candidates.best(starts)
    }
    best = best_end(ends, {name: end.figures for name, end in ends.items()}, candidates, projected)
    return replace(best, factors=best.factors.by_weight())


def best_end(
    ends: Mapping[str, _End],
    descents: Diagnostics,
    candidates: SpectralCandidates,
    core: DiscreteCore,
) -> _End:
    """Return the end with the least residual, with the figures of all descents.

    Parameters
    ----------
    ends : mapping of str to DescentEnd
        End of the descent from every candidate, by its name.
    descents : dict
        Figures of every descent, by the name of its candidate.
    candidates : SpectralCandidates
        Spectral solutions that descents could begin at.
    core : DiscreteCore
        The directions that descents used.
    """
    residuals = {name: end.residual for name, end in ends.items()}
    name = by_residual(residuals)[0]
    diagnostics: Diagnostics = {
        **ends[name].diagnostics,
        "chosen": name,
        **candidates.diagnostics,
        "descents": descents,
        "directions": list(core.tensor.shape),
        "subspace_defects": core.subspace_defects,
    }
    return replace(ends[name], residuals=list(residuals.values()), diagnostics=diagnostics)


def exterior_point_from(
    core: DiscreteCore,
    start: DiscreteFactors,
    *,
    ridge: float,
    most_iterations: int = 150,
) -> ExteriorPoint:
    """Improve given factors by one accelerated descent through infeasible points.

    Parameters
    ----------
    core : DiscreteCore
        All of its directions are used: take the first k of them to leave noise out.
    start : DiscreteFactors
        May be negative.
    ridge : float
        As for :func:`exterior_point`.
    most_iterations : int
        Largest number of iterations of the descent.

    Returns
    -------
    ExteriorPoint
        Components in the order of `start`.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    rule = DescentRule(NEGATIVE_PENALTY, most_iterations=most_iterations)
    objective = MixtureObjective(core, sum_penalty=1.0 / len(start.weights), ridge=ridge)
    return _descent(objective, start, rule)


def literal_exterior_point(
    core: DiscreteCore,
    start: DiscreteFactors,
    *,
    sum_penalty: float,
    negative_penalty: float,
) -> ExteriorPoint:
    """Improve given factors by the proximal descent of the exterior point paper (algorithm 2).

    One step size for all parameters, no momentum, and an end at the first small step. With an
    unscaled core the residual is that of the paper, in which all cells of the table count alike.

    Parameters
    ----------
    core : DiscreteCore
        Table of three views, scaled or not.
    start : DiscreteFactors
        May be negative.
    sum_penalty : float
        Penalty of sums that are not one.
    negative_penalty : float
        Penalty of negative mass.

    Returns
    -------
    ExteriorPoint
        Components in the order of `start`.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    rule = DescentRule(
        negative_penalty,
        tolerance=1e-3,
        small_steps=1,
        until_feasible=False,
        momentum=False,
        most_iterations=1000,
    )
    return _descent(MixtureObjective(core, sum_penalty=sum_penalty, scalar_step=True), start, rule)


def spectral_candidates(core: DiscreteCore, k: int, rng: np.random.Generator) -> SpectralCandidates:
    """Find the spectral solutions that descents can begin at.

    Parameters
    ----------
    core : DiscreteCore
        Scaled table of three views.
    k : int
        Number of components.
    rng : numpy.random.Generator
        Source of the random numbers.

    Raises
    ------
    IdentifiabilityError
        If the table does not support `k` components.
    """
    check_components(core, k)
    ranking = MixtureObjective(core, sum_penalty=1.0)
    sizes = {"all directions": core, "k directions": core.leading(k)}
    if max(core.tensor.shape) == k:
        del sizes["k directions"]
    candidates: dict[str, _Candidate] = {}
    discarded: dict[str, str] = {}
    for directions, projected in sizes.items():
        for view in GROUPS:
            name = f"view {view}, {directions}"
            try:
                spectral = spectral_factors(projected, k, view=view, rotation="joint", rng=rng)
            except (IdentifiabilityError, np.linalg.LinAlgError) as error:
                discarded[name] = str(error)
                continue
            valid = spectral.factors.clipped(weight_floor=RANKING_WEIGHT / k)
            residual = ranking.relative_residual(valid)
            candidates[name] = _Candidate(name, spectral.factors, residual, spectral.diagnostics)
    if not candidates:
        raise IdentifiabilityError(
            f"no view gives a spectral solution of {k} components "
            f"({'; '.join(discarded.values())}): use fewer components or more rows"
        )
    residuals = {name: candidate.residual for name, candidate in candidates.items()}
    return SpectralCandidates([candidates[name] for name in by_residual(residuals)], discarded)


def core_of_descents(core: DiscreteCore, k: int) -> DiscreteCore:
    """First k directions, which leave noise out, or all if these do not hold k components.

    Symbols that were seen in few rows and only together can displace components there.

    Parameters
    ----------
    core : DiscreteCore
        Scaled table of three views.
    k : int
        Number of components.
    """
    leading = core.leading(k)
    try:
        check_components(leading, k)
    except IdentifiabilityError:
        return core
    return leading


def by_residual(residuals: dict[str, float]) -> list[str]:
    """Names by ascending residual; among equals the first comes first.

    Parameters
    ----------
    residuals : dict of str to float
        Residual of every named candidate.
    """
    left, ranked = dict(residuals), []
    while left:
        limit = min(left.values()) * (1.0 + EQUAL_RESIDUALS) + ROUNDING_RESIDUAL
        name = next(name for name, residual in left.items() if residual <= limit)
        ranked.append(name)
        del left[name]
    return ranked


def _descent(
    objective: MixtureObjective, start: DiscreteFactors, rule: DescentRule
) -> ExteriorPoint:
    """Descend from given factors and clip the end."""
    end = proximal_descent(objective, objective.point(start), rule)
    factors = objective.factors(end.point)
    valid = factors.clipped()
    residual = objective.relative_residual(valid)
    return ExteriorPoint(
        factors=valid,
        residual=residual,
        residuals=[residual],
        iterations=end.iterations,
        negative_mass=factors.negative_mass,
        diagnostics=descent_diagnostics(end, rule, objective.penalties),
    )


def descent_diagnostics(end: Descent, rule: DescentRule, penalties: Diagnostics) -> Diagnostics:
    """Return the outcome and the penalties of a descent.

    Parameters
    ----------
    end : Descent
        End of the descent.
    rule : DescentRule
        Penalty of negative entries.
    penalties : dict
        Penalties of the objective by name.
    """
    return {
        "converged": end.converged,
        "objective": end.value,
        **penalties,
        "negative_penalty": rule.negative_penalty,
    }
