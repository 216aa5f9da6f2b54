"""AnnData objects as rows: X dense or sparse, in memory, in a file, or lazy."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.importers.anndata import index_name
from bigtensor.data.importers.source import optional_module, reading, unique_names
from bigtensor.data.matrices import check_csr
from bigtensor.data.plain_arrays import without_mask
from bigtensor.data.sources import ArraySource, Columns, LazySource, Source, ZarrSource
from bigtensor.errors import DataError, MissingDependencyError, StoreReadError


@dataclass(frozen=True, eq=False)
class SparseSource:
    """Rows of a sparse matrix in memory, made dense when they are read."""

    values: Any
    features: tuple[str, ...]
    weight: NDArray[np.float64] | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        dtype: np.dtype[Any] = np.dtype(self.values.dtype)
        return dtype

    @property
    def unit_rows(self) -> int:
        """Any row can be read alone."""
        return 1

    @property
    def has_weight(self) -> bool:
        """Whether the rows carry sample weights."""
        return self.weight is not None

    @property
    def held_nbytes(self) -> int:
        """Bytes of what is stored and of the weights."""
        return sum(part.nbytes for part in (*self._parts(), self.weight) if part is not None)

    def read(self, start: int, stop: int) -> Columns:
        """Return the rows as a dense array."""
        weight = None if self.weight is None else self.weight[start:stop]
        return Columns(self.values[start:stop].toarray(), weight)

    def fingerprint(self) -> str:
        """Return the digest of the contents."""
        digest = hashlib.sha256(repr((self.values.shape, str(self.dtype))).encode())
        for part in (*self._parts(), self.weight):
            if part is not None:
                digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"sparse matrix of {self.rows:,} rows in memory"

    def _parts(self) -> tuple[NDArray[Any], ...]:
        return self.values.data, self.values.indices, self.values.indptr


@dataclass(frozen=True)
class AnndataFileSource:
    """Rows of X of an AnnData file, which tasks open for themselves."""

    path: Path
    features: tuple[str, ...]
    rows: int
    dtype: np.dtype[Any]
    unit_rows: int

    @property
    def has_weight(self) -> bool:
        """None: AnnData has no place for them."""
        return False

    @property
    def held_nbytes(self) -> int:
        """None: tasks read what they need."""
        return 0

    def read(self, start: int, stop: int) -> Columns:
        """Open the file and read the rows."""
        try:
            with optional_module("h5py", "cytometry").File(self.path, "r") as file:
                part = _row_reader(file["X"])[start:stop]
                if hasattr(part, "toarray"):
                    check_csr(part)
                values = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
        except (MemoryError, MissingDependencyError):
            raise
        except PermissionError as error:
            raise StoreReadError(
                f"{self.path} may not be read ({error}); ask its owner for permission"
            ) from error
        except Exception as error:
            raise StoreReadError(
                f"rows {start:,} to {stop - 1:,} of X in {self.path} cannot be read "
                f"({type(error).__name__}: {error}); restore the file from a copy"
            ) from error
        return Columns(values)

    def fingerprint(self) -> str:
        """Return the digest of the size and time of the file."""
        found = self.path.stat()
        return hashlib.sha256(
            repr((self.rows, str(self.dtype), found.st_size, found.st_mtime_ns)).encode()
        ).hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"{self.path} ({self.rows:,} rows)"


def is_anndata(data: Any) -> bool:
    """Whether this is an AnnData object; the library is not imported to find out."""
    anndata = sys.modules.get("anndata")
    return anndata is not None and isinstance(data, anndata.AnnData)


def anndata_file_source(path: str) -> Source:
    """Describe X of a ``.h5ad`` file, in which every task then reads its own rows.

    Parameters
    ----------
    path : str

    Returns
    -------
    Source

    Raises
    ------
    FileFormatError
        When there is no such file, or it is damaged.
    DataError
        When X cannot be read by rows.
    """
    anndata = optional_module("anndata", "cytometry")
    with reading(Path(path), "AnnData"):
        data = anndata.read_h5ad(path, backed="r")
    try:
        return anndata_source(data)
    finally:
        data.file.close()


def anndata_store_source(url: str, group: Any) -> Source | None:
    """Describe X of AnnData in a Zarr store; None where the store is none.

    Parameters
    ----------
    url : str
    group : zarr.Group
        The opened store.

    Raises
    ------
    DataError
        When X is sparse.
    """
    if group.attrs.get("encoding-type") != "anndata":
        return None
    values = group.get("X")
    if values is None or not hasattr(values, "shape") or len(values.shape) != 2:
        raise DataError(
            f"X of {url} is no dense matrix, which tasks could read by rows; 'bigtensor import' "
            "makes a store of it"
        )
    names = optional_module("anndata.io", "cytometry").read_elem(
        group["var"][index_name(group["var"])]
    )
    return ZarrSource(
        url=url,
        variable="X",
        rows=int(values.shape[0]),
        features=tuple(unique_names([str(name) for name in names])),
        dtype=np.dtype(values.dtype),
        unit_rows=int(values.chunks[0]),
    )


def anndata_source(data: Any) -> Source:
    """Describe X of an AnnData object; features are named by ``var_names``.

    Parameters
    ----------
    data : AnnData
        X dense, sparse, lazy or backed by a file, in which every task then reads its own rows.

    Returns
    -------
    Source

    Raises
    ------
    DataError
        When there is no X, or it cannot be read by rows.
    """
    names = tuple(unique_names([str(name) for name in data.var_names]))
    if data.isbacked:
        return _file_source(data, names)
    matrix = data.X
    if matrix is None:
        raise DataError("the AnnData object has no X; put the values to fit there")
    if hasattr(matrix, "__dask_graph__"):
        return LazySource(matrix.map_blocks(_dense, dtype=matrix.dtype), names)
    if hasattr(matrix, "tocsr"):
        return SparseSource(matrix.tocsr(), names)
    return ArraySource(np.asarray(without_mask(matrix)), names)


def _file_source(data: Any, names: tuple[str, ...]) -> Source:
    """Describe X of an AnnData object that is backed by a file."""
    if data.is_view:
        raise DataError(
            "a part of an AnnData object that is backed by a file cannot be read by row blocks; "
            "give the whole object, or take the part into memory with .to_memory()"
        )
    path, stored = Path(data.filename).resolve(), data.file["X"]
    if stored.attrs.get("encoding-type") == "csc_matrix":
        raise DataError(
            f"X of {path} is sparse in columns (CSC), so that reading rows would load all of it; "
            "store it in rows: adata.X = adata.X.tocsr()"
        )
    values = stored["data"] if hasattr(stored, "keys") else stored
    chunks = getattr(stored, "chunks", None)
    return AnndataFileSource(
        path, names, int(data.n_obs), np.dtype(values.dtype), int(chunks[0]) if chunks else 1
    )


def _row_reader(stored: Any) -> Any:
    """Return something whose row slices are matrices."""
    if hasattr(stored, "keys"):
        return optional_module("anndata.io", "cytometry").sparse_dataset(stored)
    return stored


def _dense(part: Any) -> Any:
    """Return some rows of a lazy matrix as a dense array."""
    return part.toarray() if hasattr(part, "toarray") else part
