"""AnnData as rows: X, a layer or an entry of obsm, in memory, in a file or store, or lazy."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.addresses.store_address import with_home
from bigtensor.data.anndata.files import (
    StoredMatrix,
    find_matrix,
    is_h5ad,
    local_or_url,
    no_values,
    numbered,
    open_anndata_root,
    unknown_key,
)
from bigtensor.data.sources.csr_source import CsrSource, StoredCsrSource
from bigtensor.data.sources.row_sources import ArraySource, Columns, LazySource, Source
from bigtensor.data.sources.stored_rows import StoredRows
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.data.values.matrices import as_matrix, feature_names, with_dense_chunks
from bigtensor.data.values.plain_arrays import without_mask
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError

if TYPE_CHECKING:
    import zarr
    from anndata import AnnData


@dataclass(frozen=True, eq=False)
class AnndataFileSource(StoredRows):
    """Rows of a dense matrix of stored AnnData, which tasks open for themselves."""

    categories: None = None

    @property
    def unit_rows(self) -> int:
        """Rows that are decoded together."""
        return self.matrix.unit_rows

    def read(self, start: int, stop: int) -> Columns:
        """Open the file and read the rows."""
        with self.opened("", start, stop) as arrays:
            values = self.matrix.read(arrays, start, stop)
        return self.columns(values, start, stop)


def _stored_source(address: str, matrix: StoredMatrix) -> AnndataFileSource | StoredCsrSource:
    """Return the rows of a stored matrix, sparse ones as they are stored."""
    if matrix.kind == "csr":
        return StoredCsrSource(address, matrix)
    return AnndataFileSource(address, matrix)


def is_anndata(data: object) -> TypeGuard[AnnData]:
    """Return True for an AnnData object. The library is not imported for this."""
    anndata = sys.modules.get("anndata")
    return anndata is not None and isinstance(data, anndata.AnnData)


def holds_anndata(data: object) -> bool:
    """Return True for an AnnData object, and for the address of a file or store of AnnData.

    Parameters
    ----------
    data : object
        Data as for `bigtensor.open_samples`.
    """
    if not isinstance(data, str | os.PathLike):
        return is_anndata(data)
    path = with_home(os.fspath(data))
    return is_h5ad(path) or _is_anndata_group(open_whole_group(path))


def _is_anndata_group(group: zarr.Group) -> bool:
    """Return True for the root of AnnData in a Zarr store."""
    return bool(group.attrs.get("encoding-type") == "anndata")


def anndata_file_source(path: str, name: str = "X") -> Source:
    """Describe a matrix of a ``.h5ad`` file, in which every task then reads its own rows.

    Parameters
    ----------
    path : str
        Path or URL.
    name : str, default "X"
        From `bigtensor.data.anndata.files.element_name`.

    Raises
    ------
    FileFormatError
        When there is no such file, or it is damaged.
    DataError
        When the matrix is absent or cannot be read by rows.
    """
    with reading(path, "AnnData"):
        address = local_or_url(path)
        with open_anndata_root(address) as group:
            return _stored_source(address, find_matrix(path, group, name))


def anndata_store_source(url: str, group: zarr.Group, name: str = "X") -> Source | None:
    """Describe a matrix of AnnData in a Zarr store; None where the store is none.

    Parameters
    ----------
    url : str
        Path or URL of the store.
    group : zarr.Group
        The opened store.
    name : str, default "X"
        From `bigtensor.data.anndata.files.element_name`.

    Raises
    ------
    DataError
        When the matrix is absent or cannot be read by rows.
    """
    if not _is_anndata_group(group):
        return None
    return _stored_source(url, find_matrix(url, group, name))


def anndata_source(data: AnnData, name: str = "X") -> Source:
    """Describe a matrix of an AnnData object, beside its table ``obs``.

    Features of X and of layers are named by ``var_names``.

    Parameters
    ----------
    data : AnnData
        The matrix is dense, sparse, lazy or backed by a file, in which every task then reads its
        own rows.
    name : str, default "X"
        From `bigtensor.data.anndata.files.element_name`.

    Raises
    ------
    DataError
        When the matrix is absent or cannot be read by rows.
    """
    if data.isbacked and name == "X":
        return _file_source(data)
    matrix, names = _in_memory(data, name)
    if hasattr(matrix, "__dask_graph__"):
        return LazySource(with_dense_chunks(matrix), names, obs=data.obs)
    if hasattr(matrix, "tocsr"):
        source = CsrSource.from_scipy(matrix, names)
        return replace(source, may_be_dense=True, obs=data.obs)
    return ArraySource(np.asarray(without_mask(matrix)), names, obs=data.obs)


def _in_memory(data: AnnData, name: str) -> tuple[Any, tuple[str, ...]]:
    """Return a matrix of an object, and the names of its columns."""
    owner, (part, _, key) = "the AnnData object", name.partition("/")
    keys = sorted(map(str, getattr(data, part))) if key else []
    if key and key not in keys:
        raise unknown_key(owner, part, key, keys)
    matrix = getattr(data, part)[key] if key else data.X
    if matrix is None:
        raise no_values(owner, sorted(map(str, data.layers)), sorted(map(str, data.obsm)))
    if len(matrix.shape) != 2:
        raise DataError(
            f"{name} of {owner} has the shape {matrix.shape}; expected rows and features, "
            "so choose another matrix or put two dimensions there"
        )
    if part != "obsm":
        return matrix, tuple(unique_names([str(entry) for entry in data.var_names]))
    if hasattr(matrix, "columns"):
        return as_matrix(matrix), feature_names(matrix.columns)
    return matrix, numbered(key, matrix.shape[1])


def _file_source(data: AnnData) -> Source:
    """Describe X of an AnnData object that is backed by a file."""
    if data.is_view:
        raise DataError(
            "a part of an AnnData object that is backed by a file cannot be read by row blocks; "
            "give the whole object, or take the part into memory with .to_memory()"
        )
    path = str(Path(data.filename).resolve())
    matrix = find_matrix(path, data.file["obs"].file, "X")
    # the names of the object, which may not be those of the file any more
    names = tuple(unique_names([str(entry) for entry in data.var_names]))
    source = _stored_source(path, replace(matrix, features=names))
    return replace(source, obs=data.obs)
