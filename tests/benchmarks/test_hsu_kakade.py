"""The method of moments for spherical Gaussians, on the moments of a population and on rows."""

import numpy as np
import pytest
from scipy import stats

from tests.benchmarks.baselines.hsu_kakade import (
    RawMoments,
    spherical_mixture,
    spherical_spectral_densities,
)

pytestmark = pytest.mark.benchmark

WEIGHTS = np.array([0.5, 0.3, 0.2])
MEANS = np.array([[2.0, 0.0, 1.0], [-1.0, 3.0, 0.0], [0.0, -1.0, -2.0]])
DEVIATIONS = np.array([0.5, 0.8, 1.1])


def population_moments(weights, means, deviations):
    """Moments of the mixture: those of every normal vector, by Isserlis' theorem."""
    d = means.shape[1]
    second, third = np.zeros((d, d)), np.zeros((d, d, d))
    for weight, m, s in zip(weights, means, deviations, strict=True):
        second += weight * (np.outer(m, m) + s**2 * np.eye(d))
        third += weight * np.einsum("a,b,c->abc", m, m, m)
        for axes in ("a,bc->abc", "b,ac->abc", "c,ab->abc"):
            third += weight * np.einsum(axes, m, s**2 * np.eye(d))
    return RawMoments(weights @ means, second, third)


@pytest.mark.parametrize("k", [2, 3])
def test_spherical_mixture__is_exact_on_the_moments_of_the_population(k: int):
    weights = WEIGHTS[:k] / WEIGHTS[:k].sum()
    mixture = spherical_mixture(population_moments(weights, MEANS[:k], DEVIATIONS[:k]), k)
    order = np.argsort(-mixture.weights)
    np.testing.assert_allclose(mixture.weights[order], weights, atol=1e-10)
    np.testing.assert_allclose(mixture.means[order], MEANS[:k], atol=1e-10)
    np.testing.assert_allclose(mixture.variances[order], DEVIATIONS[:k] ** 2, atol=1e-9)


def test_raw_moments__of_rows_approach_those_of_the_population():
    rows = spherical_rows(200_000)
    measured, true = RawMoments.of(rows), population_moments(WEIGHTS, MEANS, DEVIATIONS)
    np.testing.assert_allclose(measured.mean, true.mean, atol=0.02)
    np.testing.assert_allclose(measured.third, true.third, atol=0.3)


def test_spherical_spectral_densities__are_close_on_many_rows():
    rows = spherical_rows(200_000)
    grids = [np.linspace(-6, 6, 200)] * 3
    densities = spherical_spectral_densities(rows, 3, grids)
    assert densities is not None
    true = [stats.norm.pdf(grids[0][:, None], MEANS[:, view], DEVIATIONS) for view in range(3)]
    order = [int(np.argmin(np.abs(densities[0] - one[:, None]).sum(axis=0))) for one in true[0].T]
    assert sorted(order) == [0, 1, 2]
    for one, other in zip(densities, true, strict=True):
        np.testing.assert_allclose(one[:, order], other, atol=0.03)


def test_spherical_spectral_densities__do_not_depend_on_the_origin():
    rows, grids = spherical_rows(5000), [np.linspace(-6, 6, 50)] * 3
    here = spherical_spectral_densities(rows, 3, grids)
    # about the second mean, one mean is zero and the three are linearly dependent
    there = spherical_spectral_densities(
        rows - MEANS[1], 3, [grid - shift for grid, shift in zip(grids, MEANS[1], strict=True)]
    )
    assert here is not None
    assert there is not None
    np.testing.assert_allclose(np.array(there), np.array(here), atol=1e-6)


def test_spherical_spectral_densities__do_not_apply_to_more_components_than_columns():
    assert spherical_spectral_densities(spherical_rows(100), 4, []) is None


def spherical_rows(rows: int):
    """Rows of the mixture."""
    rng = np.random.default_rng(3)
    label = rng.choice(3, rows, p=WEIGHTS)
    return MEANS[label] + DEVIATIONS[label][:, None] * rng.standard_normal((rows, 3))
