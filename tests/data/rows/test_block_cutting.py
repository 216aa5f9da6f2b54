"""Blocks are the same however the rows arrive, and rows are copied only where pieces meet."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bigtensor.data.rows.block_cutting import cut_blocks
from bigtensor.data.rows.views import Views
from bigtensor.data.sources.row_sources import Columns

VIEWS = Views.resolve({"a": ["x"], "b": ["y", "z"]}, ("x", "y", "z"))


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    block_rows=st.integers(1, 25),
    halo=st.integers(0, 12),
)
def test_cut_blocks__are_windows_on_the_rows_whatever_the_pieces(
    lengths: list[int], block_rows: int, halo: int
) -> None:
    rows = sum(lengths)
    values, weight = np.arange(3.0 * rows).reshape(rows, 3), np.arange(float(rows))
    edges = [0, *np.cumsum(lengths).tolist()]
    pieces = [Columns(values[a:b], weight[a:b]) for a, b in pairwise(edges)]
    stop = max(1, rows - halo)
    expected = 0
    for block in cut_blocks(VIEWS, iter(pieces), 100, 100 + stop, block_rows, halo):
        shown = slice(expected, min(expected + block.rows + halo, rows))
        assert block.start == 100 + expected
        assert block.rows == min(block_rows, stop - expected)
        assert block.weight is not None
        np.testing.assert_array_equal(block.values, values[shown])
        np.testing.assert_array_equal(block.weight, weight[shown])
        expected += block.rows
    assert expected == stop


def test_cut_blocks__copies_only_the_rows_where_pieces_meet() -> None:
    values = np.zeros((100, 3), np.float32)
    pieces = [Columns(values[:37]), Columns(values[37:])]
    blocks = list(cut_blocks(VIEWS, iter(pieces), 0, 100, 10))
    copied = [block.start for block in blocks if not np.shares_memory(block.values, values)]
    assert copied == [30]
