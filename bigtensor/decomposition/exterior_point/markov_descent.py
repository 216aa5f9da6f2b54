"""Hidden Markov model of triples: spectral candidates improved by the exterior point method."""

from dataclasses import dataclass, replace

import numpy as np

from bigtensor.decomposition.discrete.discrete_core import DiscreteCore, check_components
from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters, markov_from_factors
from bigtensor.decomposition.exterior_point.markov_objective import MarkovObjective
from bigtensor.decomposition.exterior_point.mixture_descent import (
    NEGATIVE_PENALTY,
    DescentEnd,
    best_end,
    core_of_descents,
    descent_diagnostics,
    exterior_point_from,
    spectral_candidates,
)
from bigtensor.decomposition.exterior_point.proximal_descent import DescentRule, proximal_descent
from bigtensor.decomposition.solution import Diagnostics

MIXTURE_ITERATIONS = 60
"""Most iterations of a descent in the parameters of a mixture, from which transitions follow."""

MARKOV_ITERATIONS = 300
"""Most iterations of a descent in the parameters of the hidden Markov model."""


@dataclass(frozen=True, eq=False)
class MarkovExteriorPoint(DescentEnd):
    """Hidden Markov model at the end of a descent.

    In `diagnostics`, ``descents`` also has the ``mixture_residual`` and ``mixture_iterations`` of
    the descent before each, and the ``mapped_residual`` between them.

    Attributes
    ----------
    parameters : MarkovParameters
        Valid: clipped at zero, every distribution sums to one.
    """

    parameters: MarkovParameters


def markov_exterior_point(
    core: DiscreteCore,
    k: int,
    *,
    ridge: float,
    starts: int = 2,
    most_iterations: int = MARKOV_ITERATIONS,
    rng: np.random.Generator,
) -> MarkovExteriorPoint:
    r"""Estimate a hidden Markov model from triples by descents from spectral solutions.

    Given the middle state, the three symbols of a window are a mixture of three views. The best
    spectral solutions of the mixture are improved by a short descent in its parameters, which
    emissions, transitions and the distribution of the first state are read off. A second descent
    improves these, and the end with the least residual is returned.

    Parameters
    ----------
    core : DiscreteCore
        Of the windows of three symbols, with one scale for all views.
    k : int
        Number of states.
    ridge : float
        Penalty of the distance from states that do not differ, such as :math:`\alpha n / N` for a
        pseudo-count alpha, n symbols and N windows.
    starts : int
        Number of descents.
    most_iterations : int
        Of every descent in the parameters of the hidden Markov model.
    rng : numpy.random.Generator
        Source of the random numbers of the spectral solutions.

    Returns
    -------
    MarkovExteriorPoint
        States by descending occupancy of the middle step.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the views have scales of their own.
    IdentifiabilityError
        If the table does not support `k` states.
    """
    check_components(core, k)
    candidates = spectral_candidates(core, k, rng)
    projected = core_of_descents(core, k)
    ranking = MarkovObjective(projected, k, sum_penalty=1.0)
    ends: dict[str, MarkovExteriorPoint] = {}
    descents: Diagnostics = {}
    for candidate in candidates.best(starts):
        mixture = exterior_point_from(
            projected, candidate.factors, ridge=ridge, most_iterations=MIXTURE_ITERATIONS
        )
        mapped = markov_from_factors(mixture.factors, projected)
        end = markov_exterior_point_from(
            projected, mapped, ridge=ridge, most_iterations=most_iterations
        )
        ends[candidate.name] = end
        descents[candidate.name] = {
            "mixture_residual": mixture.residual,
            "mixture_iterations": mixture.iterations,
            "mapped_residual": ranking.relative_residual(mapped),
            **end.figures,
        }
    best = best_end(ends, descents, candidates, projected)
    return replace(best, parameters=best.parameters.by_occupancy())


def markov_exterior_point_from(
    core: DiscreteCore,
    start: MarkovParameters,
    *,
    ridge: float,
    most_iterations: int = MARKOV_ITERATIONS,
) -> MarkovExteriorPoint:
    """Improve given parameters by one accelerated descent through infeasible points.

    Parameters
    ----------
    core : DiscreteCore
        With one scale for all views. All of its directions are used.
    start : MarkovParameters
        Entries may be negative.
    ridge : float
        As for :func:`markov_exterior_point`.
    most_iterations : int
        Largest number of iterations of the descent.

    Returns
    -------
    MarkovExteriorPoint
        States in the order of `start`.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the views have scales of their own.
    """
    k = start.n_states
    rule = DescentRule(NEGATIVE_PENALTY, most_iterations=most_iterations)
    objective = MarkovObjective(core, k, sum_penalty=1.0 / k, ridge=ridge)
    end = proximal_descent(objective, objective.point(start), rule)
    parameters = objective.parameters(end.point)
    valid = parameters.clipped()
    residual = objective.relative_residual(valid)
    return MarkovExteriorPoint(
        parameters=valid,
        residual=residual,
        residuals=[residual],
        iterations=end.iterations,
        negative_mass=parameters.negative_mass,
        diagnostics=descent_diagnostics(end, rule, objective.penalties),
    )
