"""Refusal of numbers that are no counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError


def are_counts(numbers: FloatArray, *, whole: bool = True) -> NDArray[np.bool_]:
    """Return True for finite numbers that are not negative.

    Parameters
    ----------
    numbers : (m,) array
        The counts.
    whole : bool, default True
        True if counts with fractions are refused.
    """
    with np.errstate(invalid="ignore"):
        good: NDArray[np.bool_] = np.isfinite(numbers) & (numbers >= 0)
        return good & (numbers % 1 == 0) if whole else good


def bad_count(place: str, number: float, column_name: str) -> DataError:
    """Return the error for a number that is no count.

    Parameters
    ----------
    place : str
        File and place of the number, such as ``"x.csv: row 3 (from 0)"``.
    number : float
        Negative, not finite or not whole.
    column_name : str
        Term for what is counted, such as ``"word"``.
    """
    fault = (
        "is not finite; correct it, or leave it out of the file"
        if not np.isfinite(number)
        else f"is negative; give counts of {column_name}s"
        if number < 0
        else f"is not a whole number; give counts of {column_name}s before any weighting or "
        "normalisation"
    )
    return DataError(f"{place} has the count {number:g}, which {fault}")
