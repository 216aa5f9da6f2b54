"""Weights of rows of imported files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, Setting


def row_weights(cells: NDArray[Any], file: str, first: int) -> FloatArray:
    """Return the weights of a block of rows as numbers.

    Parameters
    ----------
    cells : (rows,) array of object
        Numbers, or their texts.
    file : str
        Name of the file, for messages.
    first : int
        Row of the file with which the block begins, for messages.

    Returns
    -------
    (rows,) float64 array
        Not negative.

    Raises
    ------
    DataError
        When a cell is empty, no number, negative or infinite.
    """
    weights = np.array([_number(cell) for cell in cells.tolist()], np.float64)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        at = int(bad.argmax())
        raise DataError(
            f"{file}: row {first + at:,} (from 0) holds {cells[at]!r} in the column of "
            + Setting("weight")
            + "; give every row a number that is not negative"
        )
    return weights


def _number(cell: Any) -> float:
    """Return the number in a cell, NaN if there is none."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan
