"""Normal scores: a smooth increasing function of every variable that makes it nearly Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bigtensor.array_types import FloatArray
from bigtensor.features.margins.adaptive_kernel import AdaptiveKernel
from bigtensor.features.row_loops import row_loop

CELLS = 128
"""Cells of a spline. Their bounds are evenly spaced in normal scores, up to the outermost rows."""

_REACH = 6.0
"""Widths of a kernel within which it has its mass."""

_TIED = 1.5
"""Rows of a kernel from which on it is one of several rows."""

_LEAST_SLOPE = 1e-3
"""Of a knot, in slopes of the steeper one of its cells."""


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Increasing rational quadratic splines of several variables, linear outside their knots.

    At the knots, a spline is the normal score ``ndtri(F(x))`` of a smoothed distribution function
    F, and has its derivative (Gregory and Delbourgo 1982, equations 2.1 to 2.7, for the splines). A
    spline has a derivative and an inverse in closed form, so that a density of scores is a density
    of the variables, however near F is. Outside the knots, scores are linear: a variable has
    Gaussian tails, which begin with the hazard that the outermost rows have.

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
    def of_kernels(cls, kernels: Sequence[AdaptiveKernel]) -> NormalScores:
        """Return the normal scores of variables.

        Parameters
        ----------
        kernels : sequence of AdaptiveKernel
            Smoothed distribution of every variable.
        """
        splines = [_spline(kernel) for kernel in kernels]
        knots, scores, slopes = (np.stack(parts) for parts in zip(*splines, strict=True))
        return cls(knots, scores, slopes)

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


def _spline(kernel: AdaptiveKernel) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return knots, scores and slopes of one variable."""
    most = -float(ndtri(0.5 / max(kernel.n_rows, 2)))
    levels = ndtr(np.linspace(-most, most, CELLS + 1))
    knots = _near_quantiles(kernel, levels)
    distribution = kernel.distribution(knots)
    # knots are near the levels; scores are exact
    scores = ndtri(distribution)
    heights = np.exp(-0.5 * np.square(scores)) / np.sqrt(2 * np.pi)
    slopes = kernel.density(knots) / heights
    for end, share, excess in (
        (0, distribution[0], kernel.excess_below),
        (-1, 1 - distribution[-1], kernel.excess_above),
    ):
        if excess > 0:
            slopes[end] = share / (heights[end] * excess)
    secants = np.diff(scores) / np.diff(knots)
    steeper = np.maximum(np.append(secants[:1], secants), np.append(secants, secants[-1:]))
    return knots, scores, np.maximum(slopes, _LEAST_SLOPE * steeper)


def _near_quantiles(kernel: AdaptiveKernel, levels: FloatArray) -> FloatArray:
    """Return where a distribution function has nearly some levels, or values of many rows there."""
    low = kernel.centres[0] - _REACH * kernel.widths[0]
    high = kernel.centres[-1] + _REACH * kernel.widths[-1]
    places = np.linspace(0, len(kernel.centres) - 1, CELLS).astype(np.intp)
    grid = np.unique(np.concatenate([np.linspace(low, high, CELLS), kernel.centres[places]]))
    knots = np.asarray(np.interp(levels, kernel.distribution(grid), grid))
    # at values of many rows a density is that of their kernels, however narrow they are
    by_share = np.argsort(kernel.shares, kind="stable")
    tied = kernel.centres[by_share[kernel.shares[by_share] * kernel.n_rows > _TIED]]
    nearest = np.searchsorted((knots[1:] + knots[:-1]) / 2, tied)
    inside = (nearest > 0) & (nearest < len(knots) - 1)
    knots[nearest[inside]] = tied[inside]
    return knots


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
