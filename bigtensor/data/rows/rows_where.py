"""Rows of a source that meet a condition, read as if there were no others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.addresses.read_errors import row_errors
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.rows.row_condition import RowCondition
from bigtensor.data.sources.row_sources import (
    ROW_VARIABLES,
    Columns,
    Source,
    ZarrSource,
    zarr_reading,
)
from bigtensor.data.stores.layout import chunk_rows
from bigtensor.data.stores.zarr_groups import new_opening, open_array, opened_anew_after_errors
from bigtensor.data.values.categories import FeatureCategories
from bigtensor.data.values.plain_arrays import without_mask
from bigtensor.errors import DataChangedError

WINDOW_ROWS = 16_384
"""Rows that are counted together, if no more are decoded together: a task that begins within them
reads them all."""

READ_NBYTES = 8 * 2**20
"""Bytes of the source that are read at once, to keep the rows that meet the condition."""


class ConditionVariable(Protocol):
    """A variable of the rows that a condition names."""

    @property
    def held_nbytes(self) -> int:
        """Bytes that every process with a task holds."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read the values of the rows from ``start`` to ``stop``."""

    def fingerprint(self) -> str:
        """Return a digest that changes when the values change."""


@dataclass(frozen=True)
class StoredVariable:
    """A variable of the rows in a Zarr group, which tasks open for themselves."""

    url: str
    name: str
    opening: str = field(default_factory=new_opening, compare=False, repr=False)

    @property
    def held_nbytes(self) -> int:
        """Zero: tasks read the values themselves."""
        return 0

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Open the store and read the values."""
        with row_errors(self.name, self.url, start, stop), opened_anew_after_errors(), zarr_reading:
            values = np.asarray(open_array(self.url, self.name, self.opening)[start:stop])
            if len(values) != stop - start:
                raise ValueError(f"the variable has become shorter: {len(values)} rows are left")
            return values

    def fingerprint(self) -> str:
        """Return the digest of the size and time of every chunk on disk."""
        return repr(sorted(StoreFiles(self.url).stamps(self.name)))


@dataclass(frozen=True, eq=False)
class HeldVariable:
    """A variable of the rows in memory: numbers, or codes of names."""

    values: NDArray[Any]

    @property
    def held_nbytes(self) -> int:
        """Bytes of the values."""
        return int(self.values.nbytes)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return a view of the values."""
        return self.values[start:stop]

    def fingerprint(self) -> str:
        """Return the digest of the values."""
        return hashlib.sha256(np.ascontiguousarray(self.values).tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class ConditionValues:
    """A condition with the features and the variables that it is evaluated on.

    Attributes
    ----------
    condition : RowCondition
        Condition on the rows of one source.
    features : mapping of str to int
        Columns of the features that the condition names.
    variables : mapping of str to ConditionVariable
        Variables of the rows that the condition names.
    """

    condition: RowCondition
    features: Mapping[str, int]
    variables: Mapping[str, ConditionVariable]

    def mask(self, source: Source, start: int, stop: int, values: Any = None) -> NDArray[np.bool_]:
        """Return True for the rows of a source that meet the condition.

        Parameters
        ----------
        source : Source
            All rows.
        start, stop : int
            Row range of the source.
        values : (rows, features) array, optional
            Values of these rows. They are read if the condition names a feature.
        """
        if self.features and values is None:
            values = source.read(start, stop).values
        columns = {
            name: np.asarray(without_mask(values[:, column]))
            for name, column in self.features.items()
        }
        columns |= {name: held.read(start, stop) for name, held in self.variables.items()}
        return self.condition.evaluate(columns)

    def fingerprint(self) -> str:
        """Return the words of the condition and the digests of the variables."""
        digests = [variable.fingerprint() for variable in self.variables.values()]
        return repr((self.condition.tree, *digests))


@dataclass(frozen=True, eq=False)
class RowsWhere:
    """Rows of a source that meet a condition.

    The kept rows are numbered as in a store that holds nothing else. One pass has counted them in
    every window of the source, so that a range of kept rows is read from the windows that hold it.

    Attributes
    ----------
    source : Source
        All rows.
    where : ConditionValues
        The condition.
    window_rows : int
        Rows of a window. The last one may be shorter.
    ends : (windows,) int64 array
        Number of kept rows up to the end of every window.
    gap : int, optional
        First row of the source that is left out between two kept rows of its sequence. None if
        the kept rows of all sequences follow each other.
    """

    source: Source
    where: ConditionValues
    window_rows: int
    ends: IntArray
    gap: int | None = None

    @property
    def rows(self) -> int:
        """Number of kept rows."""
        return int(self.ends[-1])

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in the order of the data."""
        return self.source.features

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.source.dtype

    @property
    def categories(self) -> FeatureCategories | None:
        """Names of the codes of every feature; None for other data, and codes without names."""
        return self.source.categories

    @property
    def unit_rows(self) -> int:
        """Rows of a chunk in a store of the kept rows: tasks and blocks are then the same."""
        if not isinstance(self.source, ZarrSource):
            return self.source.unit_rows
        return min(chunk_rows(len(self.features), self.dtype.itemsize), max(self.rows, 1))

    @property
    def has_weight(self) -> bool:
        """True if the rows carry sample weights."""
        return self.source.has_weight

    @property
    def held_nbytes(self) -> int:
        """Bytes of the source, of variables in memory, and of the counts."""
        variables = sum(variable.held_nbytes for variable in self.where.variables.values())
        return self.source.held_nbytes + variables

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of the source that are read at once."""
        return read_rows(self.source, self.window_rows) * _row_nbytes(self.source)

    def read(self, start: int, stop: int) -> Columns:
        """Read a range of the kept rows."""
        parts = [columns for _, _, columns in self.pieces(start, stop)]
        return _joined(parts) if parts else self.source.read(0, 0)

    def pieces(self, start: int, stop: int) -> Iterator[tuple[tuple[int, int], IntArray, Columns]]:
        """Read a range of the kept rows piece by piece.

        Parameters
        ----------
        start, stop : int
            Range of the kept rows.

        Yields
        ------
        rows : (start, stop)
            Row range of the source.
        kept : (rows,) int64 array
            Positions of the kept rows in this range.
        columns : Columns
            The kept rows.
        """
        for first, last, before in self._stretches(start, stop):
            columns = self.source.read(first, last)
            rows = self._kept(first, last, before, columns.values)
            rows = rows[max(start - before, 0) : stop - before]
            yield (first, last), rows, _taken(columns, rows)

    def read_sequence(self, start: int, stop: int) -> NDArray[Any] | None:
        """Read the sequence of a range of the kept rows."""
        return self._read_variable("sequence", start, stop)

    def read_weight(self, start: int, stop: int) -> NDArray[Any] | None:
        """Read the sample weights of a range of the kept rows."""
        return self._read_variable("weight", start, stop)

    def source_rows(self, start: int, stop: int) -> IntArray:
        """Return the rows of the source that a range of the kept rows are."""
        parts = [
            first + self._kept(first, last, before)[max(start - before, 0) : stop - before]
            for first, last, before in self._stretches(start, stop)
        ]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def kept_before(self, row: int) -> int:
        """Return the number of kept rows before a row of the source."""
        if row >= self.source.rows:
            return self.rows
        window = row // self.window_rows
        before = int(self.ends[window - 1]) if window else 0
        first = window * self.window_rows
        if first == row:
            return before
        return before + int(self.where.mask(self.source, first, row).sum())

    def cuts(self, start: int, stop: int, nbytes: int) -> list[int]:
        """Cut a range of the kept rows where windows end.

        Parameters
        ----------
        start, stop : int
            Range of the kept rows.
        nbytes : int
            Least bytes of the kept rows of a piece, but of the last one.
        """
        edges = [start]
        step = max(1, nbytes // _row_nbytes(self.source))
        while edges[-1] < stop:
            window = int(np.searchsorted(self.ends, edges[-1] + step))
            edges.append(min(stop, int(self.ends[min(window, len(self.ends) - 1)])))
        return edges

    def fingerprint(self) -> str:
        """Return a digest that changes when the rows or the condition change."""
        words = self.source.fingerprint() + self.where.fingerprint()
        return hashlib.sha256(words.encode()).hexdigest()

    def describe(self) -> str:
        """Return the words that name the source in messages."""
        return f"{self.rows:,} rows where {self.where.condition.text} of {self.source.describe()}"

    def _read_variable(self, name: str, start: int, stop: int) -> NDArray[Any] | None:
        """Read a row variable of a range of the kept rows."""
        read = self.source.read_weight if name == "weight" else self.source.read_sequence
        parts = []
        for first, last, before in self._stretches(start, stop):
            entries = read(first, last)
            if entries is None:
                return None
            rows = self._kept(first, last, before)
            parts.append(entries[rows[max(start - before, 0) : stop - before]])
        return np.concatenate(parts) if parts else read(0, 0)

    def _stretches(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield the row ranges of the source that hold kept rows, and the kept rows before each."""
        if start >= stop:
            return
        window, last = (
            int(np.searchsorted(self.ends, start, side="right")),
            int(np.searchsorted(self.ends, stop)),
        )
        step = read_rows(self.source, self.window_rows) // self.window_rows
        while window <= last:
            following = min(window + step, last + 1)
            before = int(self.ends[window - 1]) if window else 0
            if self.ends[following - 1] > before:
                first = window * self.window_rows
                yield first, min(following * self.window_rows, self.source.rows), before
            window = following

    def _kept(self, first: int, last: int, before: int, values: Any = None) -> IntArray:
        """Return the positions of the kept rows in whole windows of the source."""
        kept = np.flatnonzero(self.where.mask(self.source, first, last, values))
        if len(kept) != self.ends[-(-last // self.window_rows) - 1] - before:
            raise DataChangedError(
                f"{self.source.describe()} changed while it was read: other rows than before meet "
                f"the condition {self.where.condition.text!r}; repeat the call or the command when "
                "nothing writes to the store"
            )
        return kept.astype(np.int64, copy=False)


def all_rows(source: Source) -> Source:
    """Return the source without a condition."""
    return source.source if isinstance(source, RowsWhere) else source


def with_all_rows(source: Source, changed: Source) -> Source:
    """Return the kept rows of a source after a change of the source beneath the condition."""
    return replace(source, source=changed) if isinstance(source, RowsWhere) else changed


def window_rows(source: Source) -> int:
    """Return the rows of a window of a source: whole units, of about `WINDOW_ROWS` rows."""
    unit = source.unit_rows
    return max(1, WINDOW_ROWS // unit) * unit


def read_rows(source: Source, window: int) -> int:
    """Return the rows of whole windows that are read at once."""
    return max(1, READ_NBYTES // (_row_nbytes(source) * window)) * window


def _row_nbytes(source: Source) -> int:
    """Return the bytes of the values of one row."""
    return max(1, len(source.features) * source.dtype.itemsize)


def _taken(columns: Columns, rows: IntArray) -> Columns:
    """Return some rows of columns."""
    if len(rows) == len(columns.values):
        return columns
    along = {name: getattr(columns, name) for name in ROW_VARIABLES}
    return Columns(
        columns.values[rows],
        **{name: None if part is None else part[rows] for name, part in along.items()},
    )


def _joined(parts: Sequence[Columns]) -> Columns:
    """Return rows one after the other."""
    if len(parts) == 1:
        return parts[0]

    def along(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        if arrays[0] is None:
            return None
        # NumPy's own function would drop a mask
        masked = any(isinstance(array, np.ma.MaskedArray) for array in arrays)
        concatenate: Any = np.ma.concatenate if masked else np.concatenate
        return concatenate(arrays)

    return Columns(along("values"), *map(along, ROW_VARIABLES))
