import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp, softmax

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.co_posterior import CoPosteriorSums
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from tests.statistics.densities.test_posterior_sums import accumulate
from tests.statistics.densities.test_view_densities import (
    FLOAT32,
    MIXTURES,
    K,
    expected_log_joint,
    rows,
)


def direct_sums(posterior, weight):
    """Return the two matrices row by row from a (rows, components) posterior matrix."""
    k = posterior.shape[1]
    products, assigned = np.zeros((k, k)), np.zeros((k, k))
    for r, w in zip(posterior, weight, strict=True):
        products += w * np.outer(r, r)
        assigned[:, r.argmax()] += w * r
    return products, assigned


@pytest.mark.parametrize("name", ["tables", "embedded", "both"])
@pytest.mark.parametrize("weighted", [False, True])
def test_co_posterior_sums__are_the_plain_sums(name, weighted):
    mixture, block = MIXTURES[name], rows(300)
    weight = default_rng(1).uniform(0, 3, 300) if weighted else np.ones(300)
    weight[::7] = 0.0 if weighted else 1.0
    joint = expected_log_joint(mixture, block.values)
    products, assigned = direct_sums(softmax(joint, axis=0).T, weight)
    found = accumulate(CoPosteriorSums(mixture), block, 130, weight if weighted else None)
    np.testing.assert_allclose(found.products, products, rtol=1e-10)
    np.testing.assert_allclose(found.assigned, assigned, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.mass, products.sum(axis=1), rtol=1e-10)
    assert found.log_likelihood == pytest.approx(weight @ logsumexp(joint, axis=0), rel=1e-10)
    assert found.weight == pytest.approx(weight.sum())
    assert found.rows == 300


@pytest.mark.parametrize("weighted", [False, True])
def test_co_posterior_sums__in_float32_are_close_to_the_plain_sums(weighted):
    mixture, block = FLOAT32["tables"], rows(3000, "float32")
    weight = default_rng(1).uniform(0, 3, 3000) if weighted else np.ones(3000)
    joint = expected_log_joint(mixture, block.values)
    products, assigned = direct_sums(softmax(joint, axis=0).T, weight)
    found = accumulate(CoPosteriorSums(mixture), block, 1300, weight if weighted else None)
    np.testing.assert_allclose(found.products, products, rtol=2e-6)
    np.testing.assert_allclose(found.assigned, assigned, rtol=1e-5)
    np.testing.assert_allclose(found.mass, found.products.sum(axis=1), rtol=2e-6)
    assert found.products.dtype == found.assigned.dtype == np.float64


@pytest.mark.parametrize("mixture", [MIXTURES["both"], FLOAT32["both"]], ids=["double", "single"])
@pytest.mark.parametrize("weighted", [False, True])
def test_co_posterior_sums__are_the_same_within_a_pass_of_posterior_sums(mixture, weighted):
    block = rows(2 * mixture.tile_rows + 7)
    weight = default_rng(1).uniform(0, 3, block.rows) if weighted else None
    maps = {"wide": mixture.embedded[0].feature_map}
    alone = accumulate(CoPosteriorSums(mixture), block, 3001, weight)
    without = accumulate(PosteriorSums(mixture, maps), block, 3001, weight)
    labels = accumulate(PosteriorSums(mixture, maps, co_posterior=True), block, 3001, weight)
    both = accumulate(
        PosteriorSums(mixture, maps, co_posterior=True, products=True), block, 3001, weight
    )
    assert labels.co_posterior.products is None
    np.testing.assert_array_equal(labels.co_posterior.assigned, both.co_posterior.assigned)
    np.testing.assert_array_equal(both.co_posterior.products, alone.products)
    np.testing.assert_array_equal(both.co_posterior.assigned, alone.assigned)
    tolerance = 1e-12 if mixture.dtype == np.float64 else 1e-6
    np.testing.assert_allclose(alone.mass, both.mass, rtol=tolerance)
    assert without.co_posterior is None
    np.testing.assert_array_equal(both.histograms, without.histograms)
    np.testing.assert_array_equal(both.embeddings["wide"], without.embeddings["wide"])
    np.testing.assert_array_equal(both.mass, without.mass)
    assert both.log_likelihood == without.log_likelihood == alone.log_likelihood


def test_co_posterior_sums__labels_are_those_of_the_responsibilities():
    mixture, block = MIXTURES["both"], rows(4000)
    label = np.empty(4000, np.int32)
    probability = np.empty((4000, K), np.float32)
    Responsibilities(mixture, ("label", "probability")).evaluate(
        block, {"label": label, "probability": probability}, Workspace()
    )
    found = accumulate(CoPosteriorSums(mixture), block, 4000)
    expected = np.stack([probability[label == h].sum(axis=0) for h in range(K)], axis=1)
    np.testing.assert_allclose(found.assigned, expected, rtol=1e-5, atol=1e-3)


def test_co_posterior_sums__equal_components_go_to_the_first_label():
    table = default_rng(0).normal(size=(1, 9, 1))
    twins = TabulatedDensities((0,), np.zeros(1), np.ones(1), np.repeat(table, 2, axis=2))
    statistic = CoPosteriorSums(MixtureDensities(np.array([0.5, 0.5]), twins))
    block = Block(default_rng(1).uniform(0, 8, (50, 1)), {"a": slice(0, 1)}, 0, 50)
    state = statistic.init()
    statistic.update(state, block, Workspace())
    found = statistic.finalize(state)
    np.testing.assert_allclose(found.assigned, [[25.0, 0.0], [25.0, 0.0]], rtol=1e-12)
    np.testing.assert_allclose(found.products, np.full((2, 2), 12.5), rtol=1e-12)


@pytest.mark.parametrize("components", [1, 200])
def test_co_posterior_sums__any_number_of_components(components):
    rng = default_rng(4)
    tables = TabulatedDensities(
        (0, 1), np.zeros(2), np.ones(2), rng.normal(size=(2, 9, components))
    )
    weights = rng.dirichlet(np.ones(components))
    statistic = CoPosteriorSums(MixtureDensities(weights, tables))
    block = Block(rng.uniform(0, 8, (1500, 2)), {"a": slice(0, 1), "b": slice(1, 2)}, 0, 1500)
    joint = np.empty((1500, components))
    statistic.mixture.log_joint(block, joint, Workspace())
    products, assigned = direct_sums(softmax(joint, axis=1), np.ones(1500))
    found = accumulate(statistic, block, 700)
    np.testing.assert_allclose(found.products, products, rtol=1e-9)
    np.testing.assert_allclose(found.assigned, assigned, rtol=1e-9, atol=1e-12)
