"""Shrinkage of covariances towards one covariance."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.optimize import approx_fprime
from scipy.stats import invwishart

from bigtensor.decomposition.gaussian.covariance_shrinkage import CovarianceShrinkage


def covariances(k, d, seed=0):
    """Return positive definite matrices."""
    roots = default_rng(seed).normal(size=(k, d, d + 2))
    return roots @ roots.transpose(0, 2, 1)


def test_log_density__is_that_of_an_inverse_wishart_distribution():
    centre, *others = covariances(4, 3)
    rows, weight = 200.0, 0.15
    shrinkage = CovarianceShrinkage(centre, weight)
    # the mode of the density is its scale over (degrees of freedom + d + 1)
    df = rows * weight - 4
    scale = rows * weight * centre
    expected = sum(
        invwishart(df, scale).logpdf(one) - invwishart(df, scale).logpdf(centre) for one in others
    )
    assert rows * shrinkage.log_density(np.array(others)) == pytest.approx(expected)


def test_log_density__is_zero_at_the_centre():
    (centre,) = covariances(1, 4)
    assert CovarianceShrinkage(centre, 0.2).log_density(np.array([centre] * 3)) == pytest.approx(0)


def test_shrinkage__is_the_maximum_of_likelihood_and_density():
    centre, own = covariances(2, 2)
    share, shrinkage = 0.3, CovarianceShrinkage(centre, 0.1)
    (maximum,) = shrinkage.towards_centre(np.array([share]), own[None])

    def penalised(root):
        covariance = root.reshape(2, 2) @ root.reshape(2, 2).T
        likelihood = np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, own))
        return -0.5 * share * likelihood + shrinkage.log_density(covariance[None])

    gradient = approx_fprime(np.linalg.cholesky(maximum).ravel(), penalised, 1e-7)
    np.testing.assert_allclose(gradient, 0, atol=1e-5)
