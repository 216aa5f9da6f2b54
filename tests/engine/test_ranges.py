"""Row ranges depend on the data alone and hold every row once."""

from collections.abc import Callable
from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.data.samples import Samples
from bigtensor.data.sources import ArraySource, LazySource, Source, ZarrSource
from bigtensor.data.views import Views
from bigtensor.engine.ranges import (
    EVEN_TASKS,
    MAX_NBYTES,
    MAX_ROWS,
    MAX_TASKS,
    MIN_ROWS,
    RowRange,
    pass_parts,
    row_ranges,
    rows_of,
    segments,
    span,
)


def store(rows: int, unit_rows: int, features: int = 4) -> ZarrSource:
    """Describe a store that need not exist: ranges read nothing."""
    names = tuple(f"x{i}" for i in range(features))
    return ZarrSource("nowhere", "X", rows, names, np.dtype("float32"), unit_rows)


def samples_of(*sources: Source) -> Samples:
    return Samples(sources, Views.resolve(None, sources[0].features))


def pass_ranges(samples: Samples) -> list[RowRange]:
    """Return the only range of every part of a whole pass."""
    return [whole for (whole,) in pass_parts(samples)]


@settings(max_examples=200)
@given(
    shapes=st.lists(
        st.tuples(st.integers(1, 2 * 10**9), st.integers(1, 10**7)), min_size=1, max_size=6
    ),
    features=st.integers(1, 300),
    cut=st.sampled_from([pass_ranges, row_ranges]),
)
def test_ranges__cover_every_row_once_along_chunks(
    shapes: list[tuple[int, int]], features: int, cut: Callable[[Samples], list[RowRange]]
) -> None:
    samples = samples_of(*(store(rows, unit, features) for rows, unit in shapes))
    ranges = cut(samples)
    assert ranges == cut(samples)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == samples.rows
    assert all(left[1] == right[0] for left, right in pairwise(ranges))
    assert all(start < stop for start, stop in ranges)
    assert len(ranges) <= MAX_TASKS
    for start, stop in ranges:
        source, offset = samples.locate(start)
        assert stop <= offset + source.rows
        assert (start - offset) % source.unit_rows == 0


@settings(max_examples=200)
@given(st.integers(EVEN_TASKS * MIN_ROWS + 1, 10**9), st.integers(1, 10**6))
def test_pass_ranges__differ_by_one_chunk(rows: int, unit: int) -> None:
    ranges = pass_ranges(samples_of(store(rows, unit)))
    chunks = [-(-(stop - start) // unit) for start, stop in ranges]
    assert max(chunks) - min(chunks) <= 1
    assert (min(chunks) + 1) * unit >= MIN_ROWS


@given(st.integers(EVEN_TASKS * MIN_ROWS + 1, 10**9), st.integers(1, 1000))
def test_pass_ranges__go_evenly_to_16_workers(rows: int, unit: int) -> None:
    ranges = pass_ranges(samples_of(store(rows, unit)))
    assert len(ranges) % EVEN_TASKS == 0
    assert max(stop - start for start, stop in ranges) <= MAX_ROWS + unit


@given(st.integers(1, 10**9), st.integers(1, 10**6))
def test_row_ranges__are_of_one_length_but_the_last(rows: int, unit: int) -> None:
    lengths = [stop - start for start, stop in row_ranges(samples_of(store(rows, unit)))]
    assert len({*lengths[:-1]}) <= 1
    assert lengths[-1] <= lengths[0]


def test_ranges__of_a_billion_rows_in_tiny_chunks_are_few() -> None:
    ranges = pass_ranges(samples_of(store(10**9, 100)))
    assert 64 <= len(ranges) <= MAX_TASKS
    assert max(stop - start for start, stop in ranges) * 16 <= MAX_NBYTES + 100 * 16


@pytest.mark.parametrize("cut", [pass_ranges, row_ranges])
def test_ranges__of_wide_or_few_rows_have_the_fewest_rows(
    cut: Callable[[Samples], list[RowRange]],
) -> None:
    for rows, unit, features in ((10**6, 1, 30_000), (100_000, 1024, 4)):
        lengths = [stop - start for start, stop in cut(samples_of(store(rows, unit, features)))]
        assert {*lengths[:-1]} == {MIN_ROWS}
        assert 0 < lengths[-1] < MIN_ROWS
    assert len(cut(samples_of(store(20_000, 1000)))) == 1


@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=300).filter(any))
def test_ranges__of_a_lazy_array_gather_whole_chunks(lengths: list[int]) -> None:
    lazy = da.zeros((sum(lengths), 2), chunks=(tuple(lengths), (2,)))
    samples = samples_of(LazySource(lazy, ("a", "b")))
    ranges = pass_ranges(samples)
    assert ranges == row_ranges(samples)
    edges = {0, *np.cumsum(lengths).tolist()}
    assert {edge for pair in ranges for edge in pair} <= edges
    assert ranges[0][0] == 0
    assert ranges[-1][1] == sum(lengths)
    assert all(left[1] == right[0] for left, right in pairwise(ranges))
    assert all(stop - start >= MIN_ROWS for start, stop in ranges[:-1])


def test_parts__of_chosen_rows_are_cut_at_sources_and_at_the_size_of_a_task() -> None:
    samples = samples_of(store(100_000, 1000), store(200_000, 1000))
    parts = pass_parts(samples, [(10, 20), (99_990, 100_010), (150_000, 290_000)])
    assert parts[:3] == [((10, 20),), ((99_990, 100_000),), ((100_000, 100_010),)]
    assert parts[3:] == [
        ((start, min(start + MIN_ROWS, 290_000)),) for start in range(150_000, 290_000, MIN_ROWS)
    ]


@given(
    edges=st.lists(st.integers(0, 3_000_000), min_size=2, max_size=400, unique=True).map(sorted),
    sources=st.integers(1, 3),
)
def test_parts__of_many_windows_hold_several_of_them(edges: list[int], sources: int) -> None:
    samples = samples_of(*(store(1_000_000, 1000) for _ in range(sources)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    chosen = [(start, min(stop, samples.rows)) for start, stop in pairs if start < samples.rows]
    parts = pass_parts(samples, chosen)
    pieces = [piece for part in parts for piece in part]
    assert pieces == sorted(pieces)
    assert sum(map(rows_of, parts)) == sum(stop - start for start, stop in chosen)
    for start, stop in pieces:
        assert any(first <= start < stop <= last for first, last in chosen)
        source, offset = samples.locate(start)
        assert stop <= offset + source.rows
    wanted = max(MIN_ROWS, -(-samples.rows // EVEN_TASKS))
    assert max(map(rows_of, parts), default=0) <= wanted
    short = [part for part in parts if rows_of(part) < wanted / 2]
    assert len(short) <= 2 * EVEN_TASKS + len(pieces) / EVEN_TASKS


def test_parts__share_the_windows_of_a_pilot_out_to_16_tasks() -> None:
    windows = [(start, start + 4096) for start in range(0, 64 * 100_000, 100_000)]
    parts = pass_parts(samples_of(store(10**7, 65_536)), windows)
    assert [len(part) for part in parts] == [4] * EVEN_TASKS
    assert [span(part) for part in parts[:2]] == [(0, 304_096), (400_000, 704_096)]


def test_segments__split_rows_where_sources_end() -> None:
    values = np.zeros((10, 1))
    samples = samples_of(*(ArraySource(values, ("a",)) for _ in range(3)))
    assert segments(samples, 5, 25) == ((5, 10), (10, 20), (20, 25))
    assert segments(samples, 12, 13) == ((12, 13),)
