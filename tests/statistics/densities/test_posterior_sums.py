from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp, softmax

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from tests.statistics.densities.test_view_densities import (
    BINS,
    FLOAT32,
    LOW,
    MIXTURES,
    SLICES,
    STEP,
    WEIGHTS,
    K,
    expected_log_joint,
    many_components,
    rows,
    wide,
)


def accumulate(statistic, block, step, weight=None):
    state, work = statistic.init(), Workspace()
    for start in range(0, block.rows, step):
        part = slice(start, min(start + step, block.rows))
        statistic.update(
            state,
            Block(
                block.values[part],
                block.slices,
                start,
                part.stop - start,
                None if weight is None else weight[part],
            ),
            work,
        )
    assert work.nbytes <= statistic.work_nbytes(step)
    return statistic.finalize(state)


def binned(x, r, view):
    """Return the linear binning of a column, entry by entry."""
    out = np.zeros((BINS + 1, K))
    position = np.clip((x - LOW[view]) / STEP[view], 0, BINS)
    for p, share in zip(position, r, strict=True):
        left = min(int(p), BINS - 1)
        out[left] += (1 - (p - left)) * share
        out[left + 1] += (p - left) * share
    return out


@pytest.mark.parametrize("name", ["tables", "embedded", "both"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("same_map", [False, True])
def test_posterior_sums__are_the_plain_sums(name, weighted, same_map):
    mixture, block = MIXTURES[name], rows(300)
    x = block.values
    feature_map = wide(seed=8).feature_map
    if same_map:
        feature_map = MIXTURES["both"].embedded[0].feature_map
    weight = default_rng(1).uniform(0, 3, 300) if weighted else np.ones(300)
    joint = expected_log_joint(mixture, x)
    r = (softmax(joint, axis=0) * weight).T
    found = accumulate(
        PosteriorSums(mixture, {"wide": feature_map}), block, 130, weight if weighted else None
    )
    np.testing.assert_allclose(found.mass, r.sum(axis=0), rtol=1e-10)
    assert found.log_likelihood == pytest.approx(weight @ logsumexp(joint, axis=0), rel=1e-10)
    assert found.weight == pytest.approx(weight.sum())
    assert found.rows == 300
    y = feature_map.kernel.evaluate(x[:, SLICES["wide"]], feature_map.landmarks)
    np.testing.assert_allclose(
        found.embeddings["wide"], (y @ feature_map.projection).T @ r, rtol=1e-9, atol=1e-9
    )
    if mixture.tables is None:
        assert found.histograms is None
    else:
        for view, column in enumerate(mixture.tables.columns):
            expected = binned(x[:, column], r, view)
            np.testing.assert_allclose(found.histograms[view], expected, atol=1e-9)


@pytest.mark.parametrize("name", FLOAT32)
@pytest.mark.parametrize("weighted", [False, True])
def test_posterior_sums__in_float32_are_close_to_the_plain_sums(name, weighted):
    mixture, block = FLOAT32[name], rows(900, "float32")
    feature_map = wide("float32").feature_map
    weight = default_rng(1).uniform(0, 3, 900) if weighted else np.ones(900)
    joint = expected_log_joint(mixture, block.values)
    r = (softmax(joint, axis=0) * weight).T
    statistic = PosteriorSums(mixture, {"wide": feature_map})
    found = accumulate(statistic, block, 400, weight if weighted else None)
    tolerance = 1e-4 if mixture.embedded else 1e-6
    np.testing.assert_allclose(found.mass, r.sum(axis=0), rtol=tolerance)
    assert found.log_likelihood == pytest.approx(weight @ logsumexp(joint, axis=0), rel=tolerance)
    for view, column in enumerate(mixture.tables.columns):
        expected = binned(block.values[:, column], r, view)
        np.testing.assert_allclose(
            found.histograms[view], expected, atol=tolerance * expected.max()
        )
    y = feature_map.kernel.evaluate(block.values[:, SLICES["wide"]], feature_map.landmarks)
    expected = (y @ feature_map.projection).T @ r
    np.testing.assert_allclose(found.embeddings["wide"], expected, atol=1e-4 * abs(expected).max())
    assert {array.dtype for array in statistic.init().values()} == {np.dtype("f8"), np.dtype("i8")}


@pytest.mark.parametrize("components", [20, 150])
def test_posterior_sums__of_many_components_are_the_same_in_float32(components):
    (single, block), (double, _) = (many_components(components, t) for t in ("float32", "float64"))
    found, expected = (
        accumulate(PosteriorSums(m, co_posterior=True, products=True), block, 1700)
        for m in (single, double)
    )
    np.testing.assert_allclose(found.mass, expected.mass, rtol=1e-5)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-7)
    for name in ("products", "assigned"):
        ours, exact = (getattr(sums.co_posterior, name) for sums in (found, expected))
        np.testing.assert_allclose(ours, exact, atol=1e-6 * exact.max())
    np.testing.assert_allclose(
        found.histograms, expected.histograms, atol=1e-6 * expected.histograms.max()
    )


def test_posterior_sums__equal_rows_lose_at_most_three_digits_in_float32():
    """Rounding of equal terms adds up instead of cancelling: the worst case of a sum."""
    mixture = replace(FLOAT32["tables"], weights=np.array([0.1, 0.3, 0.6]))
    statistic = PosteriorSums(mixture)
    block = rows(1, "float32")
    same = replace(block, values=np.repeat(block.values, 60_000, axis=0), rows=60_000)
    found, one = accumulate(statistic, same, 60_000), accumulate(statistic, block, 1)
    np.testing.assert_allclose(found.mass, 60_000 * one.mass, rtol=1e-10)
    np.testing.assert_allclose(found.histograms, 60_000 * one.histograms, rtol=2e-3)


def test_posterior_sums__long_blocks_are_cut_into_tiles():
    mixture = MIXTURES["both"]
    statistic = PosteriorSums(mixture, {"wide": wide().feature_map})
    n = 2 * mixture.tile_rows + 7
    whole, parts = (accumulate(statistic, rows(n), step) for step in (n, 501))
    np.testing.assert_allclose(whole.histograms, parts.histograms, atol=1e-9)
    np.testing.assert_allclose(whole.embeddings["wide"], parts.embeddings["wide"], atol=1e-8)
    np.testing.assert_allclose(whole.mass, whole.histograms.sum(axis=1)[0], rtol=1e-10)


def test_posterior_sums__a_block_after_a_longer_one_is_not_disturbed_by_it():
    statistic, work = PosteriorSums(MIXTURES["tables"]), Workspace()
    long, short = rows(9000, seed=1), rows(40, seed=2)
    statistic.update(statistic.init(), long, work)
    found = statistic.init()
    statistic.update(found, short, work)
    np.testing.assert_array_equal(
        statistic.finalize(found).histograms, accumulate(statistic, short, 40).histograms
    )


def test_posterior_sums__float32_values_are_binned_in_float64():
    statistic = PosteriorSums(MIXTURES["tables"])
    block = rows(500, "float32")
    same = replace(block, values=block.values.astype(np.float64))
    np.testing.assert_array_equal(
        accumulate(statistic, block, 500).histograms, accumulate(statistic, same, 500).histograms
    )


@pytest.mark.parametrize(("bins", "views"), [(2048, 6), (4096, 6), (512, 6), (4096, 200)])
def test_posterior_sums__blocks_are_long_against_the_bins(bins, views):
    tables = TabulatedDensities(
        tuple(range(views)), np.zeros(views), np.ones(views), np.zeros((views, bins + 1, K))
    )
    statistic = PosteriorSums(MixtureDensities(WEIGHTS, tables))
    rows_of_block = statistic.block_rows
    assert rows_of_block % statistic.mixture.tile_rows == 0
    assert rows_of_block > 28 * bins
    # no row of a block is kept
    assert statistic.work_nbytes(rows_of_block) - tables.log_tables.nbytes < 3 * 1024**2
