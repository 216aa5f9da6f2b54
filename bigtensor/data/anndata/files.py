"""AnnData in a ``.h5ad`` file or a Zarr store, by path or URL: its matrices, read by rows."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from fsspec.implementations.local import LocalFileSystem
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import optional_module, reading
from bigtensor.data.addresses.object_stores import file_system
from bigtensor.data.addresses.store_files import StoreFiles, stamped
from bigtensor.data.anndata.columns import column_length, index_of, read_column
from bigtensor.data.anndata.hdf5_files import check_structure
from bigtensor.data.anndata.stored_elements import ColumnValues, StoredElement, StoredGroup
from bigtensor.data.stores.zarr_groups import open_array, open_group, opened_anew_after_errors
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, FileFormatError, Message, ParameterError, Setting

if TYPE_CHECKING:
    import h5py

Arrays = Callable[[str], Any]
"""Returns a stored array by its name below the root."""


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix of stored AnnData.

    Attributes
    ----------
    name : str
        Below the root: ``X``, ``layers/counts``, ``obsm/X_pca``.
    kind : {"dense", "csr", "frame"}
        Dense array, sparse rows, or data frame of numbers.
    rows : int
        Number of observations.
    dtype : dtype
        Type of the values.
    features : tuple of str
        Names of the columns.
    unit_rows : int
        Rows that are decoded together.
    stored : int
        Values that are stored, of a sparse matrix.
    entry_nbytes : int
        Bytes of a stored value with its column, of a sparse matrix.
    chunk_nbytes : int
        Bytes of one chunk of each array of a sparse matrix: chunks are decoded whole, and do not
        end where rows do.
    """

    name: str
    kind: Literal["dense", "csr", "frame"]
    rows: int
    dtype: np.dtype[Any]
    features: tuple[str, ...]
    unit_rows: int = 1
    stored: int = 0
    entry_nbytes: int = 0
    chunk_nbytes: int = 0

    def read(self, arrays: Arrays, start: int, stop: int) -> NDArray[Any]:
        """Read rows of a dense matrix or a data frame."""
        if self.kind == "frame":
            columns = [arrays(f"{self.name}/{name}")[start:stop] for name in self.features]
            values = np.stack(columns, axis=1).astype(self.dtype, copy=False)
        else:
            values = np.asarray(arrays(self.name)[start:stop])
        if len(values) != stop - start:
            raise ValueError(f"the file has become shorter: {len(values)} rows are left of these")
        return values


def element_name(layer: str | None, obsm: str | None) -> str:
    """Return the name of a matrix of AnnData below its root.

    Parameters
    ----------
    layer, obsm : str, optional
        Key of a layer, or of ``obsm``; X without either.

    Raises
    ------
    ParameterError
        When both are given.
    """
    if layer is not None and obsm is not None:
        raise ParameterError(
            Setting("layer", layer)
            + " and "
            + Setting("obsm", obsm)
            + " name two matrices; give one of them"
        )
    if layer is not None:
        return f"layers/{layer}"
    return "X" if obsm is None else f"obsm/{obsm}"


def element_keys(name: str) -> tuple[str | None, str | None]:
    """Return the layer and the key of ``obsm`` that a name stands for, None for the other.

    Parameters
    ----------
    name : str
        ``X``, ``layers/KEY`` or ``obsm/KEY``.
    """
    part, _, key = name.partition("/")
    return (key if part == "layers" else None), (key if part == "obsm" else None)


def is_h5ad(path: str) -> bool:
    """Return True for a path or URL of an AnnData file in HDF5, by its ending."""
    return path.lower().endswith(".h5ad")


@contextmanager
def open_anndata_root(path: str) -> Iterator[StoredGroup]:
    """Open the root group of AnnData of either kind.

    The context yields a `h5py.File` or a `zarr.Group`.

    Parameters
    ----------
    path : str
        Path or URL.
    """
    if not is_h5ad(path):
        yield open_group(path)
        return
    filesystem, root = file_system(path)
    if isinstance(filesystem, LocalFileSystem):
        check_structure(root)
    with _open_h5ad(path) as file:
        yield file


