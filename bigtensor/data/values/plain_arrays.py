"""Arrays for computation: missing values are marked, numbers are in native byte order."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bigtensor.errors import DataError

_Array = TypeVar("_Array")

CODES = np.dtype(np.int32)
"""Type of codes that are converted from floats."""


def without_mask(array: _Array) -> _Array | NDArray[Any]:
    """Return an array with NaN where a masked array of floats masks a value, and -1 for integers.

    Parameters
    ----------
    array : array
        Other arrays are returned as they are, and so are the values of a mask that masks nothing.
    """
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype.kind not in "fiu" or not np.ma.is_masked(array):
        return array.data
    if array.dtype.kind == "f":
        return array.filled(np.nan)
    signed = array.astype(np.int64) if array.dtype.kind == "u" else array
    return np.asarray(np.ma.filled(signed, -1))


def measured_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the smallest type of measured values that holds all values of a type.

    Parameters
    ----------
    dtype : dtype
        Floats, integers or booleans.

    Returns
    -------
    dtype
        float32 or float64. Integers beyond 2^53 are rounded.
    """
    return np.result_type(dtype, np.float32)


def converted(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values in another type.

    Parameters
    ----------
    values : array or masked array
        Numbers. Masked entries are missing.
    dtype : dtype
        Floats, or integers for codes of categories.

    Returns
    -------
    array or masked array
        In codes, NaN and masked floats become -1.

    Raises
    ------
    DataError
        If a float is not a whole number, or is too large for a code.
    """
    if dtype.kind == "f" or values.dtype.kind != "f":
        return values.astype(dtype, copy=False)
    # the largest code is no number in half or single precision
    numbers = without_mask(values).astype(np.float64, copy=False)
    missing = np.isnan(numbers)
    codes = np.where(missing, -1, numbers)
    # infinity is no code either
    bad = (codes != np.rint(codes)) | (np.abs(codes) > np.iinfo(dtype).max)
    if bad.any():
        raise DataError(
            f"the data hold {codes[bad][0]:g}, which is not the code of a category; give whole "
            "numbers, with NaN for missing entries"
        )
    return codes.astype(dtype)


def native_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the dtype in the byte order of this machine."""
    native_order: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
    return native_order


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of this machine, not copied where it is in it."""
    return array.astype(native_dtype(array.dtype), copy=False)
