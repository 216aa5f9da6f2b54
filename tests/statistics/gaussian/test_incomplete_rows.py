"""Rows with missing entries under Gaussian components, against SciPy and a plain E step."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.incomplete_rows import (
    IncompleteRows,
    completed_rows,
    completed_sums,
    log_densities,
)
from bigtensor.statistics.gaussian.own_covariance_densities import Frame, OwnCovarianceDensities
from bigtensor.statistics.gaussian.own_covariance_sums import OwnCovarianceSums

from .test_own_covariances import KINDS, D, K, block_of, densities, parameters


def rows_with_holes(n, offset=0.0):
    """Return rows, some without a missing entry, and one without any other."""
    rng = default_rng(3)
    values = offset + 2 * rng.normal(size=(n, D))
    values[rng.random((n, D)) < 0.2] = np.nan
    values[7] = np.nan
    return values


def matrices(covariances):
    return np.stack([c if np.ndim(c) == 2 else np.diag(np.broadcast_to(c, D)) for c in covariances])


def completed(row, mean, covariance):
    """Return the log density of the seen entries, and the first two moments of the row."""
    o, u = ~np.isnan(row), np.isnan(row)
    first, second = row.copy(), np.zeros((len(row), len(row)))
    slopes = covariance[np.ix_(u, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
    first[u] = mean[u] + slopes @ (row[o] - mean[o])
    second[np.ix_(u, u)] = covariance[np.ix_(u, u)] - slopes @ covariance[np.ix_(o, u)]
    seen = multivariate_normal(mean[o], covariance[np.ix_(o, o)]) if o.any() else None
    log_density = 0.0 if seen is None else seen.logpdf(row[o])
    return log_density, first, second + np.outer(first, first)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_densities_and_sums__are_the_plain_ones(kind):
    values = rows_with_holes(300)
    _, means, covariances, _ = parameters(kind)
    rows = IncompleteRows.from_rows(values)
    assert sorted(rows.places) == np.flatnonzero(np.isnan(values).any(axis=1)).tolist()
    weight = default_rng(1).uniform(size=(len(rows.places), K))
    expected = [
        [completed(values[place], *pair) for pair in zip(means, matrices(covariances), strict=True)]
        for place in rows.places
    ]
    plain = np.array([[of_one[0] for of_one in of_row] for of_row in expected])
    np.testing.assert_allclose(log_densities(rows, means, covariances), plain, atol=1e-9)
    found = completed_sums(rows, weight, means, covariances)
    np.testing.assert_allclose(found.counts, weight.sum(axis=0))
    first = np.array([[of_one[1] for of_one in of_row] for of_row in expected])
    np.testing.assert_allclose(found.sums, np.einsum("nk,nkd->kd", weight, first), atol=1e-9)
    second = np.array([[of_one[2] for of_one in of_row] for of_row in expected])
    second = np.einsum("nk,nkde->kde", weight, second)
    if kind == "diag":
        second = np.diagonal(second, axis1=1, axis2=2)
    np.testing.assert_allclose(found.second_moments, second, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float64", 1e-8), pytest.param("float32", 1e-3, marks=pytest.mark.slow)],
)
@pytest.mark.quick_cases("float64-1e-08-full")
def test_e_step__is_that_of_marginals_and_conditional_moments(kind, dtype, tolerance):
    values = rows_with_holes(2500, offset=3.0)
    weight = default_rng(2).uniform(0, 3, len(values))
    weights, means, covariances, frame = parameters(kind, offset=3.0)
    mixture = densities(kind, dtype, offset=3.0)
    statistic, work = OwnCovarianceSums(mixture), Workspace()
    state = statistic.init()
    statistic.update(state, block_of(values, weight), work)
    found = statistic.finalize(state)
    joint, first, second = np.empty((2500, K)), np.empty((2500, K, D)), np.empty((2500, K, D, D))
    for number, row in enumerate(values):
        for h, pair in enumerate(zip(means, matrices(covariances), strict=True)):
            joint[number, h], first[number, h], second[number, h] = completed(row, *pair)
    joint += np.log(weights)
    found_joint = np.empty((2500, K))
    mixture.log_joint(block_of(values), found_joint, work)
    np.testing.assert_allclose(found_joint - mixture.log_volume, joint, atol=50 * tolerance)
    assert found.log_likelihood == pytest.approx(weight @ logsumexp(joint, axis=1), rel=1e-5)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * weight[:, None]
    np.testing.assert_allclose(found.counts, posterior.sum(axis=0), rtol=tolerance)
    expected_means = np.einsum("nk,nkd->kd", posterior, first) / posterior.sum(axis=0)[:, None]
    of_frame = found.sums / found.counts[:, None]
    np.testing.assert_allclose(frame.to_data(of_frame), expected_means, atol=tolerance)
    expected = np.einsum("nk,nkde->kde", posterior, second) / posterior.sum(axis=0)[:, None, None]
    expected -= np.einsum("kd,ke->kde", expected_means, expected_means)
    if kind != "full":
        expected = np.diagonal(expected, axis1=1, axis2=2)
    if kind == "spherical":
        expected = expected.mean(axis=1)
    moments = found.second_moments / found.counts.reshape(-1, *[1] * (expected.ndim - 1))
    if kind == "spherical":
        moments = (moments - np.square(of_frame).sum(axis=1)) / D
    elif kind == "diag":
        moments = moments - of_frame**2
    else:
        moments = moments - np.einsum("kd,ke->kde", of_frame, of_frame)
    np.testing.assert_allclose(
        frame.covariances_to_data(moments), expected, atol=20 * tolerance, rtol=tolerance
    )


def test_completed_rows__have_conditional_means():
    values = rows_with_holes(50)
    _, means, covariances, _ = parameters("full")
    expected = np.array([completed(row, means[0], covariances[0])[1] for row in values])
    found = completed_rows(values, means[0], covariances[0])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    variances = np.diag(covariances[0])
    of_means = completed_rows(values, means[0], variances)
    np.testing.assert_array_equal(of_means, np.where(np.isnan(values), means[0], values))


@pytest.mark.parametrize(("d", "wide"), [(5, False), (48, True)])
def test_sums__need_features_and_no_densities(d, wide):
    rng = default_rng(4)
    values = 2 + rng.normal(size=(60, d))
    values[::2][rng.random((30, d)) < 0.3] = np.nan
    roots = rng.normal(size=(2, d, d)) / np.sqrt(d)
    means, covariances = rng.normal(size=(2, d)), roots @ roots.transpose(0, 2, 1) + np.eye(d)
    weights = np.array([0.3, 0.7])
    frame = Frame(np.zeros(d), np.ones(d))
    mixture = OwnCovarianceDensities(weights, means, covariances, frame)
    assert mixture.is_wide == wide
    block, work = Block(values, {"all": slice(0, d)}, 0, 60), Workspace()
    joint, posterior = np.empty((60, 2)), rng.uniform(size=(60, 2))
    moments = [
        [completed(row, *pair) for pair in zip(means, covariances, strict=True)] for row in values
    ]
    sums = [np.zeros((mixture.features.width, 2)) for _ in range(2)]
    for _, tile in mixture.tiles(block, work):
        tile.write_log_joint(joint)
        tile.add_sums(posterior, sums[0], work)
    for _, tile in mixture.tiles(block, work):
        tile.write_features()
        tile.add_sums(posterior, sums[1], work)
    np.testing.assert_array_equal(*sums)
    plain = np.array([[of_one[0] for of_one in of_row] for of_row in moments])
    np.testing.assert_allclose(joint - mixture.log_volume, plain + np.log(weights), atol=1e-9)
    first = np.array([[of_one[1] for of_one in of_row] for of_row in moments])
    n_quadratic = mixture.features.n_quadratic
    np.testing.assert_allclose(sums[0][-1], posterior.sum(axis=0))
    np.testing.assert_allclose(
        sums[0][n_quadratic:-1].T, np.einsum("nk,nkd->kd", posterior, first), atol=1e-9
    )
    second = np.einsum("nk,nkde->kde", posterior, [[one[2] for one in row] for row in moments])
    np.testing.assert_allclose(mixture.features.second_moments(sums[0]), second, atol=1e-8)
