"""Parameters of a discrete mixture as factors, with penalties and curvature bounds."""

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.discrete.discrete_core import (
    DiscreteCore,
    DiscreteFactors,
    by_view,
    inverse_scale,
)
from bigtensor.decomposition.exterior_point.factor_residual import FactorResidual
from bigtensor.decomposition.exterior_point.proximal_descent import Expansion
from bigtensor.decomposition.solution import Diagnostics
from bigtensor.errors import ParameterError


class MixtureObjective:
    r"""Residual of a discrete mixture in scaled coordinates, with two smooth penalties.

    .. math::
        \tfrac12 |X - [w; A_1, A_2, A_3]|^2
        + \tfrac{\lambda}{2} \Bigl(\sum_t |s_t^\top A_t - 1|^2 + (1^\top w - 1)^2\Bigr)
        + \tfrac{\rho}{2} \sum_t |A_t - \bar a_t 1^\top|_F^2

    where :math:`\bar a_t` are the scaled marginals. A point is a matrix of k columns: the rows of
    A_1, A_2 and A_3, and the weights as its last row.

    Parameters
    ----------
    core : DiscreteCore
        Scaled table of three views.
    sum_penalty : float
        Penalty lambda of sums that are not one.
    ridge : float
        Penalty rho of the distance from components in which the views are independent.
    scalar_step : bool
        If True, all entries of a point have one curvature bound, as in the literal method.
    """

    def __init__(
        self,
        core: DiscreteCore,
        *,
        sum_penalty: float,
        ridge: float = 0.0,
        scalar_step: bool = False,
    ) -> None:
        if not (sum_penalty > 0 and ridge >= 0):
            raise ParameterError(
                "a positive sum_penalty and a ridge of at least zero are needed, got "
                f"{sum_penalty} and {ridge}"
            )
        self.residual = FactorResidual(core.tensor, core.bases)
        self._scales = core.scales
        self._sum_penalty, self._ridge, self._scalar = sum_penalty, ridge, scalar_step
        sizes = [len(scale) for scale in core.scales]
        ends = np.cumsum([0, *sizes])
        self._slices = [slice(ends[t], ends[t + 1]) for t in range(3)]
        self._rows = np.repeat(np.arange(4), [*sizes, 1])
        # the sums of all views as one product
        self._sums = np.zeros((3, ends[-1]))
        for t, scale in enumerate(core.scales):
            self._sums[t, self._slices[t]] = scale
        self._square_scales = np.square(self._sums).sum(axis=1)
        self._target = np.concatenate(core.targets)

    @property
    def rounding(self) -> float:
        """Size of rounding errors of a value."""
        return self.residual.rounding

    @property
    def penalties(self) -> Diagnostics:
        """Penalties by name."""
        return {"sum_penalty": self._sum_penalty, "ridge": self._ridge}

    def point(self, factors: DiscreteFactors) -> FloatArray:
        """Point of given factors."""
        scaled = by_view(
            lambda t: factors.probabilities[t] * inverse_scale(self._scales[t])[:, None]
        )
        return np.vstack([*scaled, factors.weights])

    def factors(self, point: FloatArray) -> DiscreteFactors:
        """Weights and probabilities at a point."""
        return DiscreteFactors(
            point[-1].copy(),
            by_view(lambda t: point[self._slices[t]] * self._scales[t][:, None]),
        )

    def relative_residual(self, factors: DiscreteFactors) -> float:
        """Norm of the residual of given factors, relative to the norm of the tensor."""
        weighted = self._weighted(self.point(factors))
        first, second, third = (weighted[of_view] for of_view in self._slices)
        return self.residual.relative((first, second, third))

    def value(self, point: FloatArray) -> float:
        """Residual and penalties at a point."""
        sums, total = self._departures(point)
        return (
            self.residual.value_of_rows(self._weighted(point))
            + self._penalty(sums, total)
            + self._ridge / 2.0 * _sum_of_squares(point[:-1] - self._target[:, None])
        )

    def expansion(self, point: FloatArray) -> Expansion:
        """Residual and penalties at a point, with their gradient and curvature bounds.

        The bounds are row sums of magnitudes of the second derivatives within every block of a
        column: those of a view, and those of the weights.
        """
        factors, weights, leading = point[:-1], point[-1], self._slices[0]
        residual = self.residual.gradients_of_rows(self._weighted(point))
        sums, total = self._departures(point)
        distance = factors - self._target[:, None]
        penalty = self._penalty(sums, total) + self._ridge / 2.0 * _sum_of_squares(distance)
        gradient = np.empty(point.shape)
        gradient[:-1] = residual.rows
        # the weights enter through the first factor alone
        gradient[leading] *= weights
        gradient[:-1] += self._ridge * distance + self._sum_penalty * (self._sums.T @ sums)
        by_weights = (residual.rows[leading] * factors[leading]).sum(axis=0)
        gradient[-1] = by_weights + self._sum_penalty * total
        first, second, third = np.abs(residual.grams)
        size, unweighted = np.abs(weights), np.abs(factors[leading].T @ factors[leading])
        bounds = np.array(
            [
                size * ((second * third) @ size),
                (first * third).sum(axis=1),
                (first * second).sum(axis=1),
                (unweighted * second * third).sum(axis=1),
            ]
        )
        bounds[:3] += self._sum_penalty * self._square_scales[:, None] + self._ridge
        bounds[3] += self._sum_penalty * len(weights)
        curvature = np.full((1, 1), bounds.max()) if self._scalar else bounds[self._rows]
        return Expansion(residual.value + penalty, gradient, curvature)

    def _weighted(self, point: FloatArray) -> FloatArray:
        """Three factors one below the other, of which the first carries the weights."""
        factors = point[:-1].copy()
        factors[self._slices[0]] *= point[-1]
        return factors

    def _departures(self, point: FloatArray) -> tuple[FloatArray, float]:
        """Differences from one of the sums of all columns, and of the weights."""
        return self._sums @ point[:-1] - 1.0, float(point[-1].sum()) - 1.0

    def _penalty(self, sums: FloatArray, total: float) -> float:
        """Penalty of sums that are not one."""
        return self._sum_penalty / 2.0 * (_sum_of_squares(sums) + total**2)


def _sum_of_squares(values: FloatArray) -> float:
    """Sum of the squares of all entries."""
    return float(np.vdot(values, values))
