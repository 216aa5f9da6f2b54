"""Log-concave density of a histogram, by maximum likelihood."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import nnls

from bigtensor.array_types import FloatArray

_LOWEST = -18.0
"""Lowest logarithm of an expected count. Rows there have no influence, and weights stay finite."""

_CONVERGED = 1e-8
"""Relative rise of the log-likelihood below which Newton's method ends."""

_NEWTON_STEPS = 30


def log_concave_counts(
    counts: FloatArray, start: FloatArray | None = None, *, decreasing: bool = False
) -> FloatArray:
    """Return the logarithms of the expected counts under the best log-concave density.

    The logarithm of the density is a concave function of the bins, which hinges with coefficients
    of one sign add up to. Newton's method for Poisson counts solves a least squares problem with
    non-negative coefficients in every step (Groeneboom, Jongbloed and Wellner 2008).

    Parameters
    ----------
    counts : (bins,) float64 array
        Weighted counts of rows in bins of one width.
    start : (bins,) float64 array, optional
        Logarithms of expected counts to start from, of an earlier fit. One Newton step is then
        taken, which is all that an EM iteration needs.
    decreasing : bool, default False
        If True, the density does not increase, as on one side of a mode.

    Returns
    -------
    (bins,) float64 array
        At convergence, their exponentials sum to the sum of the counts.
    """
    basis = _basis(len(counts), decreasing)
    steps = _NEWTON_STEPS if start is None else 1
    mean = max(float(counts.mean()), np.exp(_LOWEST))
    logs = np.full(len(counts), np.log(mean)) if start is None else start
    value = _loss(logs, counts)
    for _ in range(steps):
        logs = np.maximum(logs, _LOWEST)
        expected = np.exp(logs)
        root = np.sqrt(expected)
        coefficients, _ = nnls(
            basis * root[:, None], (logs + counts / expected - 1) * root, maxiter=50 * len(counts)
        )
        logs, new_value = _line_search(logs, basis @ coefficients, counts, value)
        if value - new_value <= _CONVERGED * abs(value):
            break
        value = new_value
    return logs


@cache
def _basis(bins: int, decreasing: bool) -> FloatArray:
    """Return functions whose sums with non-negative coefficients are the concave functions."""
    x = np.arange(bins) / bins
    hinges = np.maximum(x[:, None] - x[None, 1:-1], 0.0)
    constant = np.ones(bins)
    rising = [] if decreasing else [x]
    return np.column_stack([constant, -constant, *rising, -x, -hinges])


def _line_search(
    logs: FloatArray, target: FloatArray, counts: FloatArray, value: float
) -> tuple[FloatArray, float]:
    """Return the point between two with a lower loss, the target first, and its loss."""
    step = 1.0
    while step > 1e-4:
        candidate = logs + step * (target - logs)
        loss = _loss(candidate, counts)
        if loss <= value:
            return candidate, loss
        step /= 2
    return logs, value


def _loss(logs: FloatArray, counts: FloatArray) -> float:
    """Return the negative log-likelihood of Poisson counts, without the factorials."""
    return float(np.exp(np.minimum(logs, 50.0)).sum() - counts @ logs)
