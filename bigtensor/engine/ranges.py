"""Row ranges of tasks: a function of the data alone, never of the workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.sequence_starts import sequence_start
from bigtensor.data.sources.csr_source import is_sparse
from bigtensor.data.sources.row_sources import LazySource, Source
from bigtensor.statistics.base import RowFunction

RowRange = tuple[int, int]

Part = tuple[RowRange, ...]
"""The rows of one task: one range, or several short ones. Ascending, and none crosses a source."""

MAX_TASKS = 10_000
"""Tasks of one pass: a scheduler spends up to a millisecond on each."""

EVEN_TASKS = 16
"""A pass has so many tasks of equal size, or a multiple of it: 2, 4, 8 or 16 workers then end
together. Every task costs ten milliseconds beside its work, so that more of them take longer."""

MAX_ROWS = 524_288
"""A task of a second or less: larger data have more tasks, for more workers to share."""

MIN_ROWS = 32_768
"""A task of fewer rows costs more to send than to run."""

MAX_NBYTES = 256 * 2**20
"""A task reads no more than this, unless that would take more than `MAX_TASKS` tasks."""

MAX_OUTPUT_NBYTES = 64 * 2**20
"""A task holds no more bytes of answers than this, unless one block of rows takes more."""


def pass_parts(
    samples: Samples, rows: Sequence[RowRange] | None = None, *, along_sequences: bool = False
) -> list[Part]:
    """Share the rows of a pass out to its tasks, as equally as chunks allow.

    Parameters
    ----------
    samples : Samples
        Data that the pass reads.
    rows : sequence of (start, stop), optional
        Global row ranges to read; None stands for all rows.
    along_sequences : bool, default False
        Move the first row of every range of a whole pass to where a sequence starts, unless one
        sequence fills the range. Reads sequences from the stores, and from no graph.

    Returns
    -------
    list of tuple of (start, stop)
        Ascending and disjoint. The parts of a whole pass are one range each. Unless moved, it
        starts at a multiple of the rows that the store decodes together.
    """
    if rows is None:
        ranges = _of_sources(samples, _even_ranges, samples.rows)
        return [(whole,) for whole in (_moved(samples, ranges) if along_sequences else ranges)]
    rows_per_task = _rows_per_task(samples)
    pieces = [
        piece
        for start, stop in rows
        for first, last in segments(samples, start, stop)
        for piece in _steps(first, last, rows_per_task)
    ]
    return _put_together(pieces, rows_per_task)


def span(part: Part) -> RowRange:
    """Return the first row of a part and the row after its last."""
    return part[0][0], part[-1][1]


def rows_of(part: Part) -> int:
    """Return the number of rows of a part."""
    return sum(stop - start for start, stop in part)


def row_ranges(samples: Samples, most: int | None = None) -> list[RowRange]:
    """Cut all rows into ranges of one length a source, the last one apart, along its chunks.

    An array with such chunks can be written to a Zarr store as it is.

    Parameters
    ----------
    samples : Samples
        Data that are cut. Chunks of a lazy source stay whole.
    most : int, optional
        Largest number of rows of a range, even if the store decodes more rows together.
    """
    return _of_sources(samples, _uniform_ranges, most or samples.rows)


def answered_rows(function: RowFunction) -> int:
    """Return the largest number of rows that one task answers.

    Parameters
    ----------
    function : RowFunction
        Function of the rows.

    Returns
    -------
    int
        The largest power of two of rows with at most `MAX_OUTPUT_NBYTES` of outputs, or the rows of
        a block if these are more.
    """
    rows = max(1, MAX_OUTPUT_NBYTES // function.row_nbytes)
    return max(function.block_rows, 1 << (rows.bit_length() - 1))


def segments(samples: Samples, start: int, stop: int) -> Part:
    """Cut a row range where a source ends."""
    pieces = []
    for source, offset in zip(samples.sources, samples.offsets, strict=True):
        first, last = max(start, offset), min(stop, offset + source.rows)
        if first < last:
            pieces.append((first, last))
    return tuple(pieces)


def _rows_per_task(samples: Samples) -> int:
    """Return the rows that one task should read."""
    most = max(MIN_ROWS, min(MAX_ROWS, MAX_NBYTES // samples.row_nbytes))
    tasks = EVEN_TASKS * max(1, -(-samples.rows // (EVEN_TASKS * most)))
    sources = len(samples.sources)
    return max(MIN_ROWS, *(-(-samples.rows // n) for n in (tasks, max(1, MAX_TASKS - sources))))


def _of_sources(
    samples: Samples, cut: Callable[[Source, int, int], list[RowRange]], most: int
) -> list[RowRange]:
    """Concatenate the ranges of all sources. Ranges of lazy sources hold whole chunks.

    Sparse rows are shared out by their bytes, rows of very different length too.
    """
    rows_per_task = min(_rows_per_task(samples), most)
    if samples.kind == "counts":
        # two neighbours hold more bytes than are wanted together
        rows_per_task = max(
            rows_per_task, -(-2 * samples.rows // max(1, MAX_TASKS - len(samples.sources)))
        )
        nbytes = rows_per_task * samples.row_nbytes
        return [
            (offset + start, offset + stop)
            for source, offset in zip(samples.sources, samples.offsets, strict=True)
            if is_sparse(source)
            for first, last in pairwise(source.cuts(0, source.rows, nbytes))
            for start, stop in _steps(first, last, most)
        ]
    return [
        (offset + start, offset + stop)
        for source, offset in zip(samples.sources, samples.offsets, strict=True)
        for start, stop in (
            _gather(source.values.chunks[0], rows_per_task)
            if isinstance(source, LazySource)
            else cut(source, rows_per_task, most)
        )
    ]


def _moved(samples: Samples, ranges: list[RowRange]) -> list[RowRange]:
    """Move the first row of every range, but of the first in a source, to a sequence's start."""
    starts = []
    for start, stop in ranges:
        source, offset = samples.locate(start)
        inside = start > offset
        starts.append(
            offset + sequence_start(source, start - offset, stop - offset) if inside else start
        )
    return list(pairwise([*starts, samples.rows]))


