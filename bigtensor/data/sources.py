"""Where rows come from: stores that a task opens itself, arrays in memory, lazy arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

from bigtensor.data.coding import Coding
from bigtensor.data.process_wide import ProcessWide
from bigtensor.data.repeated_reads import is_transient
from bigtensor.data.store_files import StoreFiles
from bigtensor.data.stores import open_array
from bigtensor.errors import StoreReadError

ZARR_CONCURRENCY = {"async.concurrency": 4, "threading.max_workers": 4}
"""Reads in flight and decoding threads of one task: tasks already run side by side."""

_reading = ProcessWide(lambda: zarr.config.set(ZARR_CONCURRENCY))

_STAMPS = ("mtime", "ETag", "etag", "LastModified", "last_modified", "updated", "created")
"""What file systems call the time or the version of a file."""


@dataclass(frozen=True)
class Columns:
    """Consecutive rows as they are stored: values with their optional weight and sequence."""

    values: Any
    weight: NDArray[np.float64] | None = None
    sequence: NDArray[Any] | None = None


class Source(Protocol):
    """Rows with an address: what a task opens and reads by row range."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in the order of the data."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    @property
    def unit_rows(self) -> int:
        """Rows that are decoded together: ranges should start at a multiple of it."""

    @property
    def has_weight(self) -> bool:
        """Whether the rows carry sample weights."""

    @property
    def held_nbytes(self) -> int:
        """Bytes that every process with a task holds, because the rows are in memory."""

    def read(self, start: int, stop: int) -> Columns:
        """Read the rows from ``start`` to ``stop``."""

    def fingerprint(self) -> str:
        """Return a digest that changes when the rows change."""

    def describe(self) -> str:
        """Return the words that name the source in messages."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Rows in memory."""

    values: NDArray[Any]
    features: tuple[str, ...]
    weight: NDArray[np.float64] | None = None
    sequence: NDArray[Any] | None = None

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
        """Bytes of the values and the weights."""
        return sum(part.nbytes for part in (self.values, self.weight) if part is not None)

    def read(self, start: int, stop: int) -> Columns:
        """Return views of the rows."""
        rows = slice(start, stop)
        return Columns(self.values[rows], _rows(self.weight, rows), _rows(self.sequence, rows))

    def fingerprint(self) -> str:
        """Return the digest of the contents."""
        digest = hashlib.sha256()
        for array in (self.values, self.weight, self.sequence):
            if array is not None:
                digest.update(f"{array.dtype}{array.shape}".encode())
                for start in range(0, len(array), 65_536):
                    digest.update(np.ascontiguousarray(array[start : start + 65_536]).tobytes())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"array of {self.rows:,} rows in memory"


@dataclass(frozen=True)
class ZarrSource:
    """Rows of a variable of a Zarr group, given by address: tasks open it for themselves."""

    url: str
    variable: str
    rows: int
    features: tuple[str, ...]
    dtype: np.dtype[Any]
    unit_rows: int
    transposed: bool = False
    weight: str | None = None
    sequence: str | None = None
    coding: Coding | None = None
    untransformed: tuple[str, ...] | None = None
    """Features off the scale that an import put all others on; None without such a scale."""

    @property
    def has_weight(self) -> bool:
        """Whether the rows carry sample weights."""
        return self.weight is not None

    @property
    def held_nbytes(self) -> int:
        """None: tasks read what they need."""
        return 0

    def read(self, start: int, stop: int) -> Columns:
        """Open the store and read the rows."""
        try:
            with _reading:
                values = self._values(start, stop)
                weight = self._along_rows(self.weight, start, stop, np.float64)
                sequence = self._along_rows(self.sequence, start, stop, None)
                if sequence is not None and self.coding is not None:
                    sequence = self.coding(sequence)
                return Columns(values, weight, sequence)
        except MemoryError:
            raise
        except PermissionError as error:
            raise StoreReadError(
                f"rows {start:,} to {stop - 1:,} of {self.variable!r} in {self.url} may not be "
                f"read ({error}); ask the owner of the store for permission"
            ) from error
        except Exception as error:
            remedy = (
                "the disk or the network failed: check it and run the same command again"
                if is_transient(error)
                else "a chunk or shard is missing, truncated or corrupted: restore the file from "
                "a copy or import the data again"
            )
            raise StoreReadError(
                f"rows {start:,} to {stop - 1:,} of {self.variable!r} in {self.url} cannot be "
                f"read ({type(error).__name__}: {error}); {remedy}"
            ) from error

    def _values(self, start: int, stop: int) -> NDArray[Any]:
        """Read the rows of the values; the store must still have all of them."""
        array = self._array(self.variable)
        values = np.asarray(array[:, start:stop] if self.transposed else array[start:stop])
        values = np.ascontiguousarray(values.T) if self.transposed else values
        if len(values) != stop - start:
            raise ValueError(f"the store has become shorter: {len(values)} rows are left of these")
        return values

    def _along_rows(
        self, name: str | None, start: int, stop: int, dtype: Any
    ) -> NDArray[Any] | None:
        """Read the rows of an optional variable along the sample dimension."""
        return None if name is None else np.asarray(self._array(name)[start:stop], dtype)

    def _array(self, name: str) -> Any:
        """Open a variable without its group, whose metadata take longer to read."""
        return open_array(self.url, name)

    def fingerprint(self) -> str:
        """Return the digest of the metadata and of the size and time of every chunk on disk."""
        digest = hashlib.sha256(b"" if self.coding is None else repr(self.coding).encode())
        for entry in sorted(self._files()):
            digest.update(repr(entry).encode())
        return digest.hexdigest()

    def _files(self) -> Iterator[tuple[str, int, str]]:
        """List the chunks of all variables that are read."""
        for variable in filter(None, (self.variable, self.weight, self.sequence)):
            for name, info in StoreFiles(self.url).infos(variable):
                stamps = [info[key] for key in _STAMPS if info.get(key)]
                yield f"{variable}/{name}", int(info["size"]), repr(stamps[:1])

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"{self.url} ({self.rows:,} rows)"


