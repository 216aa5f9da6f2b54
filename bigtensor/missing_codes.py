"""Codes of missing values, such as -999, among the values of a feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_USUAL, _NEGATIVE, _OTHER = 1.0, 3.0, 10.0
"""Gaps, in ranges of the other values, above which a value is a code of missing values.

Numbers of at least two nines, such as 99 and -999, need the smallest gap. Other negative numbers
beside values that are not negative, such as -1 and -9, need a larger one, and other whole numbers
the largest. Zero is never a code. No feature of 38 tables of KEEL, six of scikit-learn and those of
cells in FCS files has one.
"""


def missing_code(distinct: NDArray[np.floating] | Sequence[float]) -> float | None:
    """Return the smallest or largest value if it looks like a code of missing values.

    It is a whole number that is farther from all other values than these are from each other.

    Parameters
    ----------
    distinct : array-like of float
        Distinct values of a feature, ascending, without NaN.

    Examples
    --------
    >>> missing_code([-999.0, 1.2, 1.7, 3.1])
    -999.0
    >>> missing_code([-1.0, 0.0, 1.0])
    """
    if len(distinct) < 3:
        return None
    for code, others in ((distinct[0], distinct[1:]), (distinct[-1], distinct[:-1])):
        low, high = float(others[0]), float(others[-1])
        gap = low - code if code < low else code - high
        if code and float(code).is_integer() and gap > _least_gap(code, low) * (high - low):
            return float(code)
    return None


def _least_gap(code: float, low: float) -> float:
    """Return the gap of a code, in ranges of the other values, whose smallest is `low`."""
    digits = str(abs(int(code)))
    if len(digits) > 1 and {*digits} == {"9"}:
        return _USUAL
    return _NEGATIVE if code < 0 <= low else _OTHER
