from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.row_keys import row_keys
from bigtensor.statistics.row_sample import RowSample

N = 5000
SLICES = {"a": slice(0, 2)}


@pytest.fixture
def x():
    return default_rng(0).normal(size=(N, 2)).astype(np.float32)


def sample(statistic, x, rows, weight=None, tasks=1):
    states = []
    for first in range(0, N, N // tasks):
        state, work = statistic.init(), Workspace()
        for start in range(first, first + N // tasks, rows):
            part = slice(start, min(start + rows, first + N // tasks))
            block = Block(x[part], SLICES, start, len(x[part]))
            if weight is not None:
                block = replace(block, weight=weight[part])
            statistic.update(state, block, work)
        states.append(state)
    total = states[0]
    for state in states[1:]:
        total = statistic.combine(total, state)
    return statistic.finalize(total)


@pytest.mark.parametrize(("rows", "tasks"), [(N, 1), (100, 1), (7, 1), (64, 5)])
def test_row_sample__holds_the_rows_with_the_smallest_keys(x, rows, tasks):
    found = sample(RowSample(200, 2, random_state=4), x, rows, tasks=tasks)
    expected = np.sort(np.argsort(row_keys(4, "sample", 0, N))[:200])
    np.testing.assert_array_equal(found.index, expected)
    np.testing.assert_array_equal(found.values, x[expected])
    assert found.values.dtype == np.float32
    assert found.weight is None


def test_row_sample__takes_all_rows_of_small_data(x):
    found = sample(RowSample(2 * N, 2, "float64"), x, 300)
    np.testing.assert_array_equal(found.index, np.arange(N))
    np.testing.assert_array_equal(found.values, x)
    assert found.values.dtype == np.float64


def test_row_sample__keeps_the_weights_of_its_rows(x):
    weight = np.arange(N, dtype=float)
    statistic = RowSample(50, 2, has_weight=True)
    found = sample(statistic, x, 300, weight)
    np.testing.assert_array_equal(found.weight, weight[found.index])
    np.testing.assert_array_equal(sample(statistic, x, 300).weight, np.ones(50))


def test_row_sample__leaves_out_rows_of_weight_zero(x):
    weight = np.arange(N) % 2.0
    for size in (200, 2 * N):
        found = sample(RowSample(size, 2, has_weight=True), x, 300, weight, tasks=5)
        odd = np.arange(1, N, 2)
        expected = odd[np.argsort(row_keys(0, "sample", 0, N)[odd])[:size]]
        np.testing.assert_array_equal(found.index, np.sort(expected))


def test_row_sample__equal_keys_are_settled_by_the_row_index(x):
    statistic = RowSample(3, 2)

    def state(keys, index):
        return {
            "key": np.array(keys, np.uint64),
            "index": np.array(index),
            "values": x[index],
            "rows": np.array(len(index)),
        }

    left, right = state([5, 1, 5], [9, 2, 6]), state([5, 5], [4, 8])
    for found in (statistic.combine(left, right), statistic.combine(right, left)):
        np.testing.assert_array_equal(statistic.finalize(found).index, [2, 4, 6])
    # row 4 meets kept rows that have its own key
    kept = state([row_keys(0, "sample", 4, 5)[0]] * 3, [9, 2, 6])
    statistic.update(kept, Block(x[4:5], SLICES, 4, 1), Workspace())
    np.testing.assert_array_equal(statistic.finalize(kept).index, [2, 4, 6])


def test_row_sample__every_row_is_as_likely(x):
    counts = np.zeros(N)
    for seed in range(60):
        counts[sample(RowSample(500, 2, random_state=seed), x, N).index] += 1
    # binomial counts: variance 60 * 0.1 * 0.9
    assert abs(counts.var() / 5.4 - 1) < 0.1


def test_row_sample__needs_a_positive_size():
    with pytest.raises(ParameterError, match="size >= 1, got 0"):
        RowSample(0, 2)


def test_sample__is_a_block_of_its_rows(x):
    found = sample(RowSample(50, 2, has_weight=True), x, 300, np.arange(N, dtype=float))
    block = found.block(SLICES)
    np.testing.assert_array_equal(block.view("a"), found.values)
    np.testing.assert_array_equal(block.row_index(), found.index)
    assert block.total_weight() == found.weight.sum() != block.rows
    for rows in (found.index % 2 == 0, np.flatnonzero(found.index % 2 == 0)):
        part = found.take(rows).block(SLICES)
        np.testing.assert_array_equal(part.values, x[part.row_index()])
        np.testing.assert_array_equal(part.weight, part.row_index())
        assert (part.row_index() % 2 == 0).all()
