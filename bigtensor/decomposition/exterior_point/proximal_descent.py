"""Accelerated proximal descent with backtracking, under a penalty of negative entries."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError

LEAST_FACTOR = 0.25
"""Smallest factor of the curvature bounds. They are sums of magnitudes and seldom reached."""

SHRINKAGE = 1.2
"""Divisor of the factor after every step, so that it can come down again."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Value of a smooth function at a point, its gradient and bounds of its curvature.

    Attributes
    ----------
    value : float
        Value of the function.
    gradient : ndarray
        Gradient. It has the shape of the point.
    curvature : ndarray
        Positive, broadcasts to the shape of the point. The function lies below its linear part
        plus half the squared steps times these, if they bound the second derivatives.
    """

    value: float
    gradient: FloatArray
    curvature: FloatArray


class Objective(Protocol):
    """Smooth part of what a descent minimises."""

    @property
    def rounding(self) -> float:
        """Size of rounding errors of a value."""
        ...

    def value(self, point: FloatArray) -> float:
        """Value at a point."""
        ...

    def expansion(self, point: FloatArray) -> Expansion:
        """Value, gradient and curvature bounds at a point."""
        ...


@dataclass(frozen=True)
class DescentRule:
    """Length and end of a descent.

    Attributes
    ----------
    negative_penalty : float
        Penalty of a unit of negative mass.
    tolerance : float
        Relative change of the objective in a small step.
    small_steps : int
        Small steps in a row that end the descent. One step may be small by accident.
    until_feasible : bool
        If True, a descent does not end at a point with negative entries.
    momentum : bool
        If True, steps are extrapolated (FISTA), with a restart whenever the objective rises.
    most_iterations : int
        Largest number of iterations of a descent.

    Raises
    ------
    ParameterError
        If no iteration is allowed.
    """

    negative_penalty: float
    tolerance: float = 1e-3
    small_steps: int = 3
    until_feasible: bool = True
    momentum: bool = True
    most_iterations: int = 150

    def __post_init__(self) -> None:
        if self.most_iterations < 1:
            raise ParameterError(f"most_iterations must be at least 1, got {self.most_iterations}")


@dataclass(frozen=True, eq=False)
class Descent:
    """End of a proximal descent.

    Attributes
    ----------
    point : ndarray
        Parameters at the end. Entries may be negative.
    value : float
        Smooth part plus the penalty of negative mass.
    iterations : int
        Number of iterations.
    converged : bool
        False if the descent ended at its largest number of iterations.
    negative_mass : float
        Sum of the magnitudes of the negative entries.
    """

    point: FloatArray
    value: float
    iterations: int
    converged: bool
    negative_mass: float


@dataclass(frozen=True, eq=False)
class _Step:
    """Point after a proximal step, and the penalised objective there."""

    point: FloatArray
    value: float
    negative_mass: float
    factor: float


def proximal_descent(objective: Objective, start: FloatArray, rule: DescentRule) -> Descent:
    """Minimise a smooth function plus a penalty of the negative entries of its argument.

    Parameters
    ----------
    objective : Objective
        Smooth part of the function.
    start : ndarray
        Not modified.
    rule : DescentRule
        Penalty of negative entries, steps and stopping rule.
    """
    mass = negative_mass(start)
    here = _Step(start, objective.value(start) + rule.negative_penalty * mass, mass, 1.0)
    ahead, inertia, small, iteration = start, 1.0, 0, 0
    while small < rule.small_steps and iteration < rule.most_iterations:
        iteration += 1
        step = _proximal_step(objective, ahead, rule.negative_penalty, here.factor)
        if step.value > here.value and ahead is not here.point:
            inertia = 1.0
            step = _proximal_step(objective, here.point, rule.negative_penalty, step.factor)
        if step.value > here.value:
            # a plain step can only rise by rounding errors
            step = _Step(here.point, here.value, here.negative_mass, step.factor)
        change = here.value - step.value
        settled = change <= max(rule.tolerance * abs(here.value), objective.rounding)
        feasible = step.negative_mass <= 0.0 or not rule.until_feasible
        small = small + 1 if settled and feasible else 0
        ahead = step.point
        if rule.momentum:
            grown = (1.0 + np.sqrt(1.0 + 4.0 * inertia**2)) / 2.0
            if inertia > 1.0:
                ahead = step.point + (inertia - 1.0) / grown * (step.point - here.point)
            inertia = grown
        here = step
    return Descent(here.point, here.value, iteration, small >= rule.small_steps, here.negative_mass)


def negative_mass(point: FloatArray) -> float:
    """Sum of the magnitudes of the negative entries."""
    return float(np.maximum(-point, 0.0).sum())


def _proximal_step(
    objective: Objective, origin: FloatArray, negative_penalty: float, factor: float
) -> _Step:
    """Proximal step from a point, with the curvature bounds doubled until they bound."""
    expansion = objective.expansion(origin)
    while True:
        inverse = 1.0 / (factor * expansion.curvature)
        shifted = origin - inverse * expansion.gradient
        # Exact, because the penalty is separable: a negative entry moves up, at most to zero.
        point = np.minimum(shifted + negative_penalty * inverse, np.maximum(shifted, 0.0))
        move = point - origin
        value = objective.value(point)
        bound = float(np.vdot(expansion.gradient, move))
        bound += factor / 2.0 * float(np.vdot(expansion.curvature * move, move))
        # a value that is no number ends the search, too
        if not value > expansion.value + bound + objective.rounding:
            break
        factor *= 2.0
    mass = negative_mass(point)
    return _Step(
        point,
        value + negative_penalty * mass,
        mass,
        max(factor / SHRINKAGE, LEAST_FACTOR),
    )
