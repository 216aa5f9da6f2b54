"""Order of the dates of rows along their sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import IndexArray
from bigtensor.data.rows.row_sequences import pieces_of_ids
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.row_sources import LazySource, Source
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.errors import SequenceWarning, Setting, warn


def warn_of_date_order(samples: Samples, sample_dim: str) -> None:
    """Warn of rows whose date is before the date of the row in front of them.

    Only an index of dates along the rows is looked at. In a MultiIndex an equal date counts too,
    because another level tells both rows apart.

    Parameters
    ----------
    samples : Samples
        Opened data with their sequences.
    sample_dim : str
        Name of the sample dimension.

    Warns
    -----
    SequenceWarning
    """
    for source in samples.sources:
        rows = _rows_out_of_order(source, sample_dim)
        if len(rows):
            message = (
                f"the dates along {sample_dim!r} do not ascend within sequences at {len(rows):,} "
                f"of {source.rows:,} rows, first at row {rows[0]:,}; sort the rows by sequence and "
                "date, and name the variable that tells sequences apart, such as the station, with "
            )
            warn(message + Setting("sequence"), SequenceWarning)


def _rows_out_of_order(source: Source, sample_dim: str) -> IndexArray:
    """Return the rows that a later row of their sequence comes before."""
    index = _index(source, sample_dim)
    if isinstance(index, pd.MultiIndex):
        levels = map(index.get_level_values, range(index.nlevels))
        dates = next(filter(_holds_dates, levels), None)
    else:
        dates = index if _holds_dates(index) else None
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
    """Return the index along the rows of xarray objects."""
    if isinstance(source, XarraySource):
        return source.array.indexes.get(sample_dim)
    if isinstance(source, LazySource) and source.variables is not None:
        index: pd.Index[Any] | None = source.variables.indexes.get(sample_dim)
        return index
    return None


def _holds_dates(index: pd.Index[Any] | None) -> bool:
    """Return True for dates of NumPy and of other calendars."""
    return isinstance(index, pd.DatetimeIndex | xr.CFTimeIndex)