@dataclass(frozen=True, eq=False)
class XarraySource:
    """Rows of a two-dimensional DataArray that is not backed by a graph."""

    array: xr.DataArray
    sample_dim: str
    features: tuple[str, ...]
    weight: xr.DataArray | None = None
    sequence: xr.DataArray | None = None
    store: str | None = None
    """Address of the file or store that xarray reads the rows from."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.array.sizes[self.sample_dim])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        dtype: np.dtype[Any] = np.dtype(self.array.dtype)
        return dtype

    @property
    def unit_rows(self) -> int:
        """Rows that the backend prefers to read together."""
        chunks = self.array.encoding.get("preferred_chunks", {})
        return int(chunks.get(self.sample_dim, 1))

    @property
    def has_weight(self) -> bool:
        """Whether the rows carry sample weights."""
        return self.weight is not None

    @property
    def held_nbytes(self) -> int:
        """Bytes of the values, unless a backend reads them when they are needed."""
        return 0 if "preferred_chunks" in self.array.encoding else int(self.array.nbytes)

    def read(self, start: int, stop: int) -> Columns:
        """Load the rows."""
        rows = {self.sample_dim: slice(start, stop)}

        def load(array: xr.DataArray | None) -> NDArray[Any] | None:
            return None if array is None else array.isel(rows).to_numpy()

        try:
            values = self.array.isel(rows).transpose(self.sample_dim, ...).to_numpy()
            return Columns(values, load(self.weight), load(self.sequence))
        except MemoryError:
            raise
        except Exception as error:
            # the backend of xarray reads now, and raises what its libraries raise
            raise StoreReadError(
                f"rows {start:,} to {stop - 1:,} of {self.store or self.describe()} cannot be read "
                f"({type(error).__name__}: {error}); restore the store from a copy or write it "
                "again"
            ) from error

    def fingerprint(self) -> str:
        """Return the digest of the contents."""
        digest = hashlib.sha256()
        step = 65_536
        for start in range(0, self.rows, step):
            columns = self.read(start, min(start + step, self.rows))
            for part in (columns.values, columns.weight, columns.sequence):
                if part is not None:
                    digest.update(f"{part.dtype}{part.shape}".encode())
                    digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"DataArray {self.array.name or ''} of {self.rows:,} rows".replace("  ", " ")


@dataclass(frozen=True, eq=False)
class LazySource:
    """Rows of a lazy array that somebody else's graph computes, chunk by chunk.

    The engine computes a slice of ``values`` inside its own tasks and reads it as an
    `ArraySource`; nothing here knows which library holds the graph.
    """

    values: Any
    features: tuple[str, ...]
    weight: Any = None
    sequence: Any = None

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
        """The longest chunk."""
        return int(max(self.values.chunks[0]))

    def parts(self, start: int, stop: int) -> tuple[Any, Any, Any]:
        """Return the lazy values, weight and sequence of some rows."""
        rows = slice(start, stop)
        return self.values[rows], _rows(self.weight, rows), _rows(self.sequence, rows)

    @property
    def has_weight(self) -> bool:
        """Whether the rows carry sample weights."""
        return self.weight is not None

    @property
    def held_nbytes(self) -> int:
        """None: tasks compute what they need."""
        return 0

    def read(self, start: int, stop: int) -> Columns:
        """Compute the rows here and now."""
        return Columns(*(_computed(part) for part in self.parts(start, stop)))

    def fingerprint(self) -> str:
        """Return the digest of the name of the graph's result, and of what is in memory."""
        digest = hashlib.sha256(repr(self.values.shape).encode())
        for part in (self.values, self.weight, self.sequence):
            if isinstance(part, np.ndarray):
                digest.update(f"{part.dtype}{part.shape}".encode() + part.tobytes())
            else:
                digest.update(repr(getattr(part, "name", None)).encode())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"lazy array of {self.rows:,} rows in {len(self.values.chunks[0])} chunks"


def _computed(part: Any) -> Any:
    """Return an optional lazy array computed; NumPy would lose the mask of a masked array."""
    return part.compute() if hasattr(part, "compute") else part


def _rows(array: Any, rows: slice) -> Any:
    """Return the rows of an optional array."""
    return None if array is None else array[rows]
