"""Newton steps to maximum-likelihood proportions, and what their covariance is."""

import numpy as np
import pytest
from scipy.stats import norm

from bigtensor.decomposition.mixture_proportions import (
    ProportionSums,
    em_step,
    newton_step,
    proportion_covariance,
)


def densities(rng, weights, n, distance):
    """Return the densities of Gaussian components at rows drawn from them."""
    means = distance * np.arange(len(weights))
    x = rng.normal(size=n) + means[rng.choice(len(weights), size=n, p=weights)]
    return norm.pdf(x[:, None], means)


def sums_at(table, weights):
    total = table @ weights
    score = table / total[:, None]
    return ProportionSums(
        score.sum(axis=0), score.T @ score, float(np.log(total).sum()), float(len(table))
    )


def by_em(table, iterations=50_000):
    weights = np.full(table.shape[1], 1 / table.shape[1])
    for _ in range(iterations):
        previous, weights = weights, em_step(weights, sums_at(table, weights))
        if np.abs(weights - previous).max() < 1e-12:
            break
    return weights


def by_newton(table, steps):
    equal = np.full(table.shape[1], 1 / table.shape[1])
    weights, distance = em_step(equal, sums_at(table, equal)), np.inf
    for _ in range(steps):
        weights, distance = newton_step(weights, sums_at(table, weights))
    return weights, distance


@pytest.mark.parametrize("distance", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("weights", [(0.7, 0.3), (0.5, 0.3, 0.2), (0.9, 0.0, 0.08, 0.02)])
@pytest.mark.quick_cases(
    "weights0-1.0",
    "weights0-2.0",
    "weights0-4.0",
    "weights1-1.0",
    "weights1-2.0",
    "weights1-4.0",
    "weights2-4.0",
)
def test_newton_step__five_steps_reach_the_maximum(distance, weights):
    rng = np.random.default_rng(4)
    table = densities(rng, np.array(weights), 3000, distance)
    found, _ = by_newton(table, 5)
    expected = by_em(table)
    error = np.sqrt(np.diag(proportion_covariance(expected, sums_at(table, expected).information)))
    assert np.abs(found - expected).max() < 0.1 * error.max()
    np.testing.assert_allclose(found.sum(), 1.0)
    assert found.min() >= 0


def test_newton_step__weights_become_exactly_zero_and_come_back():
    table = densities(np.random.default_rng(2), np.array([1.0, 0.0]), 2000, 2.0)
    absent = by_em(table)
    found, _ = by_newton(table, 8)
    assert absent[1] < 1e-9
    assert found[1] == 0.0
    table = densities(np.random.default_rng(1), np.array([0.9, 0.1]), 2000, 2.0)
    back, _ = newton_step(np.array([1.0, 0.0]), sums_at(table, np.array([1.0, 0.0])))
    assert back[1] > 0


def test_newton_step__equal_densities_and_single_rows_are_stable():
    rng = np.random.default_rng(0)
    table = densities(rng, np.array([0.6, 0.4]), 500, 3.0)
    twice = np.hstack([table, table])
    found, distance = by_newton(twice, 4)
    assert distance < 0.25
    np.testing.assert_allclose(found[:2] + found[2:], by_newton(table, 4)[0], atol=1e-4)
    for n in (1, 2, 3):
        few, _ = by_newton(densities(rng, np.array([0.6, 0.4]), n, 1.0), 5)
        assert np.isfinite(few).all()
        np.testing.assert_allclose(few.sum(), 1.0)
    assert by_newton(table[:, :1], 1)[0] == [1.0]


def test_proportion_covariance__of_known_labels_is_the_multinomial_one():
    weights, n = np.array([0.6, 0.3, 0.1, 0.0]), 1000
    information = np.zeros((4, 4))
    information[:3, :3] = np.diag(n / weights[:3])
    expected = (np.diag(weights) - np.outer(weights, weights)) / n
    np.testing.assert_allclose(proportion_covariance(weights, information), expected, atol=1e-15)


def test_proportion_covariance__is_that_of_repeated_samples():
    rng, weights = np.random.default_rng(3), np.array([0.5, 0.3, 0.2])
    found = np.array([by_newton(densities(rng, weights, 800, 2.0), 6)[0] for _ in range(600)])
    table = densities(rng, weights, 200_000, 2.0)
    expected = proportion_covariance(weights, sums_at(table, weights).information) * 250
    np.testing.assert_allclose(np.cov(found.T), expected, atol=0.15 * expected.max())
