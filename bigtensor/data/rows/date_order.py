"""Order of the dates of rows along their sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import IndexArray
from bigtensor.data.rows.row_sequences import pieces_of_ids
from bigtensor.data.sources.row_sources import ArraySource, LazySource, Source
from bigtensor.data.sources.xarray_source import XarraySource


def rows_out_of_order(source: Source, sample_dim: str) -> IndexArray:
    """Return the rows whose date is before the date of the row in front of them.

    Only an index of dates along the rows of xarray objects and pandas tables is looked at. In a
    MultiIndex an equal date counts too, because another level tells both rows apart.

    Parameters
    ----------
    source : Source
        Described rows with their sequences.
    sample_dim : str
        Name of the sample dimension.
    """
    index = _index(source, sample_dim)
    if isinstance(index, pd.MultiIndex):
        positions = [i for i, level in enumerate(index.levels) if holds_dates(level)]
        dates = index.get_level_values(positions[0]) if positions else None
    else:
        dates = index if holds_dates(index) else None
    if dates is None:
        return np.empty(0, np.intp)
    values: NDArray[Any] = dates.to_numpy()
    before, after = values[:-1], values[1:]
    back = after <= before if isinstance(index, pd.MultiIndex) else after < before
    rows = np.flatnonzero(back) + 1
    if len(rows) and (pieces := [*pieces_of_ids(source)]):
        ids = np.concatenate(pieces)
        rows = rows[ids[rows] == ids[rows - 1]]
    return rows


def _index(source: Source, sample_dim: str) -> pd.Index[Any] | None:
    """Return the index along the rows of xarray objects and pandas tables."""
    if isinstance(source, ArraySource):
        return source.index
    if isinstance(source, XarraySource):
        return source.array.indexes.get(sample_dim)
    if isinstance(source, LazySource) and source.variables is not None:
        index: pd.Index[Any] | None = source.variables.indexes.get(sample_dim)
        return index
    return None


def holds_dates(index: pd.Index[Any] | None) -> bool:
    """Return True for dates of NumPy and of other calendars, and for periods such as months.

    Parameters
    ----------
    index : Index, optional
        Index along a dimension.
    """
    return isinstance(index, pd.DatetimeIndex | pd.PeriodIndex | xr.CFTimeIndex)
