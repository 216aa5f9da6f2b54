from dataclasses import dataclass

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import SumStatistic, Workspace
from bigtensor.statistics.combinators import Together
from bigtensor.statistics.row_keys import row_keys
from bigtensor.statistics.row_sample import RowSample
from bigtensor.statistics.sub_blocks import sub_blocks

SLICES = {"a": slice(0, 2)}
X = default_rng(0).normal(size=(1000, 2))


@dataclass(frozen=True)
class Mean(SumStatistic[np.ndarray]):
    """Mean of every feature, and the longest block that was shown."""

    dtype: str = "float64"
    block_rows = 100

    def state_arrays(self):
        return {"total": ((2,), "float64"), "rows": ((), "int64")}

    def update(self, state, block, work):
        assert block.rows <= self.block_rows
        copy = work.take("copy", (block.rows, 2), self.dtype)
        copy[:] = block.values[: block.rows]
        state["total"] += copy.sum(axis=0)
        state["rows"] += block.rows

    def finalize(self, state):
        return state["total"] / state["rows"]

    def work_nbytes(self, rows):
        return rows * 2 * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Lagged(SumStatistic[float]):
    """Sum of products of a row with the next."""

    block_rows = 30
    halo = 1

    def state_arrays(self):
        return {"total": ((), "float64")}

    def update(self, state, block, _work):
        pairs = min(block.rows, len(block.values) - 1)
        state["total"] += (block.values[:pairs, 0] * block.values[1 : pairs + 1, 0]).sum()

    def finalize(self, state):
        return float(state["total"])

    def work_nbytes(self, _rows):
        return 0


def accumulate(statistic, rows, halo=0, work=None):
    state, work = statistic.init(), work or Workspace()
    for start in range(0, len(X), rows):
        count = min(rows, len(X) - start)
        statistic.update(state, Block(X[start : start + count + halo], SLICES, start, count), work)
    return state


def test_together__gives_every_result_and_every_part_the_blocks_it_wants():
    statistic = Together.named(
        mean=Mean(), again=Mean("float32"), lagged=Lagged(), few=RowSample(5, 2)
    )
    assert statistic.halo == 1
    assert statistic.block_rows == RowSample.block_rows
    work = Workspace()
    found = statistic.finalize(accumulate(statistic, 400, 1, work))
    np.testing.assert_allclose(found["mean"], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["again"], X.mean(axis=0), rtol=1e-4, atol=1e-6)
    assert found["lagged"] == pytest.approx((X[:-1, 0] * X[1:, 0]).sum(), rel=1e-12)
    np.testing.assert_array_equal(
        found["few"].index, np.sort(np.argsort(row_keys(0, "sample", 0, 1000))[:5])
    )
    assert work.nbytes == 100 * 2 * (8 + 4)
    assert statistic.work_nbytes(400) >= work.nbytes


def test_together__needs_distinct_names():
    with pytest.raises(ParameterError, match="distinct names"):
        Together((("a", Mean()), ("a", Mean())))
    with pytest.raises(ParameterError, match="without a slash"):
        Together((("a/b", Mean()),))
    with pytest.raises(ParameterError, match="distinct names"):
        Together(())


def test_sub_blocks__are_windows_on_the_block():
    weight, sequence, group = np.arange(10.0), np.arange(10), np.arange(10) % 3
    index = np.arange(10) * 3
    block = Block(X[:10], SLICES, 40, 9, weight, sequence, group, index)
    parts = list(sub_blocks(block, 4, halo=1))
    assert [part.rows for _, part in parts] == [4, 4, 1]
    assert [len(part.values) for _, part in parts] == [5, 5, 2]
    for window, part in parts:
        assert np.shares_memory(part.values, block.values)
        assert part.start == 40 + window.start
        np.testing.assert_array_equal(part.row_index(), index[window])
        np.testing.assert_array_equal(part.weight[: part.rows], weight[window])
        np.testing.assert_array_equal(part.sequence, sequence[window.start : window.stop + 1])
        np.testing.assert_array_equal(part.group, group[window.start : window.stop + 1])
    ((window, whole),) = sub_blocks(block, 9, halo=1)
    assert window == slice(0, 9)
    assert whole is block
    assert list(sub_blocks(Block(X[:0], SLICES, 0, 0), 4)) == []
