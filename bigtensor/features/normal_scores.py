"""Normal scores: a smooth increasing function of every variable that makes it nearly Gaussian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bigtensor.array_types import FloatArray
from bigtensor.features.row_loops import row_loop

_KNOT_DISTANCE = 0.25
"""Distance of the knots in normal scores."""

_MOST_POINTS = 1000
"""Order statistics that stand for a sample, so that its distribution function is cheap."""

_HALVINGS = 30
"""Steps of a bisection: knots need no more digits, because any increasing spline will do."""


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Increasing rational quadratic splines of several variables, linear outside their knots.

    At the knots, which are quantiles of a smoothed sample, a spline is the normal score
    ``ndtri(F(x))`` (Gregory and Delbourgo 1982, equations 2.1 to 2.7, for the splines). A spline
    has a derivative and an inverse in closed form, so that a density of scores is a density of the
    variables, however near F is.

    Attributes
    ----------
    knots : (d, m) float64 array
        Ascending.
    scores : (d, m) float64 array
        Values at the knots.
    slopes : (d, m) float64 array
        Derivatives at the knots, positive.
    """

    knots: FloatArray
    scores: FloatArray
    slopes: FloatArray

    @classmethod
    def of_sample(cls, values: FloatArray, widths: FloatArray) -> NormalScores:
        """Return the normal scores of a sample, smoothed by a Gaussian kernel.

        Parameters
        ----------
        values : (n, d) float64 array
            NaN is missing; every variable has two distinct values at least.
        widths : (d,) float64 array
            Standard deviation of the kernel of every variable.
        """
        columns = [_order_statistics(column) for column in values.T]
        fewest = min(len(column) for column in columns)
        most = -float(ndtri(0.5 / max(fewest, 2)))
        m = 2 * max(1, int(np.ceil(most / _KNOT_DISTANCE))) + 1
        scores = np.linspace(-most, most, m)
        levels = ndtr(scores)
        knots = np.stack(
            [
                _quantiles(column, width, levels)
                for column, width in zip(columns, widths, strict=True)
            ]
        )
        slopes = np.stack([_slopes(row, scores) for row in knots])
        return cls(knots, np.tile(scores, (len(knots), 1)), slopes)

    def select(self, variables: NDArray[np.integer]) -> NormalScores:
        """Return the splines of some variables."""
        return NormalScores(self.knots[variables], self.scores[variables], self.slopes[variables])

    def write(self, values: FloatArray, log_slope: FloatArray) -> None:
        """Replace values by their scores, and add the logarithms of the derivatives.

        Parameters
        ----------
        values : (n, d) float64 array
            NaN stays, and counts as a derivative of one.
        log_slope : (n,) float64 array
            The logarithms of the derivatives of a row are added to it.
        """
        _write_scores(self.knots, self.scores, self.slopes, values, log_slope)

    def inverse(self, scores: FloatArray) -> FloatArray:
        """Return the values that have some scores, (n, d)."""
        values = np.empty_like(scores)
        _write_values(self.knots, self.scores, self.slopes, scores, values)
        return values


def _order_statistics(column: FloatArray) -> FloatArray:
    """Return evenly chosen order statistics of the entries that are not missing."""
    ascending = np.sort(column[~np.isnan(column)])
    if len(ascending) <= _MOST_POINTS:
        return ascending
    places = (np.arange(_MOST_POINTS) + 0.5) / _MOST_POINTS * len(ascending)
    return ascending[places.astype(np.intp)]


def _quantiles(column: FloatArray, width: float, levels: FloatArray) -> FloatArray:
    """Return where the distribution function of a smoothed sample has some levels."""
    low = np.full(len(levels), column[0] - 10 * width)
    high = np.full(len(levels), column[-1] + 10 * width)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_below = ndtr((middle[:, None] - column) / width).mean(axis=1) < levels
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.asarray((low + high) / 2)


def _slopes(knots: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the geometric means of the slopes on both sides of every knot."""
    secants = np.diff(scores) / np.diff(knots)
    return np.asarray(
        np.sqrt(np.concatenate([secants[:1], secants]) * np.concatenate([secants, secants[-1:]]))
    )


@row_loop
def _write_scores(
    knots: FloatArray,
    scores: FloatArray,
    slopes: FloatArray,
    values: FloatArray,
    log_slope: FloatArray,
) -> None:
    """Write scores in place; see `NormalScores.write`."""
    last = knots.shape[1] - 1
    for row in range(values.shape[0]):
        product = 1.0
        for j in range(values.shape[1]):
            value = values[row, j]
            if np.isnan(value):
                continue
            if value <= knots[j, 0]:
                values[row, j] = scores[j, 0] + slopes[j, 0] * (value - knots[j, 0])
                product *= slopes[j, 0]
            elif value >= knots[j, last]:
                values[row, j] = scores[j, last] + slopes[j, last] * (value - knots[j, last])
                product *= slopes[j, last]
            else:
                low, high = 0, last
                while high - low > 1:
                    middle = (low + high) // 2
                    if knots[j, middle] <= value:
                        low = middle
                    else:
                        high = middle
                width = knots[j, high] - knots[j, low]
                height = scores[j, high] - scores[j, low]
                secant, part = height / width, (value - knots[j, low]) / width
                left, right = slopes[j, low], slopes[j, high]
                both = part * (1 - part)
                below = secant + (left + right - 2 * secant) * both
                values[row, j] = (
                    scores[j, low] + height * (secant * part * part + left * both) / below
                )
                above = right * part * part + 2 * secant * both + left * (1 - part) * (1 - part)
                product *= secant * secant * above / (below * below)
            if product < 1e-200 or product > 1e200:
                log_slope[row] += np.log(product)
                product = 1.0
        log_slope[row] += np.log(product)


@row_loop
def _write_values(
    knots: FloatArray,
    scores: FloatArray,
    slopes: FloatArray,
    row_scores: FloatArray,
    values: FloatArray,
) -> None:
    """Write the values of scores; see `NormalScores.inverse`."""
    last = knots.shape[1] - 1
    for row in range(row_scores.shape[0]):
        for j in range(row_scores.shape[1]):
            score = row_scores[row, j]
            if np.isnan(score):
                values[row, j] = np.nan
            elif score <= scores[j, 0]:
                values[row, j] = knots[j, 0] + (score - scores[j, 0]) / slopes[j, 0]
            elif score >= scores[j, last]:
                values[row, j] = knots[j, last] + (score - scores[j, last]) / slopes[j, last]
            else:
                low, high = 0, last
                while high - low > 1:
                    middle = (low + high) // 2
                    if scores[j, middle] <= score:
                        low = middle
                    else:
                        high = middle
                width = knots[j, high] - knots[j, low]
                height = scores[j, high] - scores[j, low]
                secant, up = height / width, score - scores[j, low]
                left, right = slopes[j, low], slopes[j, high]
                bend = left + right - 2 * secant
                square = height * (secant - left) + up * bend
                linear = height * left - up * bend
                constant = -secant * up
                root = np.sqrt(linear * linear - 4 * square * constant)
                part = -2 * constant / (linear + root)
                values[row, j] = knots[j, low] + part * width
