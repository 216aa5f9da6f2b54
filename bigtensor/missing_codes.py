"""Codes of missing values, such as -999, among the values of a feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_USUAL, _NEGATIVE = 1.0, 3.0
"""Gaps, in ranges of the other values, above which usual or other codes are some."""

MOST_CODES, NEIGHBOURS = 3, 9
"""Most codes of a feature, such as -7, -8 and -9, and largest difference between two of them."""


def missing_codes(distinct: NDArray[np.floating] | Sequence[float]) -> tuple[float, ...]:
    """Return the smallest or largest values if they look like codes of missing values.

    They are one to three whole numbers that differ by at most 9: negative and below all other
    values, or positive and above them, where the largest is of nines. They are farther from all
    other values than these are from each other:

    - once their range if the outermost has at least two nines, such as 99 and -999, or is -7, -8 or
      -9,
    - three times for other negative whole numbers, and for -99 beside other negative values.

    Beside other negative codes than nines, all values are whole numbers that are not negative.
    Doses, and values that are cut off at a bound, are no codes.

    Parameters
    ----------
    distinct : array-like of float
        Distinct values of a feature, ascending, without NaN.

    Examples
    --------
    >>> missing_codes([-999.0, 1.2, 1.7, 3.1])
    (-999.0,)
    >>> missing_codes([-9.0, -8.0, 1.0, 2.0, 3.0, 4.0])
    (-9.0, -8.0)
    >>> missing_codes([-1.0, 0.0, 1.0])
    ()
    """
    values = np.asarray(distinct, dtype=np.float64)
    for count in range(1, min(MOST_CODES, len(values) - 2) + 1):
        if _are_codes(values[:count], values[count:]):
            return tuple(values[:count].tolist())
        # above all other values as below them, mirrored
        high, others = values[-count:], values[:-count]
        are_high = high[0] > 0 and _is_nines(high[-1]) and _are_neighbours(high)
        if are_high and high[0] - others[-1] > _USUAL * np.ptp(others):
            return tuple(high.tolist())
    return ()


def _are_codes(codes: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Return True if values look like negative codes beside larger ones."""
    outermost = codes[0]
    if codes[-1] >= 0 or not _are_neighbours(codes):
        return False
    if _is_nines(outermost):
        may_be, least = True, _USUAL if outermost < -99 or others[0] >= 0 else _NEGATIVE
    else:
        may_be = others[0] >= 0 and (others == np.rint(others)).all()
        least = _USUAL if -9 <= outermost <= -7 else _NEGATIVE
    return bool(may_be and others[0] - codes[-1] > least * np.ptp(others))


def _are_neighbours(codes: NDArray[np.float64]) -> bool:
    """Return True for whole numbers that are near each other."""
    return bool((codes == np.rint(codes)).all() and np.ptp(codes) <= NEIGHBOURS)


def _is_nines(code: float) -> bool:
    """Return True for a whole number of at least two nines."""
    digits = str(abs(int(code))) if float(code).is_integer() else ""
    return len(digits) > 1 and {*digits} == {"9"}
