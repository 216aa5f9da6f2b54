"""Conversion of numbers to another type, with an error where a value would change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bigtensor.errors import DataError


def checked_cast(
    values: NDArray[Any], dtype: DTypeLike, owner: str, remedy: str = "write a wider type"
) -> NDArray[Any]:
    """Return numbers in another type.

    Parameters
    ----------
    values : array of bool, integers or floats
        Numbers to convert.
    dtype : dtype
        Integers or floats. A float that is rounded is no error.
    owner : str
        Name of the file or array with the numbers, for the message.
    remedy : str
        What the user can do, for the message.

    Returns
    -------
    array
        A copy.

    Raises
    ------
    DataError
        If a number is out of the range of the type, or if the type is an integer and a number is
        not whole or not finite.
    """
    target = np.dtype(dtype)
    outside = first_outside(values, target)
    if outside is not None:
        number = f"{outside:,}" if isinstance(outside, int) else f"{outside:g}"
        range_of_type = (
            f"numbers up to {np.finfo(target).max:g}"
            if target.kind == "f"
            else f"whole numbers from {np.iinfo(target).min:,} to {np.iinfo(target).max:,}"
        )
        raise DataError(
            f"{owner} holds {number}, but {target} only holds {range_of_type}; {remedy}"
        )
    return values.astype(target)


def first_outside(values: NDArray[Any], dtype: DTypeLike) -> int | float | None:
    """Return a number that a type cannot hold, or None if it holds all of them.

    Parameters
    ----------
    values : array of bool, integers or floats
        Numbers to compare with the type.
    dtype : dtype
        Bool, integers or floats.
    """
    target = np.dtype(dtype)
    numbers = {values.dtype.kind, target.kind} <= set("biuf")
    if values.dtype == target or not values.size or not numbers:
        return None
    if target.kind == "f":
        with np.errstate(over="ignore"):
            lost = np.isfinite(values) & ~np.isfinite(values.astype(target))
        return float(values[lost][0]) if lost.any() else None
    broken = ~are_whole(values)
    if broken.any():
        return float(values[broken][0])
    least, most = (0, 1) if target.kind == "b" else (np.iinfo(target).min, np.iinfo(target).max)
    # Python's integers compare exactly, where NumPy would round the bounds of 64 bits
    extremes = int(values.min()), int(values.max())
    return next((value for value in extremes if not least <= value <= most), None)


def are_whole(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for every whole number, which NaN and infinity are not."""
    if values.dtype.kind != "f":
        return np.ones(values.shape, np.bool_)
    whole: NDArray[np.bool_] = np.isfinite(values) & (values == np.trunc(values))
    return whole