def _put_together(pieces: Sequence[RowRange], rows_per_task: int) -> list[Part]:
    """Give every task several short pieces: it costs as much as a few thousand rows to send."""
    parts: list[Part] = []
    most = -(-len(pieces) // EVEN_TASKS)
    for piece in pieces:
        if parts and len(parts[-1]) < most and rows_of((*parts[-1], piece)) <= rows_per_task:
            parts[-1] = (*parts[-1], piece)
        else:
            parts.append((piece,))
    return parts


def _steps(start: int, stop: int, step: int) -> list[RowRange]:
    """Cut rows into pieces of ``step`` rows and a rest."""
    return list(pairwise([*range(start, stop, step), stop]))


def _even_ranges(source: Source, rows_per_task: int, most: int) -> list[RowRange]:
    """Cut one source into ranges of about ``rows_per_task`` rows, equal up to a chunk."""
    if rows_per_task == MIN_ROWS:
        # ranges that are as short as they may be cannot share out a rest
        return _uniform_ranges(source, rows_per_task, most)
    units = -(-source.rows // source.unit_rows)
    tasks = min(units, -(-source.rows // rows_per_task))
    edges = [index * units // tasks * source.unit_rows for index in range(tasks)]
    return list(pairwise([*edges, source.rows]))


def _uniform_ranges(source: Source, rows_per_task: int, most: int) -> list[RowRange]:
    """Cut one source into ranges of the same whole chunks and a rest, or into parts of a chunk."""
    step = -(-rows_per_task // source.unit_rows) * source.unit_rows
    if step > most:
        step = most // source.unit_rows * source.unit_rows or most
    return _steps(0, source.rows, step)


def _gather(lengths: Sequence[int], rows_per_task: int) -> list[RowRange]:
    """Put neighbouring chunks together until they hold ``rows_per_task`` rows."""
    edges, start = [0], 0
    for stop in accumulate(int(length) for length in lengths):
        if stop - start >= rows_per_task:
            edges.append(stop)
            start = stop
    total = sum(int(length) for length in lengths)
    if edges[-1] < total:
        edges.append(total)
    return list(pairwise(edges))
