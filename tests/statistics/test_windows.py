"""Windows of a pilot: spread, disjoint, and each within a chunk whose length is a power of two."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bigtensor.statistics.windows import MIN_WINDOW_ROWS, WINDOWS, sample_windows


@given(
    rows=st.integers(1, 10**11),
    size=st.integers(1, 10**6),
    windows=st.sampled_from([2, 3, 32, WINDOWS]),
)
def test_windows__are_disjoint_spread_and_lie_in_one_chunk(
    rows: int, size: int, windows: int
) -> None:
    chosen = sample_windows(rows, size, windows)
    if chosen is None:
        assert rows <= max(4 * size, windows * MIN_WINDOW_ROWS) + 2 * windows
        return
    (length,) = {stop - start for start, stop in chosen}
    assert len(chosen) == windows
    assert length * windows >= 2 * size
    assert length & (length - 1) == 0
    assert all(start % length == 0 for start, _ in chosen)
    assert chosen[0][0] == 0
    assert rows - 2 * length < chosen[-1][1] <= rows
    assert all(left[1] <= right[0] for left, right in pairwise(chosen))
    gaps = [right[0] - left[0] for left, right in pairwise(chosen)]
    assert max(gaps) - min(gaps) <= length


def test_windows__of_few_rows_are_all_rows() -> None:
    assert sample_windows(WINDOWS * MIN_WINDOW_ROWS, 20_000) is None
    assert sample_windows(WINDOWS * MIN_WINDOW_ROWS + 1, 20_000) is not None
