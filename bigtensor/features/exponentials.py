"""Exponentials of many negative numbers at the speed of the processor's vectors.

NumPy has such loops for float32, and for float64 on processors with AVX-512 alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.row_loops import fused_row_loop

_LOG2_E = 1.4426950408889634

_LN_2_HIGH, _LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""Their sum is log 2. The first has so few digits that its multiples are exact."""

_ROUND = 6755399441055744.0
"""1.5 * 2**52: a sum with it is rounded to a whole number, which stands in its last bits."""

_LOWEST = -708.0
"""Below it, exponentials are no normal numbers, with which processors are slow."""


def exponentiate(values: NDArray[Any]) -> None:
    """Replace numbers by their exponentials, in place.

    Errors are at most two units in the last place. Exponentials of float64 numbers below -708,
    which would be smaller than 3.3e-308, are zero.

    Parameters
    ----------
    values : float64 or float32 array
        C-contiguous, at most zero or NaN.

    References
    ----------
    Cody and Waite (1980), "Software manual for the elementary functions", ch. 6.
    """
    if values.dtype == np.float64:
        _exponentiate(values.reshape(-1))
    else:
        np.exp(values, out=values)


@fused_row_loop
def _exponentiate(values: NDArray[np.float64]) -> None:
    """Split off a power of two, and take thirteen terms of the series of the rest."""
    for place in range(values.size):
        value = values[place]
        bounded = _LOWEST if value < _LOWEST else value
        shifted = bounded * _LOG2_E + _ROUND
        power = shifted - _ROUND
        rest = (bounded - power * _LN_2_HIGH) - power * _LN_2_LOW
        series = 1 / 479001600
        series = series * rest + 1 / 39916800
        series = series * rest + 1 / 3628800
        series = series * rest + 1 / 362880
        series = series * rest + 1 / 40320
        series = series * rest + 1 / 5040
        series = series * rest + 1 / 720
        series = series * rest + 1 / 120
        series = series * rest + 1 / 24
        series = series * rest + 1 / 6
        series = series * rest + 1 / 2
        series = series * rest + 1
        series = series * rest + 1
        exponent = (np.float64(shifted).view(np.int64) + 1023) << 52
        scaled = series * np.int64(exponent).view(np.float64)
        values[place] = 0.0 if value < _LOWEST else scaled
