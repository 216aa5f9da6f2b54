"""Row ranges depend on the data alone and hold every row once."""

from itertools import pairwise

import dask.array as da
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.data.samples import Samples
from bigtensor.data.sources import ArraySource, LazySource, Source, ZarrSource
from bigtensor.data.views import Views
from bigtensor.engine.ranges import MAX_NBYTES, MAX_TASKS, MIN_ROWS, row_ranges, segments


def store(rows: int, unit_rows: int, features: int = 4) -> ZarrSource:
    """Describe a store that need not exist: ranges read nothing."""
    names = tuple(f"x{i}" for i in range(features))
    return ZarrSource("nowhere", "X", rows, names, np.dtype("float32"), unit_rows)


def samples_of(*sources: Source) -> Samples:
    return Samples(sources, Views.resolve(None, sources[0].features))


@settings(max_examples=200)
@given(
    shapes=st.lists(
        st.tuples(st.integers(1, 2 * 10**9), st.integers(1, 10**7)), min_size=1, max_size=6
    ),
    features=st.integers(1, 300),
)
def test_ranges__cover_every_row_once_along_chunks(
    shapes: list[tuple[int, int]], features: int
) -> None:
    samples = samples_of(*(store(rows, unit, features) for rows, unit in shapes))
    ranges = row_ranges(samples)
    assert ranges == row_ranges(samples)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == samples.rows
    assert all(left[1] == right[0] for left, right in pairwise(ranges))
    assert all(start < stop for start, stop in ranges)
    assert len(ranges) <= MAX_TASKS
    for start, stop in ranges:
        source, offset = samples.locate(start)
        assert stop <= offset + source.rows
        assert (start - offset) % source.unit_rows == 0


def test_ranges__of_a_billion_rows_in_tiny_chunks_are_few() -> None:
    ranges = row_ranges(samples_of(store(10**9, 100)))
    assert 64 <= len(ranges) <= MAX_TASKS
    assert max(stop - start for start, stop in ranges) * 16 <= MAX_NBYTES + 100 * 16


def test_ranges__of_wide_rows_stop_at_the_most_bytes_and_the_fewest_rows() -> None:
    assert max(b - a for a, b in row_ranges(samples_of(store(10**6, 1, 30_000)))) == MIN_ROWS
    assert len(row_ranges(samples_of(store(20_000, 1000)))) == 1


@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=300).filter(any))
def test_ranges__of_a_lazy_array_gather_whole_chunks(lengths: list[int]) -> None:
    lazy = da.zeros((sum(lengths), 2), chunks=(tuple(lengths), (2,)))
    samples = samples_of(LazySource(lazy, ("a", "b")))
    ranges = row_ranges(samples)
    edges = {0, *np.cumsum(lengths).tolist()}
    assert {edge for pair in ranges for edge in pair} <= edges
    assert ranges[0][0] == 0
    assert ranges[-1][1] == sum(lengths)
    assert all(left[1] == right[0] for left, right in pairwise(ranges))
    assert all(stop - start >= MIN_ROWS for start, stop in ranges[:-1])


def test_ranges__of_chosen_rows_are_cut_at_sources_and_at_the_size_of_a_task() -> None:
    samples = samples_of(store(100_000, 1000), store(200_000, 1000))
    chosen = [(10, 20), (99_990, 100_010), (150_000, 290_000)]
    ranges = row_ranges(samples, chosen)
    assert ranges[:3] == [(10, 20), (99_990, 100_000), (100_000, 100_010)]
    assert ranges[3:] == [
        (start, min(start + MIN_ROWS, 290_000)) for start in range(150_000, 290_000, MIN_ROWS)
    ]
    whole = {row for start, stop in chosen for row in range(start, stop)}
    cut = [row for start, stop in ranges for row in range(start, stop)]
    assert cut == sorted(whole)


def test_segments__split_rows_where_sources_end() -> None:
    values = np.zeros((10, 1))
    samples = samples_of(*(ArraySource(values, ("a",)) for _ in range(3)))
    assert segments(samples, 5, 25) == [(5, 10), (10, 20), (20, 25)]
    assert segments(samples, 12, 13) == [(12, 13)]