@contextmanager
def _open_h5ad(path: str) -> Iterator[h5py.File]:
    """Open an AnnData file in HDF5, by path or URL."""
    h5py = optional_module("h5py", "cytometry")
    filesystem, root = file_system(path)
    if isinstance(filesystem, LocalFileSystem):
        with h5py.File(root, "r") as file:
            yield file
        return
    with filesystem.open(root, "rb") as opened:
        # a file in memory has one position for all who open it
        source = io.BytesIO(opened.getvalue()) if isinstance(opened, io.BytesIO) else opened
        with h5py.File(source, "r") as file:
            yield file


@contextmanager
def open_arrays(path: str, opening: str) -> Iterator[Arrays]:
    """Open stored AnnData for a task, which knows the names of its arrays.

    The structure of a file has been checked where the data set was described. Arrays of a Zarr
    store stay open in the process, by the token of the opening.
    """
    if not is_h5ad(path):
        with opened_anew_after_errors():
            yield lambda name: open_array(path, name, opening)
        return
    with _open_h5ad(path) as file:
        yield file.__getitem__


def find_matrix(path: str, group: StoredGroup, name: str) -> StoredMatrix:
    """Describe a matrix of stored AnnData, of which no row is read.

    Parameters
    ----------
    path : str
        For messages.
    group : h5py.File or zarr.Group
        The root.
    name : str
        From `element_name`.

    Raises
    ------
    DataError
        When there is no such matrix, or it cannot be read by rows.
    FileFormatError
        When the file is damaged or no AnnData.
    """
    with reading(path, "AnnData"):
        check_frames(path, group)
        return _described(path, group, name)


def check_frames(path: str, group: StoredGroup) -> None:
    """Refuse a file without the two tables that all AnnData has."""
    absent = [name for name in ("obs", "var") if not hasattr(group.get(name), "keys")]
    if absent:
        raise FileFormatError(
            f"{path} is not AnnData of version 0.7 or later: it has no group "
            f"{' and '.join(absent)}. Read it with anndata and write it again"
        )


def keys_of(group: StoredGroup, part: str) -> list[str]:
    """Return the keys of ``layers``, ``obsm`` or another part, as they are sorted."""
    return sorted(group[part].keys()) if part in group else []


def _described(path: str, group: StoredGroup, name: str) -> StoredMatrix:
    """Return the description of a matrix."""
    part, _, key = name.partition("/")
    if key and key not in keys_of(group, part):
        raise unknown_key(path, part, key, keys_of(group, part))
    stored = group.get(name)
    if stored is None or encoding_of(stored) == "null":
        raise no_values(path, keys_of(group, "layers"), keys_of(group, "obsm"))
    rows = column_length(index_of(group["obs"]))
    if encoding_of(stored) == "dataframe":
        return _frame(path, stored, name, rows)
    shape = _shape(path, stored, name)
    width = shape[1] if part == "obsm" else column_length(index_of(group["var"]))
    if (rows, width) != shape:
        raise FileFormatError(
            f"{path}: {name} has {shape[0]} rows and {shape[1]} columns for {rows} obs_names and "
            f"{width} var_names; the file is damaged"
        )
    if part == "obsm":
        features = numbered(key, width)
    else:
        features = tuple(unique_names([str(entry) for entry in _var_names(group)]))
    if encoding_of(stored) == "csr_matrix":
        return _csr(path, stored, name, features, rows)
    unit_rows = int(stored.chunks[0]) if stored.chunks else 1
    return StoredMatrix(name, "dense", rows, np.dtype(stored.dtype), features, unit_rows)


def _csr(
    path: str, stored: StoredGroup, name: str, features: tuple[str, ...], rows: int
) -> StoredMatrix:
    """Describe a sparse matrix whose arrays fit together."""
    parts = ("data", "indices", "indptr")
    lengths = [int(stored[part].shape[0]) if part in stored else -1 for part in parts]
    if lengths[0] != lengths[1] or lengths[2] != rows + 1:
        raise FileFormatError(
            f"{path}: the arrays data, indices and indptr of {name} have "
            f"{', '.join(f'{length:,}' for length in lengths)} entries for {rows:,} rows; the file "
            "is damaged"
        )
    dtype, column = np.dtype(stored["data"].dtype), np.dtype(stored["indices"].dtype)
    entry_nbytes = dtype.itemsize + column.itemsize
    chunk_nbytes = sum(
        int(stored[part].chunks[0]) * stored[part].dtype.itemsize
        for part in parts
        if stored[part].chunks
    )
    return StoredMatrix(
        name,
        "csr",
        rows,
        dtype,
        features,
        stored=lengths[0],
        entry_nbytes=entry_nbytes,
        chunk_nbytes=chunk_nbytes,
    )


