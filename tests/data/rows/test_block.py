"""A block of rows: its values as dense or sparse rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError

VALUES = np.arange(6.0).reshape(3, 2)
SLICES = {"a": slice(0, 1), "b": slice(1, 2)}


def test_dense_values__are_the_values_and_views_are_windows_on_them():
    block = Block(VALUES, SLICES, 0, 3)
    assert block.dense_values is VALUES
    assert np.shares_memory(block.view("b"), VALUES)


def test_dense_values__of_sparse_rows_are_refused():
    block = Block(csr_array(VALUES), SLICES, 0, 3)
    with pytest.raises(TypeError, match="sparse"):
        _ = block.dense_values
    with pytest.raises(TypeError, match="sparse"):
        block.view("a")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_write_weight__leaves_the_halo_out_and_writes_ones_without_weights(dtype):
    out = np.full(2, np.nan, dtype)
    Block(VALUES, SLICES, 0, 2, weight=np.array([0.5, 0.0, 7.0])).write_weight(out)
    assert out.tolist() == [0.5, 0.0]
    Block(VALUES, SLICES, 0, 2).write_weight(out)
    assert out.tolist() == [1.0, 1.0]


def test_row_weights__leave_the_halo_out_and_are_ones_without_weights():
    weighted = Block(VALUES, SLICES, 0, 2, weight=np.array([0.5, 0.0, 7.0]))
    assert weighted.row_weights().tolist() == [0.5, 0.0]
    assert Block(VALUES, SLICES, 0, 2).row_weights().tolist() == [1.0, 1.0]


def test_row_groups__leave_the_halo_out_and_are_missed_where_there_are_none():
    assert Block(VALUES, SLICES, 0, 2, group=np.array([1, -1, 0])).row_groups().tolist() == [1, -1]
    with pytest.raises(ParameterError, match=r"no groups; .* groups"):
        Block(VALUES, SLICES, 0, 3).row_groups()
