"""Codes of missing values, such as -999, among the values of a feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_USUAL, _NEGATIVE = 1.0, 3.0
"""Least distance from the other values, in ranges of these, of usual and of other codes."""

MOST_CODES = 3
"""Most codes of a feature, such as -7, -8 and -9."""


def missing_codes(distinct: NDArray[np.floating] | Sequence[float]) -> tuple[float, ...]:
    """Return the smallest or largest values if they look like codes of missing values.

    They are a whole number, or two or three that follow each other: negative and below all other
    values, or positive and above them. They are farther from all other values than these are from
    each other:

    - once their range if the outermost has at least two nines, such as 99 and -999, or is -7, -8 or
      -9,
    - three times for one other negative whole number, and for -99 beside other negative values.

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
        are_high = high[0] > 0 and _is_nines(high[-1]) and _follow_each_other(high)
        if are_high and high[0] - others[-1] > _USUAL * np.ptp(others):
            return tuple(high.tolist())
    return ()


def _are_codes(codes: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Return True if values look like negative codes beside larger ones."""
    outermost = codes[0]
    if codes[-1] >= 0 or not _follow_each_other(codes):
        return False
    if _is_nines(outermost):
        may_be, least = True, _USUAL if outermost < -99 or others[0] >= 0 else _NEGATIVE
    else:
        if len(codes) > 1 and not -9 <= outermost <= -7:
            return False
        may_be = others[0] >= 0 and (others == np.rint(others)).all()
        least = _USUAL if -9 <= outermost <= -7 else _NEGATIVE
    return bool(may_be and others[0] - codes[-1] > least * np.ptp(others))


def _follow_each_other(codes: NDArray[np.float64]) -> bool:
    """Return True for a whole number, and for several without a number between them."""
    return bool((codes == np.rint(codes)).all() and (np.diff(codes) == 1).all())


def codes_in_words(codes: Sequence[float]) -> tuple[str, str]:
    """Return codes, and what an import takes to make them missing values.

    Parameters
    ----------
    codes : sequence of float
        Codes of missing values.

    Examples
    --------
    >>> codes_in_words([-9.0, -8.0])
    ('-9 and -8', '--missing-value -9 --missing-value -8 (missing_values=[-9, -8])')
    """
    values = [f"{code:.0f}" for code in codes]
    options = " ".join(f"--missing-value {value}" for value in values)
    in_python = f"[{', '.join(values)}]" if len(values) > 1 else values[0]
    return " and ".join(values), f"{options} (missing_values={in_python})"


def _is_nines(code: float) -> bool:
    """Return True for a whole number of at least two nines."""
    digits = str(abs(int(code))) if float(code).is_integer() else ""
    return len(digits) > 1 and {*digits} == {"9"}
