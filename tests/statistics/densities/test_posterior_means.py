import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp, softmax

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.posterior_means import PosteriorMeans
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from tests.statistics.densities.test_view_densities import (
    FLOAT32,
    MIXTURES,
    SLICES,
    K,
    expected_log_joint,
    rows,
)


def first_column(values):
    return values[:, 0]


def powers(values):
    return np.hstack([values, values**2, np.ones((len(values), 1))])


def accumulate(statistic, block, step, weight=None):
    """Return the state of consecutive blocks of ``step`` rows."""
    state, work = statistic.init(), Workspace()
    for start in range(0, block.rows, step):
        part = slice(start, min(start + step, block.rows))
        share = None if weight is None else weight[part]
        piece = Block(block.values[part], SLICES, start, part.stop - start, share)
        statistic.update(state, piece, work)
    assert work.nbytes <= statistic.work_nbytes(step)
    return state


@pytest.mark.parametrize("name", ["tables", "embedded", "both"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("view", ["b", "wide"])
@pytest.mark.parametrize("step", [130, 5000])
def test_posterior_means__are_the_plain_weighted_means(name, weighted, view, step):
    mixture, block = MIXTURES[name], rows(5000)
    weight = default_rng(1).uniform(0, 3, 5000) if weighted else None
    values = powers(block.values[:, SLICES[view]])
    joint = expected_log_joint(mixture, block.values)
    counted = np.ones(5000) if weight is None else weight
    shares = softmax(joint, axis=0) * counted
    statistic = PosteriorMeans(mixture, view, powers, values.shape[1])
    state = accumulate(statistic, block, step, weight)
    found = statistic.finalize(state)
    expected = [np.average(values, axis=0, weights=share) for share in shares]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(found[:, -1], 1.0, rtol=1e-12)
    assert state["log_likelihood"] == pytest.approx(counted @ logsumexp(joint, axis=0), rel=1e-10)
    assert state["weight"] == pytest.approx(counted.sum())
    assert state["rows"] == 5000


def far_away(values):
    return values + 1e6


def test_posterior_means__of_large_values_keep_their_digits_in_float32():
    block = rows(5000)
    statistic = PosteriorMeans(FLOAT32["tables"], "b", far_away, 1)
    found = statistic.finalize(accumulate(statistic, block, 1300)) - 1e6
    shares = softmax(expected_log_joint(FLOAT32["tables"], block.values), axis=0)
    expected = shares @ block.values[:, SLICES["b"]] / shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_posterior_means__of_one_number_a_row_have_one_column():
    block = rows(700)
    statistic = PosteriorMeans(MIXTURES["both"], "a", first_column, 1)
    found = statistic.finalize(accumulate(statistic, block, 300))
    shares = softmax(expected_log_joint(MIXTURES["both"], block.values), axis=0)
    assert found.shape == (K, 1)
    expected = shares @ block.values[:, 0] / shares.sum(axis=1)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-9)


def test_posterior_means__a_component_without_rows_is_zero():
    # far below the others everywhere: its posterior probabilities underflow
    log_tables = np.zeros((1, 9, 2))
    log_tables[0, :, 1] = -1e4
    tables = TabulatedDensities((0,), np.zeros(1), np.ones(1), log_tables)
    statistic = PosteriorMeans(MixtureDensities(np.array([0.5, 0.5]), tables), "a", first_column, 1)
    values = np.linspace(1, 7, 20)[:, None]
    state = statistic.init()
    statistic.update(state, Block(values, {"a": slice(0, 1)}, 0, 20), Workspace())
    np.testing.assert_allclose(statistic.finalize(state), [[4.0], [0.0]], atol=1e-12)


def test_posterior_means__integers_and_float32_are_summed_in_float64():
    block = rows(3000, "float32")
    statistic = PosteriorMeans(MIXTURES["tables"], "a", lambda x: (x > 0)[:, 0], 1)
    state = accumulate(statistic, block, 3000)
    shares = softmax(expected_log_joint(MIXTURES["tables"], block.values), axis=0)
    assert state["sums"].dtype == np.float64
    expected = shares @ (block.values[:, 0] > 0)
    np.testing.assert_allclose(state["sums"][:, 0], expected, rtol=1e-9)
