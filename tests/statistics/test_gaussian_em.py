"""EM iterations of Gaussian mixtures: passes and M-steps together."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.mixture import GaussianMixture

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.gaussian.shared_covariance_m_step import TotalMoments, m_step
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.gaussian_posterior import GaussianPosteriorSums
from bigtensor.statistics.in_memory import sum_in_memory

K, D, N = 4, 3, 4000
VIEWS = (slice(0, 1), slice(1, 3))


def data(offset=0.0, seed=0):
    """Return rows, and an initial mixture near their components."""
    rng = default_rng(seed)
    means = 2 * rng.normal(size=(K, D))
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    root = rng.normal(size=(D, D)) / 2 + np.eye(D)
    values = means[rng.choice(K, N, p=weights)] + rng.normal(size=(N, D)) @ root.T
    return values + offset, means + 0.3 * rng.normal(size=(K, D)) + offset


def em(values, means, covariance, views, iterations, dtype="float64"):
    """Return the mixture after some iterations, and the log-likelihood before each."""
    values = values.astype(dtype)
    block = Block(values, {"all": slice(0, D)}, 0, len(values))
    exact = values.astype(np.float64)
    total = TotalMoments(exact.mean(axis=0), np.cov(exact.T, ddof=0))
    mixture = GaussianDensities(np.full(K, 1 / K), means, covariance, dtype)
    likelihoods = []
    for _ in range(iterations):
        sums = sum_in_memory(GaussianPosteriorSums(mixture), block)
        likelihoods.append(sums.log_likelihood / sums.weight)
        step = m_step(mixture.means, sums, total, views)
        mixture = replace(
            mixture, weights=step.weights, means=step.means, covariance=step.covariance
        )
    return mixture, np.array(likelihoods)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_em__of_a_tied_covariance_is_that_of_scikit_learn():
    values, means = data()
    start = np.cov(values.T, ddof=0)
    found, likelihoods = em(values, means, start, None, 20)
    peer = GaussianMixture(
        K,
        covariance_type="tied",
        reg_covar=0.0,
        tol=0.0,
        max_iter=20,
        weights_init=np.full(K, 1 / K),
        means_init=means,
        precisions_init=np.linalg.inv(start),
    ).fit(values)
    np.testing.assert_allclose(found.weights, peer.weights_, rtol=1e-10)
    np.testing.assert_allclose(found.means, peer.means_, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found.covariance, peer.covariances_, rtol=1e-9, atol=1e-10)
    assert likelihoods[-1] == pytest.approx(peer.lower_bound_, rel=1e-10)


@pytest.mark.parametrize("views", [VIEWS, (slice(0, D),), None], ids=["views", "spherical", "tied"])
def test_em__never_lowers_the_likelihood(views):
    values, means = data()
    start = np.eye(D) if views is None else np.ones(D)
    _, likelihoods = em(values, means, start, views, 30)
    assert np.diff(likelihoods).min() > -1e-12
    assert likelihoods[-1] - likelihoods[0] > 0.01


@pytest.mark.parametrize("views", [VIEWS, None], ids=["views", "tied"])
def test_em__in_float32_at_an_offset_of_a_thousand_is_that_in_float64(views):
    values, means = data(1e3)
    values = values.astype(np.float32)
    start = np.eye(D) if views is None else np.ones(D)
    single, _ = em(values, means, start, views, 20, "float32")
    double, _ = em(values.astype(np.float64), means, start, views, 20)
    np.testing.assert_allclose(single.weights, double.weights, rtol=0, atol=1e-5)
    np.testing.assert_allclose(single.means, double.means, rtol=0, atol=1e-5)
    np.testing.assert_allclose(single.covariance, double.covariance, rtol=0, atol=1e-5)


def test_em__of_duplicated_rows_and_too_many_components_stays_finite():
    points = default_rng(5).normal(size=(2, D))
    values = np.repeat(points, 100, axis=0)
    means = np.vstack([points, points[0], points[0] + 100.0])
    found, likelihoods = em(values, means, np.ones(D), (slice(0, D),), 20)
    assert np.isfinite(likelihoods).all()
    assert found.covariance.min() > 0
    np.testing.assert_array_equal(found.means[3], means[3])
    np.testing.assert_allclose(found.means[:3], points[[0, 1, 0]], atol=1e-10)
