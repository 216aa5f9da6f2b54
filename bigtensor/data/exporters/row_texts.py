"""Values of rows as text, for files that hold no categories or dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.values.categories import MISSING_CODE
from bigtensor.data.values.spreadsheet_cells import as_cell
from bigtensor.errors import DataError


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


def names_as_cells(names: Sequence[str]) -> NDArray[Any]:
    """Return the names of codes as cells of a CSV file, and an empty one for the code -1."""
    return np.array([*map(as_cell, names), ""], object)


def cells_of_codes(codes: NDArray[Any], names: NDArray[Any], owner: str) -> NDArray[Any]:
    """Return the name of every code.

    Parameters
    ----------
    codes : (rows,) array
        Integers, or floats with NaN for a missing entry.
    names : (categories + 1,) object array
        As `names_as_cells` returns them.
    owner : str
        The words that name the codes in messages.

    Raises
    ------
    DataError
        When a code has no name.
    """
    n_categories = len(names) - 1
    if codes.dtype.kind == "f":
        codes = np.where(np.isnan(codes), MISSING_CODE, codes)
    places = codes.astype(np.int64)
    if np.any((places != codes) | (places < MISSING_CODE) | (places >= n_categories)):
        raise DataError(
            f"{owner} holds codes that are none of its {n_categories} categories; make the store "
            "again"
        )
    cells: NDArray[Any] = names[places]
    return cells
