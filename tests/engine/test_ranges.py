"""Row ranges depend on the data alone and hold every row once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.data.opening import open_samples
from bigtensor.data.rows import sequence_starts
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views
from bigtensor.data.sources.row_sources import ArraySource, LazySource, Source, ZarrSource
from bigtensor.engine import ranges as ranges_module
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
from bigtensor.errors import StoreReadError
from tests.engine.sums import write_store


def store(rows: int, unit_rows: int, features: int = 4) -> ZarrSource:
    """Describe a store that need not exist: ranges read nothing."""
    names = tuple(f"x{i}" for i in range(features))
    return ZarrSource("nowhere", "X", rows, names, np.dtype("float32"), unit_rows)


def samples_of(*sources: Source) -> Samples:
    return Samples(sources, Views.resolve(None, sources[0].features))


def pass_ranges(samples: Samples) -> list[RowRange]:
    """Return the only range of every part of a whole pass."""
    return [whole for (whole,) in pass_parts(samples)]


@settings(max_examples=200, deadline=None)
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


@given(st.integers(1, 10**7), st.integers(1, 10**6), st.integers(1000, 10**6))
def test_row_ranges__have_at_most_so_many_rows(rows: int, unit: int, most: int) -> None:
    ranges = row_ranges(samples_of(store(rows, unit)), most)
    lengths = [stop - start for start, stop in ranges]
    assert sum(lengths) == rows
    assert max(lengths) <= most
    assert len({*lengths[:-1]}) <= 1
    assert unit > most or all(start % unit == 0 for start, _ in ranges)


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


@dataclass(frozen=True, eq=False)
class CountedSource(ArraySource):
    """Counts the rows whose sequence is read."""

    looked_at: list[int] = field(default_factory=list)

    def read_sequence(self, start: int, stop: int) -> Any:
        self.looked_at.append(stop - start)
        return super().read_sequence(start, stop)


@settings(max_examples=100, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 900), min_size=1, max_size=40),
    sources=st.integers(1, 3),
    look=st.sampled_from([1, 7, 64, 10_000]),
)
def test_ranges__start_where_a_sequence_starts_if_one_does(
    lengths: list[int], sources: int, look: int
) -> None:
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    rows = len(sequence)
    read = [CountedSource(np.zeros((rows, 1)), ("a",), sequence=sequence) for _ in range(sources)]
    samples = samples_of(*read)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges_module, "MIN_ROWS", 50)
        patch.setattr(sequence_starts, "FIRST_LOOK", look)
        even = pass_ranges(samples)
        assert not any(source.looked_at for source in read)
        moved = [whole for (whole,) in pass_parts(samples, along_sequences=True)]
    assert len(moved) == len(even)
    assert moved[0][0] == 0
    assert moved[-1][1] == samples.rows
    assert all(left[1] == right[0] for left, right in pairwise(moved))
    for (start, stop), (first, _) in zip(even, moved, strict=True):
        local, end = start % rows, (stop - 1) % rows + 1
        starts = [
            row for row in range(local, end) if row == 0 or sequence[row] != sequence[row - 1]
        ]
        assert first - start + local == (starts[0] if starts else local)
    for source in read:
        # every row once; the rows at which looks meet, one before and the last of a range, again
        assert sum(source.looked_at) <= rows + 16 * len(even)


def test_ranges__start_where_a_sequence_of_a_store_starts(tmp_path: Path) -> None:
    rows = 3 * MIN_ROWS
    sequence = np.repeat(np.arange(rows // 1000 + 1), 1000)[:rows]
    values = np.ones((rows, 1), np.float32)
    url = write_store(
        tmp_path / "s.zarr", values, chunks=(1024, 1), variables={"sequence": sequence}
    )
    data = xr.open_zarr(url, consolidated=False)
    in_backend = xr.open_zarr(url, consolidated=False, chunks=None)
    expected = [0, 33_000, 66_000]
    for of_kind in (url, data.load(), in_backend):
        moved = pass_parts(open_samples(of_kind), along_sequences=True)
        assert [start for ((start, _),) in moved] == expected
    lazy = open_samples(data.chunk({"sample": 1024}))
    assert pass_parts(lazy, along_sequences=True) == pass_parts(lazy)
    chosen = [(5, 100), (40_000, 50_000)]
    assert pass_parts(open_samples(url), chosen, along_sequences=True) == [(c,) for c in chosen]
    for file in (tmp_path / "s.zarr" / "sequence" / "c").iterdir():
        file.write_bytes(b"lost")
    with pytest.raises(StoreReadError, match=r"rows 32,767 to .* of 'sequence' in .*s.zarr cannot"):
        pass_parts(open_samples(url), along_sequences=True)


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
