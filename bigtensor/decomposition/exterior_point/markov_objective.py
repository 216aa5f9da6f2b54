"""Parameters of a hidden Markov model as factors of its triples, with penalties and bounds."""

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.discrete.discrete_core import (
    ByView,
    DiscreteCore,
    by_view,
    inverse_scale,
)
from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.decomposition.exterior_point.factor_residual import FactorResidual
from bigtensor.decomposition.exterior_point.proximal_descent import Expansion
from bigtensor.decomposition.solution import Diagnostics
from bigtensor.errors import ParameterError


class MarkovObjective:
    r"""Residual of the triples of a hidden Markov model, with two smooth penalties.

    With the scaled emissions :math:`P = \mathrm{diag}(1/s) O`, the transitions T from column to
    row and the distribution :math:`\pi` of the first state, the scaled table of triples has the
    factors :math:`A = P\, \mathrm{diag}(\pi) T^\top`, B = P and C = P T. The objective is

    .. math::
        \tfrac12 |X - [A, B, C]|^2
        + \tfrac{\lambda}{2} \bigl(|s^\top P - 1|^2 + |1^\top T - 1|^2 + (1^\top \pi - 1)^2\bigr)
        + \tfrac{\rho}{2} \bigl(|P - \bar p 1^\top|_F^2 + |T - 1/k|_F^2\bigr)

    where :math:`\bar p` is the scaled mean of the marginals. A point is a matrix of k columns: the
    rows of P, the rows of T, and :math:`\pi` as its last row.

    Parameters
    ----------
    core : DiscreteCore
        With one scale for all views.
    n_states : int
        Number of states k.
    sum_penalty : float
        Penalty lambda of sums that are not one.
    ridge : float
        Penalty rho of the distance from states that do not differ.

    Raises
    ------
    ParameterError
        If the views of the core have scales of their own, or a penalty is out of range.
    """

    def __init__(
        self, core: DiscreteCore, n_states: int, *, sum_penalty: float, ridge: float = 0.0
    ) -> None:
        if not (sum_penalty > 0 and ridge >= 0):
            raise ParameterError(
                "a positive sum_penalty and a ridge of at least zero are needed, got "
                f"{sum_penalty} and {ridge}"
            )
        if not all(np.array_equal(core.scales[0], scale) for scale in core.scales[1:]):
            raise ParameterError(
                "the steps of a hidden Markov model have the same symbols, but the views of the "
                "core have scales of their own: make the core with a common scale"
            )
        self.residual = FactorResidual(core.tensor, core.bases)
        self._scale = core.scales[0]
        self._square_scale = float(self._scale @ self._scale)
        self._sum_penalty, self._ridge = sum_penalty, ridge
        self._symbols, self._states = len(self._scale), n_states
        uniform = np.full((n_states, 1), 1.0 / n_states)
        self._target = np.vstack([np.mean(core.targets, axis=0)[:, None], uniform])

    @property
    def rounding(self) -> float:
        """Size of rounding errors of a value."""
        return self.residual.rounding

    @property
    def penalties(self) -> Diagnostics:
        """Penalties by name."""
        return {"sum_penalty": self._sum_penalty, "ridge": self._ridge}

    def point(self, parameters: MarkovParameters) -> FloatArray:
        """Point of given parameters."""
        emission = parameters.emission.T * inverse_scale(self._scale)[:, None]
        return np.vstack([emission, parameters.transition.T, parameters.window_start])

    def parameters(self, point: FloatArray) -> MarkovParameters:
        """Parameters at a point."""
        emission, transition, start = self._parts(point)
        return MarkovParameters(
            start.copy(),
            np.ascontiguousarray(transition.T),
            np.ascontiguousarray((emission * self._scale[:, None]).T),
        )

    def relative_residual(self, parameters: MarkovParameters) -> float:
        """Norm of the residual of given parameters, relative to the norm of the tensor."""
        return self.residual.relative(self._factors(self.point(parameters)))

    def value(self, point: FloatArray) -> float:
        """Residual and penalties at a point."""
        return self.residual.value(self._factors(point)) + self._penalty(
            self._departures(point), point[:-1] - self._target
        )

    def expansion(self, point: FloatArray) -> Expansion:
        """Residual and penalties at a point, with their gradient and curvature bounds."""
        emission, transition, start = self._parts(point)
        residual = self.residual.gradients(self._factors(point))
        first, second, third = residual.gradients
        departures, distance = self._departures(point), point[:-1] - self._target
        from_first = first @ transition
        gradient = np.empty_like(point)
        of_emission, of_transition, of_start = self._parts(gradient)
        np.multiply(from_first, start, out=of_emission)
        of_emission += second + third @ transition.T
        np.multiply(first.T @ emission, start, out=of_transition)
        of_transition += emission.T @ third
        np.sum(emission * from_first, axis=0, out=of_start)
        of_emission += self._sum_penalty * self._scale[:, None] * departures[0]
        of_transition += self._sum_penalty * departures[1]
        of_start += self._sum_penalty * departures[2].sum()
        gradient[:-1] += self._ridge * distance
        value = residual.value + self._penalty(departures, distance)
        return Expansion(value, gradient, self._curvature(point, residual.grams))

    def _parts(self, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Scaled emissions, transitions from column to row, and start: views of a point."""
        return point[: self._symbols], point[self._symbols : -1], point[-1]

    def _factors(self, point: FloatArray) -> ByView:
        """Three factors of the triples, of which the first carries the weights."""
        emission, transition, start = self._parts(point)
        return (emission * start) @ transition.T, emission, emission @ transition

    def _departures(self, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Differences from one of the sums of emissions, transitions and start."""
        emission, transition, start = self._parts(point)
        sums = self._scale @ emission, transition.sum(axis=0), start.sum(keepdims=True)
        return by_view(lambda t: sums[t] - 1.0)

    def _penalty(self, departures: ByView, distance: FloatArray) -> float:
        """Penalty of sums that are not one, and of differences between states."""
        squares = sum(float(departure @ departure) for departure in departures)
        return (self._sum_penalty * squares + self._ridge * float(np.vdot(distance, distance))) / 2

    def _curvature(self, point: FloatArray, grams: FloatArray) -> FloatArray:
        """Bounds of the second derivatives: row sums of magnitudes of every Gauss-Newton block.

        The derivatives by a scaled emission, or by a transition, are sums over the factors that
        it enters. Bounds of a sum of three are three times the sum of their own.
        """
        first, second, third = (np.abs(gram) for gram in grams)
        _, transition, start = (np.abs(part) for part in self._parts(point))
        around_first, around_third = second * third, first * second
        # how the curvature of a factor comes back through the map to the emissions
        entering = (transition.T @ around_first @ transition) * np.outer(start, start)
        leaving = transition @ around_third @ transition.T
        of_emission = np.sum(entering + first * third + leaving, axis=1)
        of_next = np.sum(second, axis=1)[:, None] * np.sum(around_third, axis=1)
        of_last = np.sum(around_first, axis=1)[:, None] * (start * (second @ start))
        of_start = np.sum(second * (transition.T @ around_first @ transition), axis=1)
        curvature = np.empty_like(point)
        of_point = self._parts(curvature)
        of_point[0][:] = 3.0 * of_emission + self._sum_penalty * self._square_scale + self._ridge
        of_point[1][:] = 2.0 * (of_next + of_last) + self._sum_penalty * self._states + self._ridge
        of_point[2][:] = of_start + self._sum_penalty * self._states
        return curvature
