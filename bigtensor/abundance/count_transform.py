"""Mean, slope and variance of the logarithm of a count plus a half."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import gammaln

from bigtensor.array_types import FloatArray

_SMALL_MEAN = 1e-3
"""Expected count up to which all counts are zero or one, within .1 %."""

_LARGE_MEAN = 200.0
"""Expected count from which a logarithm has the variance of the delta method, within .5 %."""

_POINTS = 400
"""Points of the tables, over which linear interpolation errs by less than 1e-4."""


def log_count_moments(mean: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return moments of log(X + 1/2) of a Poisson count X.

    Parameters
    ----------
    mean : float64 array
        Expected counts, above zero.

    Returns
    -------
    expected, slope, variance : float64 arrays
        Expectation, its derivative by the logarithm of `mean`, and variance.
    """
    grid, *tables = _tables()
    at = np.log(mean)
    of_one = np.log(3.0) * mean
    of_small = of_one - np.log(2.0), of_one, np.log(3.0) * of_one
    of_large = at, np.ones_like(at), 1.0 / mean
    expected, slope, variance = (
        np.select(
            [mean < _SMALL_MEAN, mean > _LARGE_MEAN], [small, large], np.interp(at, grid, table)
        )
        for small, large, table in zip(of_small, of_large, tables, strict=True)
    )
    return expected, slope, variance


@cache
def _tables() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return logarithms of means, and the three moments there."""
    grid = np.linspace(np.log(_SMALL_MEAN), np.log(_LARGE_MEAN), _POINTS)
    # twelve standard deviations above the largest mean
    counts = np.arange(_LARGE_MEAN + 12 * np.sqrt(_LARGE_MEAN))
    probability = np.exp(counts * grid[:, None] - np.exp(grid)[:, None] - gammaln(counts + 1))
    logs = np.log(counts + 0.5)
    expected = probability @ logs
    slope = np.exp(grid) * (probability @ (np.log(counts + 1.5) - logs))
    variance = probability @ logs**2 - expected**2
    return grid, expected, slope, variance
