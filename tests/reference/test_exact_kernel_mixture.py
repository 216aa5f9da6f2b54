"""The oracle itself, against ground truth."""

import numpy as np
import pytest

from tests.reference.exact_kernel_mixture import (
    align,
    conditional_density,
    decompose_moments,
    different_views_from_moments,
    exact_coordinates,
    gaussian_gram,
    population,
    symmetric_views,
)


def test_gaussian_gram__has_mass_one():
    grid = np.linspace(-12, 12, 2001)[:, None]
    mass = gaussian_gram(grid, np.array([[0.3]]), 1.3).sum() * (grid[1, 0] - grid[0, 0])
    assert mass == pytest.approx(1.0, abs=1e-12)


def test_exact_coordinates__reproduce_the_kernel():
    x = np.random.default_rng(0).standard_normal((60, 2))
    gram = gaussian_gram(x, x, 1.0)
    z = gram @ exact_coordinates(gram)
    np.testing.assert_allclose(z @ z.T, gram, atol=1e-9)


@pytest.mark.parametrize("decomposition", ["jacobi", "power"])
@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.quick_cases("0-jacobi", "0-power")
def test_different_views__recover_population_factors(target, decomposition):
    true = population(3, (3, 5, 7), seed=11)
    augmented = true.triple
    first_pairs = {
        (0, 1): augmented[1:, 1:, 0],
        (0, 2): augmented[1:, 0, 1:],
        (1, 2): augmented[0, 1:, 1:],
    }
    moments = {**first_pairs, **{(b, a): pair.T for (a, b), pair in first_pairs.items()}}
    moments |= {(a, a): true.seconds[a][1:, 1:] for a in range(3)}
    exact = different_views_from_moments(moments, augmented[1:, 1:, 1:], 3, target, decomposition)
    order = align(exact.means[0], true.means[0])
    np.testing.assert_allclose(exact.weights[order], true.weights, atol=1e-10)
    for estimated, mean in zip(exact.means, true.means, strict=True):
        np.testing.assert_allclose(estimated[:, order], mean, atol=1e-10)


@pytest.mark.parametrize("decomposition", ["jacobi", "power"])
def test_symmetric_moments__recover_population_factors(decomposition):
    random = np.random.default_rng(5)
    mean, weights = random.standard_normal((6, 3)), np.array([0.5, 0.3, 0.2])
    pair = np.einsum("h,ih,jh->ij", weights, mean, mean)
    third = np.einsum("h,ih,jh,kh->ijk", weights, mean, mean, mean)
    estimated, estimated_weights = decompose_moments(pair, third, 3, decomposition)
    order = align(estimated, mean)
    np.testing.assert_allclose(estimated[:, order], mean, atol=1e-10)
    np.testing.assert_allclose(estimated_weights[order], weights, atol=1e-10)


def test_symmetric_views__give_the_conditional_densities():
    random = np.random.default_rng(1)
    centres, n = np.array([-3.0, 3.0]), 400
    label = random.choice(2, n, p=[0.35, 0.65])
    x = centres[label] + random.standard_normal((3, n))
    pooled = x.reshape(-1, 1)
    coordinates = exact_coordinates(gaussian_gram(pooled, pooled, 0.8))
    z = [gaussian_gram(view[:, None], pooled, 0.8) @ coordinates for view in x]
    exact = symmetric_views(z, 2)
    grid = np.linspace(-8, 8, 201)[:, None]
    density = conditional_density(gaussian_gram(grid, pooled, 0.8), coordinates, exact.means[0])
    spread = np.sqrt(1 + 0.8**2)
    smoothed = np.exp(-(((grid - centres) / spread) ** 2) / 2) / np.sqrt(2 * np.pi) / spread
    order = align(density, smoothed)
    assert np.abs(density[:, order] - smoothed).max() < 0.03
    np.testing.assert_allclose(exact.weights[order], [0.35, 0.65], atol=0.05)
