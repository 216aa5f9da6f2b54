"""Codes of missing values, such as -999, among the values of a feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_USUAL, _NEGATIVE = 1.0, 3.0
"""Gaps, in ranges of the other values, above which a usual or another code is one."""


def missing_code(distinct: NDArray[np.floating] | Sequence[float]) -> float | None:
    """Return the smallest or largest value if it looks like a code of missing values.

    It is a negative whole number below all other values, or a positive one of nines above them. It
    is farther from all other values than these are from each other:

    - once their range for at least two nines, such as 99 and -999, and for -7, -8 and -9,
    - three times for other negative whole numbers, and for -99 beside other negative values.

    Beside other negative codes than nines, all values are whole numbers that are not negative.
    Doses, and values that are cut off at a bound, are no codes.

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
    values = np.asarray(distinct, dtype=np.float64)
    if _is_negative_code(values[0], values[1:]):
        return float(values[0])
    code, others = values[-1], values[:-1]
    if code > 0 and _is_nines(code) and code - others[-1] > _USUAL * np.ptp(others):
        return float(code)
    return None


def _is_negative_code(code: float, others: NDArray[np.float64]) -> bool:
    """Return True if a value looks like a negative code beside larger ones."""
    if code >= 0 or not float(code).is_integer():
        return False
    if _is_nines(code):
        may_be, least = True, _USUAL if code < -99 or others[0] >= 0 else _NEGATIVE
    else:
        may_be = others[0] >= 0 and (others == np.rint(others)).all()
        least = _USUAL if -9 <= code <= -7 else _NEGATIVE
    return bool(may_be and others[0] - code > least * np.ptp(others))


def _is_nines(code: float) -> bool:
    """Return True for a whole number of at least two nines."""
    digits = str(abs(int(code))) if float(code).is_integer() else ""
    return len(digits) > 1 and {*digits} == {"9"}
