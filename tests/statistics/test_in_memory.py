"""Statistics of rows in memory: equal to one update, and to what the engine returns."""

from dataclasses import replace

import numpy as np
import pytest

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.block import Block
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.base import Pass, Workspace
from bigtensor.statistics.densities.co_posterior import CoPosteriorSums
from bigtensor.statistics.in_memory import outputs_in_memory, sum_in_memory
from bigtensor.statistics.sources.linear_sources import LinearSources
from tests.engine.sums import ColumnSums, LaggedProducts
from tests.statistics.densities.test_view_densities import MIXTURES, rows


def integers(count, weighted):
    """Return rows whose sums are exact in any order."""
    random = np.random.default_rng(0)
    weight = random.integers(0, 4, count).astype(float) if weighted else None
    values = random.integers(-9, 9, (count, 3)).astype(np.float32)
    return Block(values, {"a": slice(0, 3)}, 0, count, weight)


def once(statistic, block):
    state = statistic.init()
    statistic.update(state, block, Workspace())
    return statistic.finalize(state)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block_rows", [1, 7, 64, 500, 501, 10_000])
def test_sum_in_memory__is_one_update(monkeypatch, block_rows, weighted):
    monkeypatch.setattr(ColumnSums, "block_rows", block_rows)
    block = integers(501, weighted)
    found, expected = sum_in_memory(ColumnSums(3), block), once(ColumnSums(3), block)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)
    weight = np.ones(501) if block.weight is None else block.weight
    np.testing.assert_array_equal(found["sums"], weight @ block.values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block_rows", [50, 130, 300])
def test_sum_in_memory__of_posterior_probabilities(monkeypatch, block_rows, weighted):
    monkeypatch.setattr(CoPosteriorSums, "block_rows", block_rows)
    block = rows(300)
    if weighted:
        block = replace(block, weight=np.random.default_rng(1).uniform(0, 3, 300))
    statistic = CoPosteriorSums(MIXTURES["both"])
    found, expected = sum_in_memory(statistic, block), once(statistic, block)
    for name in ("products", "assigned", "log_likelihood", "weight"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-11)
    assert found.rows == 300


def test_sum_in_memory__of_no_rows_is_the_empty_sum():
    found = sum_in_memory(ColumnSums(3), integers(0, weighted=False))
    assert found["rows"] == 0
    np.testing.assert_array_equal(found["sums"], 0)


@pytest.mark.parametrize("statistic", [ColumnSums(3), LaggedProducts()], ids=["rows", "halo"])
def test_sum_in_memory__is_what_the_engine_returns(statistic):
    block = integers(2500, weighted=False)
    found = sum_in_memory(statistic, block)
    expected = run_pass(open_samples(block.values), Pass("p", statistic), ThreadedRuntime(1))
    np.testing.assert_equal(found, expected)


def test_outputs_in_memory__are_those_of_every_row_of_more_blocks_than_one():
    values = np.random.default_rng(0).normal(size=(LinearSources.block_rows + 3, 2))
    mixing, mean = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([3.0, 4.0])
    block = Block(values, {"x": slice(0, 2)}, 0, len(values))
    (sources,) = outputs_in_memory(LinearSources(mixing, mean, "float64"), block).values()
    np.testing.assert_allclose(sources, (values - mean) @ mixing, rtol=1e-12)
