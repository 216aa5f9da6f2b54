"""Correlations of features within components, against NumPy's weighted covariances."""

import numpy as np
import pytest

from bigtensor.models.kernel_mixture.choices import dependence
from bigtensor.models.kernel_mixture.choices.dependence import (
    correlations_within,
    highest_beyond_chance,
)


def plain(values, posterior, pairs):
    """Return the same by one weighted covariance after the other."""
    total = mass = 0.0
    for shares in posterior.T:
        covariance = np.cov(values.T, aweights=shares, ddof=0)
        spread = np.sqrt(np.diag(covariance))
        usable = pairs & (np.multiply.outer(spread, spread) > 1e-9)
        correlation = covariance[usable] / np.multiply.outer(spread, spread)[usable]
        total += shares.sum() * ((correlation**2).mean() - 1 / shares.sum())
        mass += shares.sum()
    return np.sqrt(max(total / mass, 0.0))


@pytest.mark.parametrize("products", [100, 2**22])
def test_correlation__is_that_of_weighted_covariances(products, monkeypatch):
    monkeypatch.setattr(dependence, "_PRODUCTS", products)
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 3000)
    values = rng.normal(size=(3000, 4)) @ rng.normal(size=(4, 4)) + 50 * label[:, None] + 1000
    posterior = rng.dirichlet(np.ones(3), 3000) * 0.1 + 0.9 * np.eye(3)[label]
    pairs = np.tri(4, k=-1, dtype=bool)
    found = root_mean_square(values, posterior, pairs)
    assert found == pytest.approx(plain(values, posterior, pairs), rel=1e-8)


def test_correlation__takes_no_notice_of_features_that_are_equal_within_a_component():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, 2000)
    values = rng.normal(size=(2000, 3))
    values[:, 1] += values[:, 0]
    # the third feature has one value within each component
    values[:, 2] = np.array([0.1, 1234.567])[label]
    posterior, pairs = np.eye(2)[label], np.tri(3, k=-1, dtype=bool)
    alone = root_mean_square(values[:, :2], posterior, np.tri(2, k=-1, dtype=bool))
    assert root_mean_square(values, posterior, pairs) == pytest.approx(alone, rel=1e-9)


def test_correlation__copies_of_independent_rows_have_the_noise_of_the_rows():
    values = np.random.default_rng(2).normal(size=(400, 5))
    posterior, pairs = np.ones((400, 1)), np.tri(5, k=-1, dtype=bool)
    once = root_mean_square(values, posterior, pairs)
    tiled = np.tile(values, (9, 1)), np.ones((3600, 1)), pairs
    assert root_mean_square(*tiled, 1 / 9) == pytest.approx(once, abs=1e-6)
    assert root_mean_square(*tiled) > once + 0.02


def test_correlation_within_one_component__is_rarely_beyond_chance_where_features_are_independent():
    rng = np.random.default_rng(0)
    component = np.repeat(np.arange(6), [2000, 60, 60, 60, 60, 60])
    pairs = np.zeros((8, 8), bool)
    pairs[1, 0] = True  # the others are categories
    posterior = np.eye(6)[component]
    beyond = [
        highest_beyond_chance(correlations_within(rng.normal(size=(2300, 8)), posterior, pairs))
        for _ in range(50)
    ]
    assert np.count_nonzero(beyond) <= 5
    none = correlations_within(rng.normal(size=(2300, 8)), posterior, np.zeros((8, 8), bool))
    assert highest_beyond_chance(none) == none.root_mean_square == 0


def root_mean_square(*arguments):
    return correlations_within(*arguments).root_mean_square
