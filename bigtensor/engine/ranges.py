"""Which rows one task reads: a function of the data alone, never of the workers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from bigtensor.data.samples import Samples
from bigtensor.data.sources import LazySource, Source

RowRange = tuple[int, int]

MAX_TASKS = 10_000
"""Tasks of one pass: a scheduler spends up to a millisecond on each."""

WANTED_TASKS = 32
"""Enough tasks to keep a few workers evenly busy to the end of a pass."""

MAX_ROWS = 524_288
"""A task of a second or less: larger data have more tasks, for more workers to share."""

MIN_ROWS = 32_768
"""A task of fewer rows costs more to send than to run."""

MAX_NBYTES = 256 * 2**20
"""A task reads no more than this, unless that would take more than `MAX_TASKS` tasks."""


def row_ranges(samples: Samples, rows: Sequence[RowRange] | None = None) -> list[RowRange]:
    """Cut the rows of a pass into the ranges of its tasks.

    Parameters
    ----------
    samples : Samples
    rows : sequence of (start, stop), optional
        Global row ranges to read; None stands for all rows.

    Returns
    -------
    list of (start, stop)
        Ascending and disjoint; none crosses a source. Where a whole pass is cut, ranges start at
        multiples of the rows that the store decodes together.
    """
    wanted = _rows_per_task(samples)
    if rows is not None:
        return [
            piece
            for start, stop in rows
            for first, last in segments(samples, start, stop)
            for piece in _evenly(first, last, wanted)
        ]
    return [
        (offset + start, offset + stop)
        for source, offset in zip(samples.sources, samples.offsets, strict=True)
        for start, stop in _source_ranges(source, wanted)
    ]


def segments(samples: Samples, start: int, stop: int) -> list[RowRange]:
    """Cut a row range where a source ends."""
    pieces = []
    for source, offset in zip(samples.sources, samples.offsets, strict=True):
        first, last = max(start, offset), min(stop, offset + source.rows)
        if first < last:
            pieces.append((first, last))
    return pieces


def _rows_per_task(samples: Samples) -> int:
    """Return the rows that one task should read."""
    most = max(MIN_ROWS, min(MAX_ROWS, MAX_NBYTES // samples.row_nbytes))
    wanted = min(max(MIN_ROWS, -(-samples.rows // WANTED_TASKS)), most)
    sources = len(samples.sources)
    return max(wanted, -(-samples.rows // max(1, MAX_TASKS - sources)))


def _evenly(start: int, stop: int, wanted: int) -> list[RowRange]:
    """Cut rows into pieces of ``wanted`` rows and a rest."""
    return list(pairwise([*range(start, stop, wanted), stop]))


def _source_ranges(source: Source, wanted: int) -> list[RowRange]:
    """Cut one source into ranges of about ``wanted`` rows, along the edges of its chunks."""
    if isinstance(source, LazySource):
        return _gather(source.values.chunks[0], wanted)
    unit = source.unit_rows
    step = -(-wanted // unit) * unit
    return [(start, min(start + step, source.rows)) for start in range(0, source.rows, step)]


def _gather(lengths: Sequence[int], wanted: int) -> list[RowRange]:
    """Put neighbouring chunks together until they hold ``wanted`` rows."""
    edges, start = [0], 0
    for stop in accumulate(int(length) for length in lengths):
        if stop - start >= wanted:
            edges.append(stop)
            start = stop
    total = sum(int(length) for length in lengths)
    if edges[-1] < total:
        edges.append(total)
    return list(pairwise(edges))
