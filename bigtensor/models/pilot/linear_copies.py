"""Features of a sample that are linear functions of each other, such as copies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray

_SAME, _SAME_SINGLE = 1e-9, 1e-5
"""Part of a standardised feature in which copies differ: of float64 and of float32 values."""


def linear_copies(values: NDArray[np.floating]) -> list[tuple[int, int]]:
    """Return pairs of columns that are linear functions of each other.

    Parameters
    ----------
    values : (n, d) array
        Rows. Columns that are constant, or have no entry, have no copy.

    Returns
    -------
    list of (int, int)
        Positions, the smaller first. Of several copies, neighbours are a pair.
    """
    same = _SAME if values.dtype.itemsize > 4 else _SAME_SINGLE
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    varying = np.flatnonzero(high > low)
    if len(varying) < 2:
        return []
    columns = [_standardised(values[:, j].astype(np.float64), same) for j in varying]
    # duplicates are neighbours in any order of their entries
    order = np.lexsort(np.round(np.array(columns), 6).T[::-1])
    pairs = [
        (int(varying[i]), int(varying[j]))
        for i, j in pairwise(order)
        if np.allclose(columns[i], columns[j], rtol=0, atol=same, equal_nan=True)
    ]
    return [(min(pair), max(pair)) for pair in pairs]


def _standardised(column: FloatArray, same: float) -> FloatArray:
    """Return a column with mean zero, variance one, and a positive first entry."""
    # squares of huge values would overflow
    column = column / np.nanmax(np.abs(column))
    centred = column - np.nanmean(column)
    standardised = centred / np.nanstd(column)
    first = standardised[np.flatnonzero(np.abs(np.nan_to_num(standardised)) > same)[0]]
    return np.asarray(standardised * np.sign(first))
