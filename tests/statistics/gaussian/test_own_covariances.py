"""Densities and sums of components with a covariance each, against SciPy and plain sums."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.gaussian.own_covariance_m_step import m_step
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian import own_covariance_densities
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, OwnCovarianceDensities
from bigtensor.statistics.gaussian.own_covariance_sums import OwnCovarianceSums
from bigtensor.statistics.gaussian.quadratic_features import QuadraticFeatures

K, D = 4, 5
KINDS = ("full", "diag", "spherical")


def parameters(kind, offset=0.0, scale=1.0):
    """Return weights, means and covariances in the units of the data, and a frame."""
    rng = default_rng(2)
    weights = rng.dirichlet(np.full(K, 5.0))
    means = offset + scale * rng.normal(size=(K, D))
    roots = rng.normal(size=(K, D, D))
    full = scale**2 * (roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(D))
    covariances = {
        "full": full,
        "diag": np.diagonal(full, axis1=1, axis2=2).copy(),
        "spherical": np.trace(full, axis1=1, axis2=2) / D,
    }[kind]
    scaling = {
        "full": np.linalg.inv(np.linalg.cholesky(full[0])).T,
        "diag": 1 / (scale * np.arange(1.0, D + 1)),
        "spherical": np.full(D, 1 / scale),
    }[kind]
    return weights, means, covariances, Frame(np.full(D, offset), scaling)


def densities(kind, dtype="float64", **place):
    weights, means, covariances, frame = parameters(kind, **place)
    return OwnCovarianceDensities(
        weights, frame.of_rows(means), frame.covariances_of(covariances), frame, dtype
    )


def expected_joint(kind, values, **place):
    weights, means, covariances, _ = parameters(kind, **place)
    whole = [c if np.ndim(c) == 2 else np.diag(np.broadcast_to(c, D)) for c in covariances]
    return np.stack(
        [
            np.log(weight) + multivariate_normal(mean, covariance).logpdf(values)
            for weight, mean, covariance in zip(weights, means, whole, strict=True)
        ],
        axis=1,
    )


def block_of(values, weight=None):
    return Block(values, {"all": slice(0, D)}, 0, len(values), weight=weight)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("offset", "tolerance"), [(0.0, 1e-9), (1e6, 1e-6)])
def test_log_joint__is_that_of_scipy(kind, offset, tolerance):
    mixture = densities(kind, offset=offset)
    values = offset + 2 * default_rng(0).normal(size=(5000, D))
    found = np.empty((5000, K))
    mixture.log_joint(block_of(values), found, Workspace())
    expected = expected_joint(kind, values, offset=offset)
    np.testing.assert_allclose(found - mixture.log_volume, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 2e-4)])
def test_sums_and_m_step__are_the_plain_ones(kind, weighted, dtype, tolerance):
    values = 2 * default_rng(1).normal(size=(3000, D))
    weight = default_rng(2).uniform(0, 3, 3000) if weighted else None
    mixture = densities(kind, dtype)
    statistic, work = OwnCovarianceSums(mixture), Workspace()
    state = statistic.init()
    statistic.update(state, block_of(values, weight), work)
    assert work.nbytes <= statistic.work_nbytes(3000)
    found = statistic.finalize(state)
    joint = expected_joint(kind, values)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    w = np.ones(3000) if weight is None else weight
    assert found.log_likelihood == pytest.approx(w @ logsumexp(joint, axis=1), rel=1e-5)
    posterior *= w[:, None]
    np.testing.assert_allclose(found.counts, posterior.sum(axis=0), rtol=tolerance)
    step = m_step(found.counts, found.sums, found.second_moments, np.zeros(()))
    means = posterior.T @ values / posterior.sum(axis=0)[:, None]
    np.testing.assert_allclose(mixture.frame.to_data(step.means), means, atol=tolerance)
    covariances = mixture.frame.covariances_to_data(step.covariances)
    for component in range(K):
        own = np.cov(values.T, aweights=posterior[:, component], bias=True)
        expected = {"full": own, "diag": np.diag(own), "spherical": np.trace(own) / D}[kind]
        np.testing.assert_allclose(covariances[component], expected, atol=20 * tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_frame__there_and_back(kind):
    _, means, covariances, frame = parameters(kind, offset=3.0)
    np.testing.assert_allclose(frame.to_data(frame.of_rows(means)), means, rtol=1e-12)
    back = frame.covariances_to_data(frame.covariances_of(covariances))
    np.testing.assert_allclose(back, covariances, rtol=1e-10)
    order = np.array([4, 2, 0, 1, 3])
    turned = frame.of_features(order).of_rows(means[:, order])
    # coordinates of a matrix are mixtures of features, and others follow their features
    expected = frame.of_rows(means) if kind == "full" else frame.of_rows(means)[:, order]
    np.testing.assert_allclose(turned, expected, rtol=1e-9)


def test_errors__name_the_remedy():
    with pytest.raises(ParameterError, match="full, diag, spherical"):
        QuadraticFeatures("round", 3)
    frame = Frame(np.zeros(2), np.ones(2))
    for covariances in (np.zeros(1), np.array([[[1.0, 2.0], [2.0, 1.0]]])):
        with pytest.raises(ParameterError, match="reg_covar"):
            OwnCovarianceDensities(np.ones(1), np.zeros((1, 2)), covariances, frame)
    with pytest.raises(ParameterError, match="do not belong together"):
        OwnCovarianceDensities(np.ones(1), np.zeros((1, 2)), np.ones((2, 2)), frame)
    with pytest.raises(ParameterError, match="weights"):
        OwnCovarianceDensities(np.zeros(1), np.zeros((1, 2)), np.ones(1), frame)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-3)])
def test_wide_rows__have_the_sums_of_features_of_order_two(
    monkeypatch, holes, whitened, dtype, tolerance
):
    rng = default_rng(3)
    k, d, n = 3, 50, 1500
    roots = np.eye(d) + 0.05 * rng.normal(size=(k, d, d))
    covariances = roots @ roots.transpose(0, 2, 1)
    scaling = np.linalg.inv(np.linalg.cholesky(covariances[0])).T
    frame = Frame(np.full(d, 2.0), scaling if whitened else np.linspace(0.5, 2, d))
    means = 2.0 + 0.3 * rng.normal(size=(k, d))
    values = 2.0 + rng.normal(size=(n, d))
    if holes:
        values[::9, ::7] = np.nan
    block = Block(values, {"all": slice(0, d)}, 0, n, weight=rng.uniform(0, 2, n))
    results = []
    for wide in (True, False):
        monkeypatch.setattr(own_covariance_densities, "_WIDE_FEATURES", d if wide else d + 1)
        mixture = OwnCovarianceDensities(
            np.array([0.5, 0.3, 0.2]),
            frame.of_rows(means),
            frame.covariances_of(covariances),
            frame,
            dtype,
        )
        assert mixture.is_wide == wide
        statistic, work = OwnCovarianceSums(mixture), Workspace()
        state = statistic.init()
        statistic.update(state, block, work)
        assert holes or work.nbytes <= statistic.work_nbytes(n)
        results.append(statistic.finalize(state))
    for name in ("counts", "sums", "second_moments", "log_likelihood"):
        wide, narrow = (np.asarray(getattr(result, name)) for result in results)
        np.testing.assert_allclose(wide, narrow, rtol=0, atol=tolerance * np.abs(narrow).max())


@pytest.mark.parametrize(("dtype", "wide"), [("float64", True), ("float32", False)])
def test_rows_of_five_features_a_component__are_wide_in_float64(dtype, wide):
    """Products of float32 take less time with features of order two."""
    rng = default_rng(4)
    k, d = 10, 50
    roots = np.eye(d) + 0.05 * rng.normal(size=(k, d, d))
    covariances = roots @ roots.transpose(0, 2, 1)
    weights, means = np.full(k, 1 / k), 0.3 * rng.normal(size=(k, d))
    frame = Frame(np.zeros(d), np.ones(d))
    mixture = OwnCovarianceDensities(weights, means, covariances, frame, dtype)
    assert mixture.is_wide == wide
    rows = rng.normal(size=(40, d))
    joint = np.empty((40, mixture.width), dtype)
    mixture.log_joint(Block(rows.astype(dtype), {"all": slice(0, d)}, 0, 40), joint, Workspace())
    expected = [
        np.log(weight) + multivariate_normal(mean, covariance).logpdf(rows)
        for weight, mean, covariance in zip(weights, means, covariances, strict=True)
    ]
    tolerance = 1e-10 if wide else 1e-4
    np.testing.assert_allclose(joint[:, :k] - mixture.log_volume, np.transpose(expected), tolerance)
