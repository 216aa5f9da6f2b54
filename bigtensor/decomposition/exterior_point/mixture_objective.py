"""Parameters of a discrete mixture as factors, with penalties and curvature bounds."""

import numpy as np

from bigtensor.decomposition.discrete_core import (
    ByView,
    DiscreteCore,
    DiscreteFactors,
    by_view,
    inverse_scale,
)
from bigtensor.decomposition.exterior_point.factor_residual import FactorResidual
from bigtensor.decomposition.exterior_point.proximal_descent import Expansion
from bigtensor.decomposition.solution import Diagnostics, FloatArray
from bigtensor.errors import ParameterError

ROUNDING = 1e-15
"""Rounding error of a value, relative to the squared norm of the tensor that it is a part of."""


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
    sum_penalty : float
        Price lambda of sums that are not one.
    ridge : float
        Price rho of the distance from components in which the views are independent.
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
        self._target = np.concatenate(core.targets)[:, None]
        self._square_scales = np.array([[scale @ scale] for scale in core.scales])

    @property
    def rounding(self) -> float:
        """Size of rounding errors of a value."""
        return ROUNDING * self.residual.square_norm

    @property
    def prices(self) -> Diagnostics:
        """Prices of the penalties by name."""
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
        return self.residual.relative(self._weighted(self.point(factors)))

    def value(self, point: FloatArray) -> float:
        """Residual and penalties at a point."""
        sums, total = self._departures(point)
        return (
            self.residual.value(self._weighted(point))
            + self._penalty(sums, total)
            + self._ridge / 2.0 * _sum_of_squares(point[:-1] - self._target)
        )

    def expansion(self, point: FloatArray) -> Expansion:
        """Residual and penalties at a point, with their gradient and curvature bounds."""
        weights, first_rows = point[-1], self._slices[0]
        residual = self.residual.gradients(self._weighted(point))
        sums, total = self._departures(point)
        distance = point[:-1] - self._target
        gradient = np.empty_like(point)
        np.concatenate(residual.gradients, out=gradient[:-1])
        # the weights enter through the first factor alone
        gradient[-1] = np.sum(gradient[first_rows] * point[first_rows], axis=0)
        gradient[-1] += self._sum_penalty * total
        gradient[first_rows] *= weights
        gradient[:-1] += self._sum_penalty * (self._sums.T @ sums) + self._ridge * distance
        value = residual.value + self._penalty(sums, total)
        value += self._ridge / 2.0 * _sum_of_squares(distance)
        return Expansion(value, gradient, self._curvature(point, residual.grams))

    def _weighted(self, point: FloatArray) -> ByView:
        """Three factors of which the first carries the weights."""
        first, second, third = (point[rows] for rows in self._slices)
        return first * point[-1], second, third

    def _departures(self, point: FloatArray) -> tuple[FloatArray, float]:
        """Differences from one of the sums of all columns, and of the weights."""
        return self._sums @ point[:-1] - 1.0, float(point[-1].sum()) - 1.0

    def _penalty(self, sums: FloatArray, total: float) -> float:
        """Price of sums that are not one."""
        return self._sum_penalty / 2.0 * (_sum_of_squares(sums) + total**2)

    def _curvature(self, point: FloatArray, grams: ByView) -> FloatArray:
        """Bounds of the second derivatives: row sums of magnitudes within every block."""
        first = point[self._slices[0]]
        weighted, second, third = (np.abs(gram) for gram in grams)
        products = second * third
        sizes = np.abs(point[-1])
        k = len(sizes)
        bounds = np.empty((4, k))
        bounds[0] = sizes * (products @ sizes)
        bounds[1] = np.sum(weighted * third, axis=0)
        bounds[2] = np.sum(weighted * second, axis=0)
        bounds[:3] += self._sum_penalty * self._square_scales + self._ridge
        bounds[3] = np.sum(np.abs(first.T @ first) * products, axis=0) + self._sum_penalty * k
        if self._scalar:
            return np.full((1, 1), bounds.max())
        return bounds[self._rows]


def _sum_of_squares(values: FloatArray) -> float:
    """Sum of the squares of all entries."""
    return float(np.vdot(values, values))
