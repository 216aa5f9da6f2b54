"""Gaussian densities with a shared covariance against scipy, row by row."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.co_posterior import CoPosteriorSums
from bigtensor.statistics.densities.group_sums import GroupSums
from bigtensor.statistics.densities.log_likelihood import LogLikelihood
from bigtensor.statistics.densities.posterior_means import PosteriorMeans
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities
from bigtensor.statistics.gaussian.gaussian_posterior import GaussianPosteriorSums
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.testing import ROW_FUNCTION_LAWS, RowFunctionCase

K, D = 7, 5
SLICES = {"a": slice(0, 2), "b": slice(2, 5)}
COVARIANCES = ("spherical", "by_view", "tied")


def densities(covariance="tied", dtype="float64", offset=0.0, k=K, seed=0):
    """Return a mixture whose means are a few standard deviations apart."""
    rng = default_rng(seed)
    root = rng.normal(size=(D, D))
    shared = {
        "spherical": np.full(D, 0.8),
        "by_view": np.repeat([0.5, 1.5], (2, 3)),
        "tied": root @ root.T + 0.3 * np.eye(D),
    }[covariance]
    means = 3 * rng.normal(size=(k, D)) + offset
    return GaussianDensities(rng.dirichlet(np.full(k, 5.0)), means, shared, dtype)


def rows(mixture, n=2000, seed=1, weighted=True, dtype="float64"):
    rng = default_rng(seed)
    at = rng.integers(0, mixture.n_components, n)
    values = (mixture.means[at] + 1.2 * rng.normal(size=(n, D))).astype(dtype)
    weight = rng.uniform(0, 2, n) if weighted else None
    return Block(values, SLICES, 0, n, weight, group=rng.integers(-1, 3, n))


def expected_log_joint(mixture, values):
    """Return ``(rows, components)`` log joint densities in the units of the data."""
    shared = mixture.covariance
    matrix = np.diag(shared) if shared.ndim == 1 else shared
    log_density = [
        multivariate_normal(mean, matrix).logpdf(np.atleast_2d(values).astype(np.float64))
        for mean in mixture.means
    ]
    return np.log(mixture.weights) + np.column_stack([np.atleast_1d(one) for one in log_density])


def expected_posterior(mixture, values):
    joint = expected_log_joint(mixture, values)
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def answers(mixture, block, names=("label", "probability", "log_density")):
    function = Responsibilities(mixture, names)
    shape = {"probability": (block.rows, mixture.n_components)}
    out = {
        output.name: np.empty(shape.get(output.name, block.rows), output.dtype)
        for output in function.outputs
    }
    function.evaluate(block, out, Workspace())
    return out


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_log_joint__is_that_of_scipy(covariance, offset):
    mixture = densities(covariance, offset=offset)
    block = rows(mixture, 5000)
    found = np.empty((block.rows, K))
    mixture.log_joint(block, found, Workspace())
    expected = expected_log_joint(mixture, block.values)
    np.testing.assert_allclose(found - mixture.log_volume, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_answers__in_float32_hold_at_an_offset_of_a_thousand_deviations(covariance):
    mixture = densities(covariance, "float32", offset=1e3)
    block = rows(mixture, 5000, dtype="float32")
    found = answers(mixture, block)
    joint = expected_log_joint(mixture, block.values)
    np.testing.assert_allclose(found["log_density"], logsumexp(joint, axis=1), rtol=0, atol=5e-5)
    posterior = expected_posterior(mixture, block.values)
    np.testing.assert_allclose(found["probability"], posterior, rtol=0, atol=1e-5)
    best = np.partition(joint, -2, axis=1)
    clear = best[:, -1] - best[:, -2] > 1e-4
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(found["label"][clear], joint.argmax(axis=1)[clear])


def test_answers__labels_alone_are_those_with_densities():
    mixture = densities()
    block = rows(mixture)
    alone = answers(mixture, block, ("label",))
    np.testing.assert_array_equal(alone["label"], answers(mixture, block)["label"])


def test_answers__a_far_outlier_keeps_its_label_in_float32():
    """Its squared distance of 1e12 would swallow differences between components."""
    mixture = densities("spherical", "float32")
    block = rows(mixture, 200, weighted=False)
    direction = np.array([0.6, -0.8, 0.0, 0.0, 0.0])
    values = (block.values + 1e6 * direction).astype(np.float32)
    found = answers(mixture, replace(block, values=values))
    joint = expected_log_joint(mixture, values)
    np.testing.assert_array_equal(found["label"], joint.argmax(axis=1))
    np.testing.assert_allclose(found["log_density"], logsumexp(joint, axis=1), rtol=1e-6)


def test_log_joint__of_a_row_with_nan_is_nan_and_leaves_others_alone():
    mixture = densities()
    block = rows(mixture, 50)
    values = block.values.copy()
    values[7, 2] = np.nan
    found, clean = np.empty((50, K)), np.empty((50, K))
    mixture.log_joint(replace(block, values=values), found, Workspace())
    mixture.log_joint(block, clean, Workspace())
    assert np.isnan(found[7]).all()
    others = np.arange(50) != 7
    np.testing.assert_array_equal(found[others], clean[others])


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 2e-6)])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("weighted", [False, True])
def test_posterior_sums__are_those_of_rows_written_out(
    covariance, dtype, tolerance, offset, weighted
):
    mixture = densities(covariance, dtype, offset)
    block = rows(mixture, 9001, weighted=weighted, dtype=dtype)
    found = sum_in_memory(GaussianPosteriorSums(mixture), block)
    weight = block.weight if weighted else np.ones(block.rows)
    values = block.values.astype(np.float64)
    shares = expected_posterior(mixture, values) * weight[:, None]
    expected = shares.T @ (values - found.reference)
    scale = np.abs(values - found.reference).max() * weight.sum()
    counts = shares.sum(axis=0)
    np.testing.assert_allclose(found.counts, counts, rtol=0, atol=tolerance * weight.sum())
    np.testing.assert_allclose(found.sums, expected, rtol=0, atol=tolerance * scale)
    log_density = logsumexp(expected_log_joint(mixture, values), axis=1)
    assert found.log_likelihood == pytest.approx(weight @ log_density, rel=tolerance)
    assert found.weight == pytest.approx(weight.sum(), rel=1e-12)
    assert found.rows == 9001
    np.testing.assert_array_equal(found.reference, mixture.reference)


def test_posterior_sums__a_far_component_counts_nothing():
    mixture = densities("by_view", "float32")
    far = np.vstack([mixture.means, np.full(D, 1e4)])
    mixture = GaussianDensities(np.full(K + 1, 1 / (K + 1)), far, mixture.covariance)
    found = sum_in_memory(GaussianPosteriorSums(mixture), rows(densities("by_view")))
    assert 0 <= found.counts[-1] < 1e-12
    assert np.isfinite(found.sums).all()


def test_every_statistic_of_a_mixture__takes_gaussian_densities():
    mixture = densities()
    block = rows(mixture)
    posterior = expected_posterior(mixture, block.values)
    shares = posterior * block.weight[:, None]
    log_density = logsumexp(expected_log_joint(mixture, block.values), axis=1)
    likelihood = sum_in_memory(LogLikelihood(mixture), block)
    assert likelihood.log_likelihood == pytest.approx(block.weight @ log_density, rel=1e-12)
    co_posterior = sum_in_memory(CoPosteriorSums(mixture), block)
    np.testing.assert_allclose(co_posterior.products, shares.T @ posterior, atol=1e-9)
    assert co_posterior.log_likelihood == pytest.approx(likelihood.log_likelihood, rel=1e-12)
    groups = sum_in_memory(GroupSums(ClassDensities(mixture), 3), block)
    by_group = [shares[block.group == group].sum(axis=0) for group in range(3)]
    np.testing.assert_allclose(groups.mass, by_group, rtol=1e-10)
    means = sum_in_memory(PosteriorMeans(mixture, "b", lambda x: x, 3), block)
    expected = shares.T @ block.values[:, SLICES["b"]] / shares.sum(axis=0)[:, None]
    np.testing.assert_allclose(means, expected, rtol=1e-10)


def test_many_components__are_evaluated_in_short_tiles():
    few, many = densities(k=3), densities(k=1000)
    assert many.tile_rows < few.tile_rows
    work = Workspace()
    block = rows(many, 3000)
    found = np.empty((3000, 1000))
    many.log_joint(block, found, work)
    expected = expected_log_joint(many, block.values)
    np.testing.assert_allclose(found - many.log_volume, expected, rtol=0, atol=1e-10)
    assert work.nbytes <= many.work_nbytes(3000) < 2 * 1024**2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.full(3, 1 / 3)}, "do not belong together"),
        ({"weights": np.append(np.zeros(1), np.ones(K - 1))}, "must be positive"),
        ({"covariance": np.ones(3)}, "does not belong"),
        ({"covariance": np.zeros(D)}, "must be positive"),
        ({"covariance": np.ones((D, D))}, "positive definite"),
        ({"means": np.full((K, D), np.inf)}, "finite"),
        ({"precision": np.dtype("int32")}, "float32 or float64"),
    ],
)
def test_densities__that_do_not_fit_together_are_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        replace(densities(), **change)


@pytest.mark.parametrize("law", ROW_FUNCTION_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_law__of_answers(dtype, law):
    function = Responsibilities(densities(dtype=dtype), ("label", "probability", "log_density"))
    rtol = 1e-10 if dtype == "float64" else 1e-5
    law(RowFunctionCase(function, rows(densities(), 400, weighted=False), rtol=rtol))
