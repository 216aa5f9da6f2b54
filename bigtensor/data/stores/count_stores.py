"""Writer of sparse counts as AnnData in Zarr, block after block."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import numpy as np
import zarr
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from bigtensor.data.stores.outputs import finish_after, whole_store, write_errors
from bigtensor.data.stores.stored_arrays import create_array, create_root, open_to_write
from bigtensor.data.values.checked_casts import checked_cast

CHUNK = 2**20
"""Stored counts of a chunk, of which one that is not full is held in memory."""

_NAMES = 2**16
"""Texts of a chunk, such as names of rows."""

_TEXT = np.dtypes.StringDType()


class CountStoreWriter:
    """Store of sparse rows that AnnData and bigtensor read, and that appears when it is whole.

    Use it in a ``with`` statement. Memory is that of a block and of a chunk.

    Parameters
    ----------
    path : path or URL
        Store to make.
    words : sequence of str or int, optional
        Names of the columns, or the number of columns, which are then numbered. If they are not
        known yet, call `name_words` later.
    dtype : dtype, default int32
        Of the counts.
    overwrite : bool, default False
        Replace a store of this name.

    Raises
    ------
    OutputError
        When the target exists, or cannot be written.
    DataError
        When a number does not fit into the type of its array.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        words: Sequence[str] | int = (),
        *,
        dtype: DTypeLike = np.int32,
        overwrite: bool = False,
    ) -> None:
        self._target, self._overwrite = path, overwrite
        self._whole = ExitStack()
        self._words = words
        self._dtype = np.dtype(dtype)
        self._tables = dict[str, NDArray[Any]]()
        self._columns: Mapping[str, Sequence[str]] = {}
        self._names: _GrowingArray | None = None
        self._rows = self._width = 0

    def __enter__(self) -> Self:
        """Begin the store."""
        with ExitStack() as whole:
            unfinished = whole.enter_context(whole_store(self._target, overwrite=self._overwrite))
            with write_errors(self._target):
                self._create(unfinished)
            whole.enter_context(finish_after(self._finish))
            self._whole = whole.pop_all()
        return self

    def _create(self, address: str) -> None:
        """Create the groups and the empty arrays."""
        self._root = create_root(address, _encoded("anndata", "0.1.0"))
        for name in ("layers", "obsm", "obsp", "varm", "varp", "uns"):
            self._root.create_group(name, attributes=_encoded("dict", "0.1.0"))
        matrix = self._root.create_group("X")
        self._data = _GrowingArray(matrix, "data", self._dtype)
        self._indices = _GrowingArray(matrix, "indices", np.dtype(np.int32))
        self._pointers = _GrowingArray(matrix, "indptr", np.dtype(np.int64))
        self._pointers.append(np.zeros(1, np.int64))
        self._per_row = dict[str, _GrowingArray]()

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return self._rows

    def append(self, rows: csr_array, *, names: Sequence[str] = (), **along: NDArray[Any]) -> None:
        """Add rows.

        Parameters
        ----------
        rows : (n, V) CSR array
            Columns of a row ascend, and none repeats. There may be fewer columns than at the end.
        names : sequence of str
            Of all rows or of none, which then have numbers.
        **along : (n, ...) arrays
            Entries of ``obsm`` by name, the same ones in every call.
        """
        values = csr_array(rows)
        self._width = max(self._width, int(values.shape[1]))
        before = self._data.length
        with write_errors(self._target):
            self._data.append(values.data)
            self._indices.append(values.indices)
            self._pointers.append(values.indptr[1:].astype(np.int64) + before)
            for name, array in along.items():
                if name not in self._per_row:
                    group = self._root["obsm"]
                    assert isinstance(group, zarr.Group)
                    self._per_row[name] = _GrowingArray(group, name, array.dtype, array.shape[1:])
                self._per_row[name].append(array)
            if names:
                self._append_names(names)
        self._rows += int(values.shape[0])

    def _append_names(self, names: Sequence[str]) -> None:
        """Add names of rows."""
        if self._names is None:
            obs = _create_frame(self._root, "obs")
            self._names = _GrowingArray(obs, "_index", _TEXT, chunk=_NAMES)
        self._names.append(np.array(names, _TEXT))

    def name_words(
        self, words: Sequence[str] | int, columns: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Name all columns.

        Parameters
        ----------
        words : sequence of str or int
            Names of the columns, or the number of columns, which are then numbered.
        columns : mapping of str to sequence of str, optional
            Columns of ``var`` by name: one text for each column of the counts.
        """
        self._words, self._columns = words, columns or {}

    def add(self, name: str, array: NDArray[Any]) -> None:
        """Add an array such as ``varm/topic`` or ``uns/doc_concentration``.

        Parameters
        ----------
        name : str
            Path below the root.
        array : array
            Values, which are written when the store is finished.
        """
        self._tables[name] = np.asarray(array)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the store its name, or remove it after an error."""
        self._whole.__exit__(kind, error, traceback)

    def _finish(self) -> None:
        """Finish the store."""
        with write_errors(self._target):
            self._write_remaining()

    def _write_remaining(self) -> None:
        """Write what is left, the names, and the attributes that AnnData looks for."""
        for growing in (self._data, self._indices, self._pointers, *self._per_row.values()):
            growing.finish()
        words = self._words
        width = words if isinstance(words, int) else len(words)
        if self._width > width:
            raise ValueError(f"the counts have {self._width} columns, but there are {width} words")
        attributes = {**_encoded("csr_matrix", "0.1.0"), "shape": [self._rows, width]}
        self._root["X"].attrs.update(attributes)
        for name, array in self._tables.items():
            stored = _stored(self._root, name, array.shape, array.dtype)
            stored[...] = array
        if self._names is None:
            _write_texts(_create_frame(self._root, "obs"), "_index", self._rows)
        else:
            self._names.finish()
        var = _create_frame(self._root, "var", self._columns)
        _write_texts(var, "_index", words)
        for name, texts in self._columns.items():
            _write_texts(var, name, texts)


def _create_frame(root: zarr.Group, name: str, columns: Iterable[str] = ()) -> zarr.Group:
    """Create the group of a frame, which has no columns yet."""
    attributes = {**_encoded("dataframe", "0.2.0"), "_index": "_index", "column-order": [*columns]}
    return root.create_group(name, attributes=attributes)


def _write_texts(group: zarr.Group, name: str, texts: Sequence[str] | int) -> None:
    """Write texts, or as many numbers from 0, a part at a time."""
    length = texts if isinstance(texts, int) else len(texts)
    _stored(group, name, (length,), _TEXT, (min(length, _NAMES) or 1,))
    for start in range(0, length, _NAMES):
        stop = min(start + _NAMES, length)
        own = map(str, range(start, stop)) if isinstance(texts, int) else texts[start:stop]
        open_to_write(group, name)[start:stop] = np.array([*own], _TEXT)


class _GrowingArray:
    """Array that is written in whole chunks, as they fill."""

    def __init__(
        self,
        group: zarr.Group,
        name: str,
        dtype: DTypeLike,
        trailing: tuple[int, ...] = (),
        *,
        chunk: int | None = None,
    ) -> None:
        self._group, self._name = group, name
        self._chunk = chunk or max(1, CHUNK // max(1, int(np.prod(trailing))))
        self._array = _stored(group, name, (0, *trailing), dtype, (self._chunk, *trailing))
        self._waiting = list[NDArray[Any]]()
        self._waiting_rows = self._written = 0
        self._dtype = np.dtype(dtype)

    @property
    def length(self) -> int:
        """Entries so far."""
        return self._written + self._waiting_rows

    def append(self, values: NDArray[Any]) -> None:
        """Add values; chunks that are full are written."""
        owner = f"{self._name!r} of the store"
        self._waiting.append(checked_cast(values, self._dtype, owner))
        self._waiting_rows += len(values)
        if self._waiting_rows >= self._chunk:
            whole = np.concatenate(self._waiting)
            full = len(whole) // self._chunk * self._chunk
            self._write(whole[:full])
            self._waiting = [whole[full:].copy()]
            self._waiting_rows = len(whole) - full

    def finish(self) -> None:
        """Write the values that fill no chunk."""
        if self._waiting_rows:
            self._write(np.concatenate(self._waiting))
            self._waiting, self._waiting_rows = [], 0

    def _write(self, values: NDArray[Any]) -> None:
        start = self._written
        self._written += len(values)
        self._array.resize((self._written, *self._array.shape[1:]))
        open_to_write(self._group, self._name)[start : self._written] = values


def _stored(
    group: zarr.Group,
    name: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    chunks: tuple[int, ...] | None = None,
) -> zarr.Array[Any]:
    """Create an array with the attributes that AnnData looks for."""
    is_text = np.dtype(dtype).kind == "T"
    array = create_array(
        group,
        name,
        shape=shape,
        dtype=dtype,
        chunks=chunks or tuple(max(length, 1) for length in shape),
        fill_value=None if is_text else 0,
    )
    array.attrs.update(_encoded("string-array" if is_text else "array", "0.2.0"))
    return array


def _encoded(kind: str, version: str) -> dict[str, Any]:
    """Return the attributes of an element of AnnData."""
    return {"encoding-type": kind, "encoding-version": version}
