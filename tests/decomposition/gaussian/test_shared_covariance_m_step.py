"""M-steps of shared covariances against scikit-learn and against sums over rows."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import softmax
from sklearn.mixture import GaussianMixture

from bigtensor.decomposition.gaussian.shared_covariance_m_step import (
    LEAST_VARIANCE,
    LEAST_WEIGHT,
    TotalMoments,
    m_step,
)
from bigtensor.errors import DataError, ParameterError

K, D, N = 4, 5, 3000
VIEWS = (slice(0, 2), slice(2, 5))


@dataclass(frozen=True)
class Sums:
    counts: np.ndarray
    sums: np.ndarray
    reference: np.ndarray


@dataclass(frozen=True)
class Rows:
    """Rows with posterior probabilities of the components, of no model in particular."""

    values: np.ndarray
    posterior: np.ndarray
    weight: np.ndarray

    @property
    def shares(self):
        return self.posterior * self.weight[:, None]

    def sums(self):
        reference = self.values[0]
        shares = self.shares
        return Sums(shares.sum(axis=0), shares.T @ (self.values - reference), reference)

    def total(self, *, full=True):
        mean = np.average(self.values, axis=0, weights=self.weight)
        covariance = np.cov(self.values.T, ddof=0, aweights=self.weight)
        return TotalMoments(mean, covariance if full else np.diag(covariance).copy())

    def within(self, means):
        """Return the covariance about the means, row by row."""
        total = np.zeros((D, D))
        for h, mean in enumerate(means):
            apart = self.values - mean
            total += (apart * self.shares[:, h, None]).T @ apart
        return total / self.weight.sum()


def rows(offset=0.0, weighted=True, seed=0):
    rng = default_rng(seed)
    values = rng.normal(size=(N, D)) @ rng.normal(size=(D, D))
    posterior = softmax(values @ rng.normal(size=(D, K)), axis=1)
    weight = rng.uniform(0, 2, N) if weighted else np.ones(N)
    return Rows(values + offset, posterior, weight)


def step(data, views, means=None):
    before = np.zeros((K, D)) if means is None else means
    return m_step(before, data.sums(), data.total(full=views is None), views)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_m_step__of_a_tied_covariance_is_that_of_scikit_learn(offset):
    data = rows(offset, weighted=False)
    peer = GaussianMixture(K, covariance_type="tied", reg_covar=0.0)
    peer._initialize(data.values, data.posterior)
    found = step(data, None)
    np.testing.assert_allclose(found.weights, peer.weights_, rtol=1e-10)
    np.testing.assert_allclose(found.means, peer.means_, rtol=1e-10)
    # scikit-learn subtracts uncentred squares, and loses the digits of the offset
    rtol = 1e-10 if not offset else 1e-7
    np.testing.assert_allclose(found.covariance, peer.covariances_, rtol=rtol, atol=rtol)
    assert not found.is_floored
    assert not found.empty.any()


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("views", [VIEWS, (slice(0, D),), None], ids=["views", "spherical", "tied"])
def test_m_step__is_the_mean_over_rows(offset, weighted, views):
    data = rows(offset, weighted)
    found = step(data, views)
    counts = data.shares.sum(axis=0)
    means = data.shares.T @ data.values / counts[:, None]
    np.testing.assert_allclose(found.weights, counts / counts.sum(), rtol=1e-10)
    np.testing.assert_allclose(found.means, means, rtol=1e-10)
    expected = data.within(means)
    if views is not None:
        expected = np.concatenate(
            [np.full(v.stop - v.start, np.diag(expected)[v].mean()) for v in views]
        )
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-10, atol=1e-10)


def test_m_step__of_one_spherical_covariance_is_the_mean_of_those_of_scikit_learn():
    data = rows(weighted=False)
    peer = GaussianMixture(K, covariance_type="spherical", reg_covar=0.0)
    peer._initialize(data.values, data.posterior)
    found = step(data, (slice(0, D),))
    np.testing.assert_allclose(found.covariance, peer.weights_ @ peer.covariances_, rtol=1e-10)


@pytest.mark.parametrize("count", [0.0, 1e-9])
@pytest.mark.parametrize("views", [VIEWS, None], ids=["views", "tied"])
def test_m_step__an_empty_component_keeps_its_mean(count, views):
    data, before = rows(), default_rng(3).normal(size=(K + 1, D))
    sums = data.sums()
    more = Sums(np.append(sums.counts, count), np.vstack([sums.sums, np.zeros(D)]), sums.reference)
    found = m_step(before, more, data.total(), views)
    without = step(data, views)
    np.testing.assert_array_equal(found.means[-1], before[-1])
    np.testing.assert_array_equal(found.empty, [False] * K + [True])
    assert found.weights[-1] == pytest.approx(LEAST_WEIGHT / (K + 1), rel=1e-5)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(found.weights[:-1], without.weights, rtol=1e-6)
    np.testing.assert_allclose(found.means[:-1], without.means, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, without.covariance, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("views", [VIEWS, None], ids=["views", "tied"])
def test_m_step__of_duplicated_rows_has_a_positive_covariance(views):
    """Every component holds copies of one row: nothing varies within it."""
    points = default_rng(4).normal(size=(K, D))
    values = np.repeat(points, 50, axis=0)
    data = Rows(values, np.repeat(np.eye(K), 50, axis=0), np.ones(len(values)))
    found = step(data, views)
    assert found.is_floored
    total = values.var(axis=0)
    if views is None:
        scaled = found.covariance / np.sqrt(np.outer(total, total))
        np.testing.assert_allclose(np.linalg.eigvalsh(scaled), LEAST_VARIANCE, rtol=1e-6)
    else:
        expected = [LEAST_VARIANCE * total[v].mean() for v in views]
        np.testing.assert_allclose(found.covariance[[0, 2]], expected, rtol=1e-10)


@pytest.mark.parametrize("views", [VIEWS, None], ids=["views", "tied"])
def test_m_step__of_constant_and_equal_columns_has_a_positive_covariance(views):
    data = rows()
    data.values[:, :2] = 3.0
    data.values[:, 4] = data.values[:, 3]
    found = step(data, views)
    assert found.is_floored
    if views is None:
        assert np.linalg.eigvalsh(found.covariance).min() > 0
    else:
        assert found.covariance.min() > 0


def test_total_moments__of_a_constant_column_have_no_variance():
    """The mean of equal numbers is rounded, and their variance about it is not zero."""
    mean, variances = np.array([3.0, 0.0, -1e6, 1e6]), np.array([4e-35, 0.0, 1e-24, 1.0])
    for covariance in (variances, np.diag(variances)):
        np.testing.assert_array_equal(TotalMoments(mean, covariance).variances, [0, 0, 0, 1])
    data = rows()
    total = np.diag([4e-35, *data.total().variances[1:]])
    moved = TotalMoments(np.array([3.0, *data.total().mean[1:]]), total)
    found = m_step(
        np.zeros((K, D)), Sums(data.sums().counts, np.zeros((K, D)), moved.mean), moved, None
    )
    assert found.is_floored
    assert np.linalg.eigvalsh(found.covariance).min() > 1e-7


def test_m_step__without_rows_or_without_variance_is_an_error():
    data = rows()
    nothing = Sums(np.zeros(K), np.zeros((K, D)), np.zeros(D))
    with pytest.raises(ParameterError, match="positive weight"):
        m_step(np.zeros((K, D)), nothing, data.total(), None)
    constant = TotalMoments(np.zeros(D), np.zeros(D))
    with pytest.raises(DataError, match="no feature has a variance"):
        m_step(np.zeros((K, D)), data.sums(), constant, VIEWS)
    with pytest.raises(ParameterError, match="needs the covariance matrix"):
        m_step(np.zeros((K, D)), data.sums(), data.total(full=False), None)
