"""Values of row variables as text, for files that hold no categories or dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray


def is_number(dtype: np.dtype[Any]) -> bool:
    """Return True for numbers and truth values."""
    return dtype.kind in "biufc"


def row_texts(values: NDArray[Any]) -> list[str]:
    """Return numbers, strings or dates as text. A missing value is an empty text.

    Parameters
    ----------
    values : (rows,) array
        Strings of bytes are taken for UTF-8.
    """
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "backslashreplace")
    missing = xr.DataArray(values).isnull().to_numpy()
    return ["" if absent else str(value) for value, absent in zip(values, missing, strict=True)]
