"""Sparse rows in CSR: in memory, or in AnnData's files, where tasks read them in place."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.anndata.files import Arrays
from bigtensor.data.sources.row_sources import ROW_VARIABLES, ArrayRows, Columns, row_variables
from bigtensor.data.sources.stored_rows import StoredRows
from bigtensor.data.values.sparse_matrices import (
    ScipyMatrix,
    check_csr,
    checked_csr,
    with_summed_duplicates,
)
from bigtensor.errors import DataError

POINTER_NBYTES = 8
"""Bytes of a row beside its stored values: an empty row is not free."""

_POINTERS = 2**20
"""Row pointers that are looked at together."""


class CsrRows(ABC):
    """Sizes of sparse rows, in memory or in files.

    Attributes
    ----------
    dense : bool
        Rows are read as dense arrays, for models that take no sparse ones.
    may_be_dense : bool
        Such models read the rows as dense arrays, as those of AnnData, rather than refuse them.
    """

    dense: bool
    may_be_dense: bool
    categories: None = None

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def stored(self) -> int:
        """Number of stored values of all rows."""

    @property
    @abstractmethod
    def entry_nbytes(self) -> int:
        """Bytes of a stored value with its column."""

    @property
    def unit_rows(self) -> int:
        """Any row can be read alone."""
        return 1

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of one chunk of each stored array; zero for arrays in memory."""
        return 0

    @property
    def row_nbytes(self) -> int:
        """Mean bytes of a row."""
        return -(-self.stored * self.entry_nbytes // max(self.rows, 1)) + POINTER_NBYTES

    @abstractmethod
    def pointers(self, start: int, stop: int) -> IntArray:
        """Return the position of the first stored value of rows; row ``rows`` is the end."""

    def cuts(self, start: int, stop: int, nbytes: int) -> list[int]:
        """Cut rows into pieces of at most so many bytes, or of one row that has more.

        Row pointers are read once, a million at a time.

        Returns
        -------
        list of int
            The first row of every piece, and ``stop``.
        """
        edges = [start]
        before = at_edge = self._nbytes_before(start, start + 1)[0]
        for first in range(start, stop, _POINTERS):
            after = self._nbytes_before(first + 1, min(first + _POINTERS, stop) + 1)
            while True:
                fitting = int(np.searchsorted(after, at_edge + nbytes, side="right"))
                cut = max(first + fitting, edges[-1] + 1)
                if fitting == len(after) or cut >= stop:
                    break
                at_edge = after[cut - first - 1] if cut > first else before
                edges.append(cut)
            before = after[-1]
        return [*edges, stop]

    def _nbytes_before(self, start: int, stop: int) -> IntArray:
        """Return the bytes of all rows before each of some rows."""
        rows = np.arange(start, stop, dtype=np.int64)
        return self.pointers(start, stop) * self.entry_nbytes + rows * POINTER_NBYTES


@dataclass(frozen=True, eq=False)
class CsrSource(ArrayRows, CsrRows):
    """Sparse rows in memory."""

    values: Any
    features: tuple[str, ...]
    weight: FloatArray | None = None
    sequence: NDArray[Any] | None = None
    group: NDArray[Any] | None = None
    dense: bool = False
    may_be_dense: bool = False
    obs: Any = None
    """Table of the rows of an AnnData object, which holds groups and conditions."""

    @classmethod
    def from_scipy(cls, matrix: ScipyMatrix, features: tuple[str, ...]) -> CsrSource:
        """Describe a SciPy matrix of any format, whose repeated entries are added up.

        Raises
        ------
        DataError
            When parts of the matrix contradict each other.
        """
        try:
            values = checked_csr(matrix)
        except ValueError as error:
            raise DataError(
                f"the sparse matrix of shape {matrix.shape} is damaged ({error}); build it again, "
                "for example by scipy.sparse.csr_array((values, (rows, columns)), shape)"
            ) from error
        return cls(values, features)

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return int(self.values.indptr[-1])

    @property
    def entry_nbytes(self) -> int:
        """Bytes of a stored value with its column."""
        return int(self.values.data.itemsize + self.values.indices.itemsize)

    @property
    def held_nbytes(self) -> int:
        """Bytes of the stored arrays and of the row variables."""
        parts = (*self._parts(), *row_variables(self))
        return sum(part.nbytes for part in parts if part is not None)

    def pointers(self, start: int, stop: int) -> IntArray:
        """Return the position of the first stored value of rows."""
        return np.asarray(self.values.indptr[start:stop], np.int64)

    def read(self, start: int, stop: int) -> Columns:
        """Return the rows."""
        values = self.values[start:stop]
        along = (None if part is None else part[start:stop] for part in row_variables(self))
        return Columns(values.toarray() if self.dense else values, *along)

    def read_sequence(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the sequence of the rows."""
        return None if self.sequence is None else self.sequence[start:stop]

    def read_weight(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the sample weights of the rows."""
        return None if self.weight is None else self.weight[start:stop]

    def fingerprint(self) -> str:
        """Return the digest of the contents."""
        digest = hashlib.sha256(repr((self.values.shape, str(self.dtype))).encode())
        names = ("data", "indices", "indptr", *ROW_VARIABLES)
        for name, part in zip(names, (*self._parts(), *row_variables(self)), strict=True):
            if part is not None:
                digest.update(name.encode() + np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"sparse matrix of {self.rows:,} rows in memory"

    def _parts(self) -> tuple[NDArray[Any], ...]:
        return self.values.data, self.values.indices, self.values.indptr


@dataclass(frozen=True, eq=False)
class StoredCsrSource(StoredRows, CsrRows):
    """Sparse rows of stored AnnData, which tasks open for themselves."""

    dense: bool = False
    may_be_dense: bool = True

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return self.matrix.stored

    @property
    def entry_nbytes(self) -> int:
        """Bytes of a stored value with its column."""
        return self.matrix.entry_nbytes

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of one chunk of each stored array."""
        return self.matrix.chunk_nbytes

    def pointers(self, start: int, stop: int) -> IntArray:
        """Read the position of the first stored value of rows."""
        with self.opened("/indptr", start, stop) as arrays:
            return self._pointers(arrays, start, stop)

    def read(self, start: int, stop: int) -> Columns:
        """Open the file or store and read the stored values of the rows."""
        with self.opened("/data", start, stop) as arrays:
            pointers = self._pointers(arrays, start, stop + 1)
            stored = slice(int(pointers[0]), int(pointers[-1]))
            data, columns = (
                np.asarray(arrays(f"{self.matrix.name}/{part}")[stored])
                for part in ("data", "indices")
            )
            shape = (stop - start, len(self.features))
            values = csr_array((data, columns, pointers - pointers[0]), shape=shape)
            check_csr(values)
            values = with_summed_duplicates(values)
        return self.columns(values.toarray() if self.dense else values, start, stop)

    def _pointers(self, arrays: Arrays, start: int, stop: int) -> IntArray:
        """Read pointers, and refuse pointers outside of the stored values."""
        entries = arrays(f"{self.matrix.name}/indptr")[start:stop]
        pointers = np.asarray(entries).astype(np.int64)
        ascending = len(pointers) == stop - start and not np.any(np.diff(pointers) < 0)
        if not ascending or pointers[0] < 0 or pointers[-1] > self.stored:
            raise ValueError(
                f"indptr is no ascending list of {self.rows + 1:,} places from 0 to {self.stored:,}"
            )
        return pointers


def is_sparse(source: object) -> TypeGuard[CsrSource | StoredCsrSource]:
    """Return True for a source whose blocks are CSR arrays."""
    return isinstance(source, CsrRows) and not source.dense
