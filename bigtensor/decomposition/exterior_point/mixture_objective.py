"""Parameters of a discrete mixture as factors, with penalties and curvature bounds."""

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
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
from bigtensor.features.row_loops import row_loop

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
        self._prices = np.array([sum_penalty, ridge])
        self._scale = np.concatenate(core.scales)
        # the sums of all views as one product
        self._sums = np.zeros((3, ends[-1]))
        for t, scale in enumerate(core.scales):
            self._sums[t, self._slices[t]] = scale
        self._target = np.concatenate(core.targets)

    @property
    def rounding(self) -> float:
        """Size of rounding errors of a value."""
        return ROUNDING * self.residual.square_norm

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
        """Residual and penalties at a point, with their gradient and curvature bounds."""
        # points of either order in memory would have the loop compiled twice
        point = np.ascontiguousarray(point)
        residual = self.residual.gradients_of_rows(self._weighted(point))
        penalty, gradient, bounds = np.empty(1), np.empty_like(point), np.empty((4, point.shape[1]))
        _write_expansion(
            point,
            self._rows,
            self._scale,
            self._target,
            self._prices,
            residual.rows,
            residual.grams,
            penalty,
            gradient,
            bounds,
        )
        curvature = np.full((1, 1), bounds.max()) if self._scalar else bounds[self._rows]
        return Expansion(residual.value + float(penalty[0]), gradient, curvature)

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


@row_loop
def _write_expansion(
    point: FloatArray,
    view_of_row: IntArray,
    scale: FloatArray,
    target: FloatArray,
    penalties: FloatArray,
    residual_gradients: FloatArray,
    grams: FloatArray,
    penalty: FloatArray,
    gradient: FloatArray,
    bounds: FloatArray,
) -> None:
    """Write the penalties, the gradient of residual and penalties, and bounds of its curvature.

    The last line of ``point`` and ``gradient`` holds the weights. ``view_of_row`` is 0, 1 or 2 for
    the lines of a view, and 3 for the weights. ``penalties`` are the factors of sums that are not
    one and of the distance from ``target``. ``residual_gradients`` and ``grams`` belong to the
    factors, of which the first carries the weights. ``bounds`` receives row sums of magnitudes of
    the second derivatives within every block, (4, k).
    """
    rows, k = residual_gradients.shape
    sum_penalty, ridge = penalties[0], penalties[1]
    weights = point[rows]
    sums, square_scales, gram = np.zeros((3, k)), np.zeros(3), np.zeros((k, k))
    for row in range(rows):
        view = view_of_row[row]
        square_scales[view] += scale[row] ** 2
        for h in range(k):
            sums[view, h] += scale[row] * point[row, h]
            if view == 0:
                for g in range(k):
                    gram[h, g] += point[row, h] * point[row, g]
    # entry by entry, because Numba takes a second for sums and products of arrays
    total = -1.0
    for h in range(k):
        total += weights[h]
    squares = total**2
    for view in range(3):
        for h in range(k):
            sums[view, h] -= 1
            squares += sums[view, h] ** 2
    penalty[0] = sum_penalty / 2 * squares
    for h in range(k):
        gradient[rows, h] = sum_penalty * total
        bounds[3, h] = sum_penalty * k
        for view in range(3):
            bounds[view, h] = sum_penalty * square_scales[view] + ridge
    for row in range(rows):
        view = view_of_row[row]
        for h in range(k):
            by_factor, distance = residual_gradients[row, h], point[row, h] - target[row]
            penalty[0] += ridge / 2 * distance**2
            if view == 0:
                # the weights enter through the first factor alone
                gradient[rows, h] += by_factor * point[row, h]
                by_factor *= weights[h]
            gradient[row, h] = by_factor + ridge * distance
            gradient[row, h] += sum_penalty * scale[row] * sums[view, h]
    for h in range(k):
        for g in range(k):
            weighted, second, third = abs(grams[0, h, g]), abs(grams[1, h, g]), abs(grams[2, h, g])
            bounds[0, h] += abs(weights[h]) * second * third * abs(weights[g])
            bounds[1, h] += weighted * third
            bounds[2, h] += weighted * second
            bounds[3, h] += abs(gram[h, g]) * second * third


def _sum_of_squares(values: FloatArray) -> float:
    """Sum of the squares of all entries."""
    return float(np.vdot(values, values))
