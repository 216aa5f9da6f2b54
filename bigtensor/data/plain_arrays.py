"""Arrays for computation: missing values are NaN, numbers are in native byte order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def without_mask(array: Any) -> Any:
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
    if array.dtype.kind == "u":
        array = array.astype(np.int64)
    return array.filled(np.nan if array.dtype.kind == "f" else -1)


def native_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype in the byte order of this machine."""
    native_order: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
    return native_order


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of this machine, not copied where it is in it."""
    return array.astype(native_dtype(array.dtype), copy=False)
