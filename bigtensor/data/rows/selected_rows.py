"""Samples of the rows that meet a condition, after one pass that counts them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.addresses.repeated_reads import ReadTally, read_repeatedly
from bigtensor.data.rows.condition_syntax import parse_condition, variables_in
from bigtensor.data.rows.row_condition import (
    ConditionColumn,
    RowCondition,
    column_of,
    condition_on,
)
from bigtensor.data.rows.row_shares import RowShares
from bigtensor.data.rows.row_variables import named_variable, row_variable_names
from bigtensor.data.rows.rows_where import (
    ConditionValues,
    ConditionVariable,
    HeldVariable,
    RowsWhere,
    StoredVariable,
    read_rows,
    window_rows,
)
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.csr_source import is_sparse
from bigtensor.data.sources.row_sources import LazySource, Source, ZarrSource
from bigtensor.data.stores.layout import SAMPLES
from bigtensor.data.stores.zarr_groups import open_group
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.errors import DataError, Setting

MOST_SAMPLES = 10_000
"""A variable with more values tells no samples apart."""

MOST_THREADS = 4
"""Threads that count rows: decoding takes most of the time, and a disk serves few at once."""


def select_rows(
    samples: Samples,
    parts: Sequence[object],
    text: str | None,
    sample_dim: str,
    *,
    flags: Mapping[str, ConditionVariable] | None = None,
    progress: RowProgress | None = None,
) -> Samples:
    """Return samples of the rows that meet a condition.

    All rows are read once to count those that are kept, or only the variables of the rows if the
    condition names no feature.

    Parameters
    ----------
    samples : Samples
        All rows, with their weights, sequences and groups.
    parts : sequence
        What every source was described from.
    text : str, optional
        The condition; see `bigtensor.data.rows.condition_syntax`. Names are features, also those in
        no view, or variables along the samples. A feature comes before a variable of its name.
    sample_dim : str
        Name of the sample dimension.
    flags : mapping of str to ConditionVariable, optional
        Variables of true and false that have to be true besides, in the words of a message. The
        samples have one source.
    progress : callable, optional
        Called with the rows that were counted and all rows.

    Raises
    ------
    ConditionError
        When the condition cannot be read, or names what the data do not have.
    DataError
        When no row meets it, or the data are lazy, sparse, or selected already.
    """
    for source in samples.sources:
        _check_source(source)
    flags = flags or {}
    named = set() if text is None else {use.name for use in variables_in(parse_condition(text))}
    columns, variables = [], []
    for source, part in zip(samples.sources, parts, strict=True):
        names = row_variable_names(source, part, sample_dim)
        beside = {
            name: named_variable(source, part, name, sample_dim, "")
            for name in names
            if name in named | {SAMPLES}
        }
        variables.append(beside)
        of_flags = dict.fromkeys(flags, ConditionColumn("flags"))
        columns.append({**_columns(source, beside, names), **of_flags})
    conditions = condition_on(text, columns, tuple(flags))
    sources, shares, done = list[Source](), RowShares(conditions[0].text), 0
    for source, beside, condition in zip(samples.sources, variables, conditions, strict=True):
        where = _values_of(source, beside, condition, flags)
        advance = None if progress is None else _after(progress, done, samples.rows)
        counted = _Count(source, where, _samples_of(source, beside)).run(advance)
        done += source.rows
        sources.append(counted.selected())
        shares = shares.plus(counted.shares)
    if not shares.kept:
        raise DataError(
            f"no row of {samples.describe()} meets the condition {shares.condition!r}; see the "
            "values with 'bigtensor info', and change the condition"
        )
    return replace(samples, sources=tuple(sources), shares=shares)


def _check_source(source: Source) -> None:
    """Refuse rows that are computed elsewhere, sparse, or selected already."""
    if isinstance(source, LazySource):
        raise DataError(
            f"{source.describe()} cannot be searched by "
            + Setting("where")
            + ", because each pass would compute all rows anew; select the rows of the lazy array "
            "itself and call .compute_chunk_sizes(), or store it and give the store"
        )
    if is_sparse(source):
        raise DataError(
            f"the rows of {source.describe()} are sparse, which "
            + Setting("where")
            + " does not take; select the rows of the matrix or of AnnData before"
        )
    if isinstance(source, RowsWhere):
        raise DataError(
            f"{source.describe()} are selected already; join the conditions by 'and' in one "
            + Setting("where")
        )


def _columns(
    source: Source, beside: Mapping[str, xr.DataArray], others: Sequence[str]
) -> dict[str, ConditionColumn]:
    """Return what a condition can name, features before variables of their names.

    Variables that are not read are columns without a kind, for messages alone.
    """
    columns = dict[str, ConditionColumn]()
    for place, name in enumerate(source.features):
        names = None if source.categories is None else source.categories[place]
        columns[name] = column_of(source.dtype, names)
    for name, variable in beside.items():
        kind = column_of(variable.dtype, variable.attrs.get("categories"))
        columns.setdefault(name, kind)
    for name in others:
        columns.setdefault(name, ConditionColumn("others"))
    return columns


def _values_of(
    source: Source,
    beside: Mapping[str, xr.DataArray],
    condition: RowCondition,
    flags: Mapping[str, ConditionVariable],
) -> ConditionValues:
    """Return a condition with the features and the variables that it is evaluated on."""
    features = {
        name: source.features.index(name) for name in condition.columns if name in source.features
    }
    readable = {
        name: _readable(source, beside[name], condition.columns[name])
        for name in condition.columns
        if name not in features and name not in flags
    }
    variables = {name: variable for name, (variable, _) in readable.items()}
    kinds = {**condition.columns, **{name: kind for name, (_, kind) in readable.items()}}
    return ConditionValues(replace(condition, columns=kinds), features, {**variables, **flags})


def _readable(
    source: Source, variable: xr.DataArray, column: ConditionColumn
) -> tuple[ConditionVariable, ConditionColumn]:
    """Return a variable as tasks read it, and the kind of what they read."""
    if isinstance(source, ZarrSource) and variable.name is not None:
        stored: Any = open_group(source.url).get(str(variable.name))
        scaled = {"scale_factor", "add_offset", "missing_value"} & {*variable.encoding}
        same = stored is not None and stored.dtype.kind == variable.dtype.kind
        if not scaled and (same or column.kind == "names"):
            return StoredVariable(source.url, str(variable.name)), column
    values = read_variable(variable, f"{str(variable.name or '')!r} of {source.describe()}")
    if values.dtype.kind in "iufb":
        return HeldVariable(np.asarray(values)), column
    codes, names = pd.factorize(np.asarray(values, object))
    return HeldVariable(codes.astype(np.int32)), ConditionColumn("names", tuple(map(str, names)))


@dataclass(frozen=True)
class _SampleCodes:
    """The sample of every row: a variable of codes, and their names."""

    variable: ConditionVariable
    names: tuple[str, ...]


def _samples_of(source: Source, beside: Mapping[str, xr.DataArray]) -> _SampleCodes | None:
    """Return the variable that tells samples apart; None where there is none."""
    variable = beside.get(SAMPLES)
    if variable is None:
        return None
    column = column_of(variable.dtype, variable.attrs.get("categories"))
    readable, column = _readable(source, variable, column)
    if column.categories is None or len(column.categories) > MOST_SAMPLES:
        return None
    return _SampleCodes(readable, column.categories)


@dataclass(frozen=True)
class _Ends:
    """The first and the last kept row of a stretch, with the sequences that they are of."""

    first: int
    last: int
    sequence_of_first: Any
    sequence_of_last: Any
    gap: int | None


@dataclass
class _Count:
    """Counts of the rows that meet a condition, by window and by sample."""

    source: Source
    where: ConditionValues
    samples: _SampleCodes | None

    def __post_init__(self) -> None:
        self.window = window_rows(self.source)
        self.by_window: list[IntArray] = []
        self.rows_by: dict[str, int] = {}
        self.kept_by: dict[str, int] = {}
        self.gap: int | None = None
        self._last: _Ends | None = None

    def run(self, progress: RowProgress | None) -> _Count:
        """Read all rows once, some stretches at the same time."""
        step = read_rows(self.source, self.window)
        starts = range(0, self.source.rows, step)
        threads = min(MOST_THREADS, os.cpu_count() or 1, len(starts))
        with ThreadPoolExecutor(threads, thread_name_prefix="bigtensor-count") as pool:
            counted = pool.map(partial(self._stretch, step=step), starts)
            for start, (kept, by_sample, ends) in zip(starts, counted, strict=True):
                self.by_window.append(kept)
                self._add_samples(by_sample)
                self._add_ends(ends)
                if progress is not None:
                    progress(min(start + step, self.source.rows), self.source.rows)
        return self

    @property
    def shares(self) -> RowShares:
        """Numbers of kept rows, in all and by sample."""
        kept = sum(int(counts.sum()) for counts in self.by_window)
        text = self.where.condition.text
        return RowShares(text, self.source.rows, kept, self.rows_by, self.kept_by)

    def selected(self) -> RowsWhere:
        """Return the rows that meet the condition."""
        ends = np.cumsum(np.concatenate(self.by_window))
        return RowsWhere(self.source, self.where, self.window, ends, self.gap)

    def _stretch(self, start: int, step: int) -> tuple[IntArray, IntArray | None, _Ends | None]:
        """Count the kept rows of consecutive windows."""
        stop = min(start + step, self.source.rows)
        mask = read_repeatedly(lambda: self.where.mask(self.source, start, stop), ReadTally())
        kept = np.add.reduceat(mask, np.arange(0, len(mask), self.window), dtype=np.int64)
        by_sample = None
        if self.samples is not None:
            codes = self.samples.variable.read(start, stop)
            count = len(self.samples.names)
            inside = (codes >= 0) & (codes < count)
            by_sample = np.array(
                [np.bincount(codes[rows], minlength=count) for rows in (inside, inside & mask)]
            )
        return kept, by_sample, self._ends_of(mask, start, stop)

    def _ends_of(self, mask: NDArray[np.bool_], start: int, stop: int) -> _Ends | None:
        """Return the first and last kept row, and the first row left out inside a sequence."""
        rows = np.flatnonzero(mask)
        if not len(rows):
            return None
        ids = read_repeatedly(lambda: self.source.read_sequence(start, stop), ReadTally())
        of_rows = np.zeros(len(rows), np.int8) if ids is None else np.asarray(ids)[rows]
        jumps = np.flatnonzero((np.diff(rows) > 1) & (of_rows[1:] == of_rows[:-1]))
        gap = start + int(rows[jumps[0]]) + 1 if len(jumps) else None
        return _Ends(start + int(rows[0]), start + int(rows[-1]), of_rows[0], of_rows[-1], gap)

    def _add_samples(self, by_sample: IntArray | None) -> None:
        """Add the rows and the kept rows of every sample."""
        if by_sample is None or self.samples is None:
            return
        for name, rows, kept in zip(self.samples.names, *by_sample.tolist(), strict=True):
            if rows:
                self.rows_by[name] = self.rows_by.get(name, 0) + rows
                self.kept_by[name] = self.kept_by.get(name, 0) + kept

    def _add_ends(self, ends: _Ends | None) -> None:
        """Look for a row left out between the last stretch and this one, and inside this one."""
        if ends is None:
            return
        before, self._last = self._last, ends
        if self.gap is not None:
            return
        apart = before is not None and before.last + 1 < ends.first
        if before is not None and apart and before.sequence_of_last == ends.sequence_of_first:
            self.gap = before.last + 1
        else:
            self.gap = ends.gap


def _after(progress: RowProgress, done: int, total: int) -> RowProgress:
    """Return progress that counts the rows of earlier sources too."""
    return lambda rows, _: progress(done + rows, total)


def rows_left_out(samples: Samples) -> Iterator[tuple[RowsWhere, int]]:
    """Yield sources with a row that is left out inside a sequence, and that row."""
    for source in samples.sources:
        if isinstance(source, RowsWhere) and source.gap is not None:
            yield source, source.gap
