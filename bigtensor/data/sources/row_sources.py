"""Sources of rows: stores that tasks open, arrays in memory, lazy arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import zarr
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.addresses.copies_on_workers import contents_digest, require_same_contents
from bigtensor.data.addresses.read_errors import row_errors
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.stores.process_wide import ProcessWide
from bigtensor.data.stores.zarr_groups import new_opening, open_array, opened_anew_after_errors
from bigtensor.data.values.categories import FeatureCategories
from bigtensor.data.values.feature_roles import Role
from bigtensor.data.values.import_record import ImportRecord
from bigtensor.data.values.plain_arrays import without_mask
from bigtensor.errors import without_passwords

if TYPE_CHECKING:
    import pandas as pd

ZARR_CONCURRENCY = {"async.concurrency": 4, "threading.max_workers": 4}
"""Reads in flight and decoding threads of one task: tasks already run side by side."""

zarr_reading = ProcessWide(lambda: zarr.config.set(ZARR_CONCURRENCY))


NO_GROUP = -1
"""The code of rows without a group."""


@dataclass(frozen=True)
class Coding:
    """The code of every value that a variable of one source may have.

    Parameters
    ----------
    values : tuple
        Distinct values as they are stored: numbers in ascending order, or strings.
    codes : tuple of int
        One a value.
    """

    values: tuple[Any, ...]
    codes: tuple[int, ...]

    def __call__(self, stored: NDArray[Any]) -> NDArray[np.int32]:
        """Return the codes of values: ``(rows,)`` int32, -1 for values that are not listed."""
        if not self.values:
            return np.full(len(stored), NO_GROUP, np.int32)
        if stored.dtype.kind not in "iufb":
            table = dict(zip(self.values, self.codes, strict=True))
            row_codes = (table.get(value, NO_GROUP) for value in stored.tolist())
            return np.fromiter(row_codes, np.int32, len(stored))
        values = np.array(self.values)
        place = np.minimum(np.searchsorted(values, stored), len(values) - 1)
        codes = np.array(self.codes, np.int32)[place]
        codes[values[place] != stored] = NO_GROUP
        return codes


@dataclass(frozen=True)
class Columns:
    """Consecutive rows as they are stored: values with their optional row variables."""

    values: Any
    weight: FloatArray | None = None
    sequence: NDArray[Any] | None = None
    group: NDArray[Any] | None = None


ROW_VARIABLES = ("weight", "sequence", "group")
"""Optional fields of `Columns`, and of sources: one entry a row."""


class Source(Protocol):
    """Rows that a task opens and reads by row range."""

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
    def categories(self) -> FeatureCategories | None:
        """Names of the codes of every feature; None for other data, and codes without names."""

    @property
    def unit_rows(self) -> int:
        """Rows that are decoded together: ranges should start at a multiple of it."""

    @property
    def has_weight(self) -> bool:
        """True if the rows carry sample weights."""

    @property
    def held_nbytes(self) -> int:
        """Bytes that every process with a task holds, because the rows are in memory."""

    def read(self, start: int, stop: int) -> Columns:
        """Read the rows from ``start`` to ``stop``."""

    def read_sequence(self, start: int, stop: int) -> NDArray[Any] | None:
        """Read the sequence of the rows alone; None where reading it would compute a graph."""

    def read_weight(self, start: int, stop: int) -> NDArray[Any] | None:
        """Read the sample weights of the rows alone; None without weights."""

    def fingerprint(self) -> str:
        """Return a digest that changes when the rows change."""

    def describe(self) -> str:
        """Return the words that name the source in messages."""


class ArrayRows:
    """Size and type of rows that are one array."""

    values: Any
    weight: Any
    obs: Any

    def __getstate__(self) -> dict[str, Any]:
        """Leave out ``obs``, which a task does not need."""
        return {**self.__dict__, "obs": None}

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
    def has_weight(self) -> bool:
        """True if the rows carry sample weights."""
        return self.weight is not None


@dataclass(frozen=True, eq=False)
class ArraySource(ArrayRows):
    """Rows in memory."""

    values: NDArray[Any]
    features: tuple[str, ...]
    weight: FloatArray | None = None
    sequence: NDArray[Any] | None = None
    group: NDArray[Any] | None = None
    categories: FeatureCategories | None = None
    numbered: bool = False
    """True if the categories are the integers of values without names."""

    obs: Any = None
    """Table of the rows of an AnnData object, which holds groups and conditions."""

    index: pd.Index[Any] | None = None
    """Index of the rows of a pandas DataFrame."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index, which a task does not need."""
        return {**super().__getstate__(), "index": None}

    @property
    def unit_rows(self) -> int:
        """Any row can be read alone."""
        return 1

    @property
    def held_nbytes(self) -> int:
        """Bytes of the values and the row variables."""
        parts = (self.values, *row_variables(self))
        return sum(part.nbytes for part in parts if part is not None)

    def read(self, start: int, stop: int) -> Columns:
        """Return views of the rows."""
        rows = slice(start, stop)
        along = {name: _rows(getattr(self, name), rows) for name in ROW_VARIABLES}
        return Columns(self.values[rows], **along)

    def read_sequence(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return a view of the sequence of the rows."""
        return None if self.sequence is None else self.sequence[start:stop]

    def read_weight(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return a view of the sample weights of the rows."""
        return None if self.weight is None else self.weight[start:stop]

    def fingerprint(self) -> str:
        """Return the digest of the contents."""
        digest = hashlib.sha256()
        for array in (self.values, *row_variables(self)):
            if array is not None:
                digest.update(f"{array.dtype}{array.shape}".encode())
                for start in range(0, len(array), 65_536):
                    rows = without_mask(array[start : start + 65_536])
                    digest.update(np.ascontiguousarray(rows).tobytes())
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
    group: str | None = None
    coding: Coding | None = None
    """From the stored values of the group to its codes."""
    categories: FeatureCategories | None = None
    record: ImportRecord | None = None
    """Transform and compensation of the import; None without a record."""
    roles: tuple[Role, ...] | None = None
    """Role of every feature; None without roles."""
    matrix: str | None = None
    """Matrix of AnnData that the rows were imported from, such as ``obsm/X_pca``."""
    feature_dim: str | None = None
    """Name of the dimension of the features."""
    opening: str = field(default_factory=new_opening, compare=False, repr=False)
    """Token of the opening, by which a process keeps the arrays open."""
    contents: str | None = field(default=None, compare=False, repr=False)
    """Digest of the driver's files, which a worker's files must have."""

    @property
    def has_weight(self) -> bool:
        """True if the rows carry sample weights."""
        return self.weight is not None

    @property
    def held_nbytes(self) -> int:
        """Zero: tasks read their rows themselves."""
        return 0

    def read(self, start: int, stop: int) -> Columns:
        """Open the store and read the rows."""
        with self._reading(self.variable, start, stop):
            return Columns(
                self._values(start, stop),
                self._along_rows(self.weight, start, stop, np.float64),
                self._along_rows(self.sequence, start, stop, None),
                self._groups(start, stop),
            )

    def read_sequence(self, start: int, stop: int) -> NDArray[Any] | None:
        """Open the store and read the sequence of the rows."""
        with self._reading(self.sequence or "", start, stop):
            return self._along_rows(self.sequence, start, stop, None)

    def read_weight(self, start: int, stop: int) -> NDArray[Any] | None:
        """Open the store and read the sample weights of the rows."""
        with self._reading(self.weight or "", start, stop):
            return self._along_rows(self.weight, start, stop, np.float64)

    def _values(self, start: int, stop: int) -> NDArray[Any]:
        """Read the rows of the values; the store must still have all of them, and all features."""
        array = self._array(self.variable)
        values = np.asarray(array[:, start:stop] if self.transposed else array[start:stop])
        values = np.ascontiguousarray(values.T) if self.transposed else values
        if len(values) != stop - start:
            raise ValueError(f"the store has become shorter: {len(values)} rows are left of these")
        if values.shape[1:] != (len(self.features),):
            # the array's own metadata may differ from those of the group, which were read before
            raise ValueError(
                f"the rows have the shape {values.shape[1:]} in place of ({len(self.features)},)"
            )
        return values

    def _along_rows(
        self, name: str | None, start: int, stop: int, dtype: npt.DTypeLike | None
    ) -> NDArray[Any] | None:
        """Read the rows of an optional variable along the sample dimension."""
        return None if name is None else np.asarray(self._array(name)[start:stop], dtype)

    def _groups(self, start: int, stop: int) -> NDArray[Any] | None:
        """Read the rows of the groups and code them."""
        stored = self._along_rows(self.group, start, stop, None)
        return stored if stored is None or self.coding is None else self.coding(stored)

    def _array(self, name: str) -> zarr.Array[Any]:
        """Open a variable without its group, whose metadata take longer to read."""
        return open_array(self.url, name, self.opening)

    @contextmanager
    def _reading(self, name: str, start: int, stop: int) -> Iterator[None]:
        """Read rows, with errors that name them."""
        if self.contents is not None:
            require_same_contents(self.url, self._folders, self.contents)
        with row_errors(name, self.url, start, stop), opened_anew_after_errors(), zarr_reading:
            yield

    def fingerprint(self) -> str:
        """Return the digest of the metadata and of the size and time of every chunk on disk."""
        digest = hashlib.sha256(b"" if self.coding is None else repr(self.coding).encode())
        for entry in sorted(self._files()):
            digest.update(repr(entry).encode())
        return digest.hexdigest()

    def _files(self) -> Iterator[tuple[str, int, str]]:
        """List the chunks of all variables that are read."""
        for variable in self._folders:
            yield from StoreFiles(self.url).stamps(variable)

    @property
    def _folders(self) -> tuple[str, ...]:
        """Names of all variables that are read."""
        return tuple(filter(None, (self.variable, *row_variables(self))))

    def for_workers(self) -> ZarrSource:
        """Return the source with the digest of the files that workers must find."""
        return replace(self, contents=contents_digest(self.url, self._folders))

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        # a saved model holds these words
        return f"{without_passwords(self.url)} ({self.rows:,} rows)"


@dataclass(frozen=True, eq=False)
class LazySource(ArrayRows):
    """Rows of a lazy array that somebody else's graph computes, chunk by chunk.

    The engine computes a slice of ``values`` inside its own tasks and reads it as an
    `ArraySource`; nothing here knows which library holds the graph.
    """

    values: Any
    features: tuple[str, ...]
    weight: Any = None
    sequence: Any = None
    group: Any = None
    categories: FeatureCategories | None = None
    variables: Any = None
    """Variables along the samples of the Dataset that holds the values, as a Dataset."""
    obs: Any = None
    """Table of the rows of an AnnData object, which holds groups and conditions."""
    feature_dim: str | None = None
    """Name of the dimension of the features; None for arrays without names."""

    @property
    def unit_rows(self) -> int:
        """The longest chunk."""
        return int(max(self.values.chunks[0]))

    def parts(self, start: int, stop: int) -> tuple[Any, ...]:
        """Return the fields of `Columns` of some rows, lazily."""
        rows = slice(start, stop)
        return tuple(_rows(array, rows) for array in (self.values, *row_variables(self)))

    @property
    def held_nbytes(self) -> int:
        """Zero: tasks compute their rows themselves."""
        return 0

    def read(self, start: int, stop: int) -> Columns:
        """Compute the rows here and now."""
        return Columns(*(_computed(part) for part in self.parts(start, stop)))

    def read_sequence(self, start: int, stop: int) -> None:
        """Return None: a graph is computed in tasks, in whole chunks."""

    def read_weight(self, start: int, stop: int) -> NDArray[Any] | None:
        """Compute the sample weights of the rows, and nothing else of the graph."""
        return None if self.weight is None else _computed(self.weight[start:stop])

    def fingerprint(self) -> str:
        """Return the digest of the name of the graph's result and of the arrays in memory."""
        digest = hashlib.sha256(repr(self.values.shape).encode())
        for part in (self.values, *row_variables(self)):
            if isinstance(part, np.ndarray):
                digest.update(f"{part.dtype}{part.shape}".encode() + part.tobytes())
            else:
                digest.update(repr(getattr(part, "name", None)).encode())
        return digest.hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"lazy array of {self.rows:,} rows in {len(self.values.chunks[0])} chunks"


def row_variables(holder: Columns | Source) -> tuple[Any, ...]:
    """Return the row variables of columns or of a source, in the order of `ROW_VARIABLES`."""
    return tuple(getattr(holder, name) for name in ROW_VARIABLES)


def _computed(part: Any) -> Any:
    """Return an optional lazy array computed; NumPy would lose the mask of a masked array."""
    return part.compute() if hasattr(part, "compute") else part


def _rows(array: Any, rows: slice) -> Any:
    """Return the rows of an optional array."""
    return None if array is None else array[rows]
