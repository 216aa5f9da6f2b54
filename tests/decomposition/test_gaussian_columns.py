import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.decomposition.sample_tensors.gaussian_columns import (
    columns_of_spherical,
    columns_of_tied,
    columns_with_constant,
    spherical_noise,
)
from bigtensor.decomposition.sample_tensors.terms import Terms


def drawn(d, k, seed=0):
    rng = default_rng(seed)
    weights = rng.dirichlet(np.full(k, 5.0))
    columns = rng.normal(size=(d, k)) * rng.uniform(0.5, 2, k)
    return weights, columns - (columns @ weights)[:, None]


def centred_terms(weights, columns):
    return Terms.of_columns(weights, (columns,), (3,))


def test_spherical_noise__is_the_difference_of_explicit_moments():
    """The third moment of a component with Gaussian noise is a sum over pairs of noise."""
    d, constant, variance = 4, 1.5, 0.7
    mean = np.append(constant, np.zeros(d))
    noise = variance * np.diag(np.append(0.0, np.ones(d)))
    explicit = (
        np.einsum("i,jl->ijl", mean, noise)
        + np.einsum("j,il->ijl", mean, noise)
        + np.einsum("l,ij->ijl", mean, noise)
    )
    columns = default_rng(1).normal(size=(d + 1, 6))
    expected = np.einsum("ijl,jz,lz->iz", explicit, columns, columns)
    (found,) = spherical_noise(constant, variance)((columns,))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("d", "k"), [(6, 5), (6, 9), (10, 10)])
def test_columns_of_spherical__are_exact_on_exact_moments(d, k):
    weights, columns = drawn(d, k)
    covariance = (columns * weights) @ columns.T + 0.3 * np.eye(d)
    found = columns_of_spherical(centred_terms(weights, columns), covariance)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-8)
    np.testing.assert_allclose(found.columns, columns, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("d", "k"), [(6, 5), (10, 10)])
def test_columns_of_tied__are_exact_whatever_the_noise(d, k):
    weights, columns = drawn(d, k)
    found = columns_of_tied(centred_terms(weights, columns))
    np.testing.assert_allclose(found.weights, weights, rtol=1e-8)
    np.testing.assert_allclose(found.columns, columns, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_columns_with_constant__are_exact_for_few_components(k):
    weights, columns = drawn(5, k)
    extended = np.vstack([np.full(k, 0.8), columns])
    terms = Terms.of_columns(weights, (extended,), (3,))
    found = columns_with_constant(terms, 0.8)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-10)
    np.testing.assert_allclose(found.columns, columns, rtol=1e-10)
