"""AnnData as xarray shows it: rows that are read when they are used, beside the columns of obs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from bigtensor.data.addresses.file_formats import optional_module, reading
from bigtensor.data.anndata.columns import index_name, read_column
from bigtensor.data.anndata.files import open_anndata_root
from bigtensor.data.sources.csr_source import is_sparse
from bigtensor.data.sources.row_sources import Source
from bigtensor.data.sources.stored_rows import StoredRows
from bigtensor.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from bigtensor.data.anndata.stored_elements import ColumnValues

FEATURE_DIM, VALUES = "feature", "X"


def has_obs(source: Source) -> bool:
    """Return True if columns of ``obs`` lie beside the rows."""
    return isinstance(source, StoredRows) or _table_of(source) is not None


def obs_variable(source: Source, name: str, sample_dim: str) -> xr.DataArray:
    """Return a column of ``obs`` along the samples.

    Parameters
    ----------
    source : Source
        Described rows of AnnData.
    name : str
        Name of the column.
    sample_dim : str
        Name of the dimension of the result.

    Returns
    -------
    DataArray
        In memory. Categories are int32 codes with the attribute ``categories``.

    Raises
    ------
    DataError
        When there is no such column.
    FileFormatError
        When the file is damaged.
    """
    columns = obs_columns(source)
    if name not in columns:
        there = f"there are {', '.join(columns)}" if columns else "there are none"
        raise DataError(f"obs of {source.describe()} has no column {name!r}; {there}")
    return _as_variable(_column(source, name), name, sample_dim)


def obs_columns(source: Source) -> list[str]:
    """Return the names of the columns of ``obs``."""
    table = _table_of(source)
    if table is not None:
        return [str(name) for name in table.columns]
    assert isinstance(source, StoredRows)
    with reading(source.path, "AnnData"), open_anndata_root(source.path) as group:
        frame = group["obs"]
        # a column with a slash in its name is a member of a member
        order = [str(name) for name in frame.attrs.get("column-order", ())]
        return [name for name in order if name != index_name(frame) and name in frame]


def anndata_dataset(source: Source, sample_dim: str) -> xr.Dataset:
    """Return rows and the columns of ``obs`` as a Dataset, without reading a row.

    Parameters
    ----------
    source : Source
        Of AnnData.
    sample_dim : str
        Name of the dimension of the rows.

    Returns
    -------
    Dataset
        ``X`` (`sample_dim`, feature) with the names of the features, and a variable for every
        column of ``obs``. A column that is called ``weight`` is left out, because AnnData has no
        place for sample weights.
    """
    taken = {VALUES, FEATURE_DIM, sample_dim, "weight"}
    columns = {
        name: obs_variable(source, name, sample_dim)
        for name in obs_columns(source)
        if name not in taken
    }
    values = indexing.LazilyIndexedArray(SourceArray(source))
    rows = xr.Variable((sample_dim, FEATURE_DIM), values)
    return xr.Dataset({VALUES: rows, **columns}, {FEATURE_DIM: list(source.features)})


class SourceArray(BackendArray):
    """Rows of a source as xarray reads them.

    Parameters
    ----------
    source : Source
        Described rows. Sparse rows are read as dense rows.
    """

    def __init__(self, source: Source) -> None:
        # xarray has no sparse rows
        self.source = replace(source, dense=True) if is_sparse(source) else source
        self.shape = (source.rows, len(source.features))
        self.dtype = source.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> NDArray[Any]:
        """Return the values at an indexer of xarray."""
        values: NDArray[Any] = indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._read
        )
        return values

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """Read the smallest range of rows that covers the key."""
        rows, columns = key
        positions = np.atleast_1d(np.arange(self.source.rows)[rows])
        if not positions.size:
            return np.empty((0, self.shape[1]), self.dtype)[:, columns]
        first = int(positions.min())
        values = self.source.read(first, int(positions.max()) + 1).values
        taken: NDArray[Any] = values[positions - first] if isinstance(rows, slice) else values[0]
        return np.asarray(taken[..., columns])


def _table_of(source: Source) -> pd.DataFrame | None:
    """Return the table of the rows of an AnnData object; None for other rows and for files."""
    table: pd.DataFrame | None = getattr(source, "obs", None)
    return table


def _column(source: Source, name: str) -> ColumnValues | pd.Series:
    """Return the values of a column of ``obs``."""
    table = _table_of(source)
    if table is not None:
        column: pd.Series = table[name]
        return column
    assert isinstance(source, StoredRows)
    with reading(source.path, "AnnData"), open_anndata_root(source.path) as group:
        values = read_column(group["obs"][name])
        if len(values) != source.rows:
            raise ValueError(f"column {name!r} of obs has {len(values)} rows of {source.rows}")
        return values


def _as_variable(column: ColumnValues | pd.Series, name: str, sample_dim: str) -> xr.DataArray:
    """Return a column as a variable: codes of categories, numbers, or names."""
    series = optional_module("pandas", "tables").Series(column)
    kind = series.dtype
    if hasattr(kind, "categories"):
        # anndata writes a column of strings as categories, among them those for no name
        series = series.cat.remove_categories([name for name in kind.categories if name == ""])
        names = [str(entry) for entry in series.cat.categories]
        codes = series.cat.codes.to_numpy(np.int32)
        return xr.DataArray(codes, dims=[sample_dim], name=name, attrs={"categories": names})
    if isinstance(kind, np.dtype):
        values = series.to_numpy()
    elif getattr(kind, "kind", "O") in "iufb":
        values = series.to_numpy(np.float64, na_value=np.nan)
    else:
        values = series.to_numpy(object)
    return xr.DataArray(values, dims=[sample_dim], name=name)
