"""Spectral estimation from histograms."""

import numpy as np
import pytest

from bigtensor.data.simulate import kernel_mixture
from bigtensor.decomposition.multiview.multiview_mixture import solve_multiview_mixture
from tests.benchmarks.accuracy.truth import Truth
from tests.benchmarks.baselines.histogram_spectral import (
    histogram_spectral_densities,
    indicator_moments,
    n_bins,
)

pytestmark = pytest.mark.benchmark


def test_n_bins__is_clipped():
    assert [n_bins(rows, 4) for rows in (8, 1000, 10_000, 1_000_000)] == [6, 20, 43, 60]


def test_indicator_moments__are_means_of_products_of_indicators():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (50, 3))
    frequencies = np.zeros((4, 4, 4))
    np.add.at(frequencies, tuple(codes.T), 1 / 50)
    indicators = [np.hstack([np.ones((50, 1)), np.eye(4)[column]]) for column in codes.T]
    moments = indicator_moments(frequencies, 50)
    np.testing.assert_allclose(
        moments.triple, np.einsum("ia,ib,ic->abc", *indicators) / 50, atol=1e-15
    )
    for second, features in zip(moments.seconds, indicators, strict=True):
        np.testing.assert_allclose(second, features.T @ features / 50, atol=1e-15)


def test_indicator_moments__of_a_population_give_its_frequencies():
    rng = np.random.default_rng(1)
    weights, shares = np.array([0.6, 0.4]), rng.dirichlet(np.ones(5), (3, 2))
    table = np.einsum("h,ha,hb,hc->abc", weights, *shares)
    mixture = solve_multiview_mixture(indicator_moments(table, 100), 2, [np.ones(5)] * 3)
    np.testing.assert_allclose(mixture.weights, weights, atol=1e-10)
    for estimated, true in zip(mixture.embeddings, shares, strict=True):
        np.testing.assert_allclose(estimated, true.T, atol=1e-10)


def test_histogram_spectral_densities__approach_the_truth():
    errors = []
    for rows in (1000, 100_000):
        truth = Truth.of(kernel_mixture(rows, 3, random_state=3))
        densities = histogram_spectral_densities(truth.values, 3, truth.grids)
        assert densities is not None
        for density, grid in zip(densities, truth.grids, strict=True):
            assert (density >= 0).all()
            np.testing.assert_allclose(np.trapezoid(density, grid, axis=0), 1.0, atol=0.02)
        errors.append(truth.error(densities))
    assert errors[1] < 0.04 < errors[0] < 0.2


def test_histogram_spectral_densities__have_no_estimate_where_a_view_is_constant():
    values = np.random.default_rng(2).standard_normal((500, 3))
    values[:, 1] = 1.0
    assert histogram_spectral_densities(values, 2, [np.linspace(-3, 3, 10)] * 3) is None