def element_stamps(path: str, name: str) -> list[tuple[str, int, str]]:
    """Return what tells the files that hold a matrix from later versions of them.

    Parameters
    ----------
    path : str
        Path or URL.
    name : str
        Of the matrix.

    Returns
    -------
    list of (name, size, time or version)
        One entry a file. A ``.h5ad`` file is one entry without a name.
    """
    if is_h5ad(path):
        filesystem, root = file_system(path)
        return [stamped("", filesystem.info(root))]
    return sorted(StoreFiles(path).stamps(name))


def encoding_of(stored: StoredElement) -> str:
    """Return the kind of a stored element: ``array``, ``csr_matrix``, ``dataframe`` and others."""
    return str(stored.attrs.get("encoding-type", "array"))


def _shape(path: str, stored: StoredElement, name: str) -> tuple[int, int]:
    """Return the shape of a matrix that can be read by rows."""
    kind = encoding_of(stored)
    if kind == "csc_matrix":
        part, _, key = name.partition("/")
        place = f"adata.{part}[{key!r}]" if key else "adata.X"
        raise DataError(
            f"{name} of {path} is sparse in columns (CSC), so that reading rows would load all of "
            f"it; store it in rows: {place} = {place}.tocsr()"
        )
    stored_shape = stored.attrs["shape"] if kind == "csr_matrix" else getattr(stored, "shape", ())
    shape: list[Any] = list(stored_shape)
    if len(shape) != 2:
        raise DataError(f"{name} of {path} ({kind}) is not a matrix that can be read by rows")
    return int(shape[0]), int(shape[1])


def _var_names(group: StoredGroup) -> ColumnValues:
    """Read the names of the variables."""
    return read_column(index_of(group["var"]))


def _frame(path: str, stored: StoredGroup, name: str, rows: int) -> StoredMatrix:
    """Describe a data frame of numbers."""
    columns = tuple(str(column) for column in stored.attrs["column-order"])
    for column in columns:
        values: Any = stored[column]
        if getattr(getattr(values, "dtype", None), "kind", "O") not in "fiub":
            raise DataError(f"{column!r} of {name} in {path} is no number; leave the column out")
        if values.shape != (rows,):
            raise FileFormatError(
                f"{path}: {column!r} of {name} has the shape {values.shape} for {rows} obs_names; "
                "the file is damaged"
            )
    dtype = np.result_type(*(stored[column].dtype for column in columns)) if columns else "f4"
    return StoredMatrix(name, "frame", rows, np.dtype(dtype), columns)


def numbered(key: str, width: int) -> tuple[str, ...]:
    """Return names of the columns of an array of ``obsm``: ``X_pca_0``, ``X_pca_1``, ..."""
    return tuple(f"{key}_{column}" for column in range(width))


def unknown_key(owner: str, part: str, key: str, keys: list[str]) -> DataError:
    """Describe a key that ``layers`` or ``obsm`` does not have."""
    there = f"there are {', '.join(keys)}" if keys else "there are none"
    return DataError(f"{part} of {owner} has no {key!r}; {there}")


def no_values(owner: str, layers: list[str], obsm: list[str]) -> DataError:
    """Describe AnnData without X, and what it has in place of it besides answers of models."""
    fitted_to = [key for key in obsm if not key.startswith("X_bigtensor")]
    instead = [Setting("layer", key) for key in layers] + [
        Setting("obsm", key) for key in fitted_to
    ]
    remedy = "open_samples and 'bigtensor import' take " + Message(" or ").join(instead)
    return DataError(f"{owner} has no X; " + (remedy if instead else "put the values to fit there"))


def local_or_url(path: str | os.PathLike[str]) -> str:
    """Return an address that holds in any working folder."""
    address = os.fspath(path)
    return address if "://" in address else str(Path(address).resolve())
