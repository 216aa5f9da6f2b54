"""Axes, orthogonal updates and lengths of columns against linear algebra in full."""

import numpy as np
import pytest

from bigtensor.decomposition.sources.independent_components import (
    mean_turn,
    part_of_turn,
    principal_axes,
    squared_lengths,
    symmetric_orthogonalisation,
    unscaled_axes,
)
from bigtensor.errors import DataError, IdentifiabilityError


def covariance_of(d, rank, seed=0):
    root = np.random.default_rng(seed).standard_normal((d, rank))
    return root @ root.T


def test_axes__whiten_the_covariance():
    covariance = covariance_of(5, 5)
    axes = principal_axes(covariance, np.zeros(5))
    assert axes.whitening.T @ covariance @ axes.whitening == pytest.approx(np.eye(5), abs=1e-10)
    assert axes.unwhitening.T @ axes.whitening == pytest.approx(np.eye(5), abs=1e-10)
    assert axes.unwhitening @ axes.unwhitening.T == pytest.approx(covariance, abs=1e-10)
    scales = np.sqrt(np.diag(covariance))
    values = np.linalg.eigvalsh(covariance / np.outer(scales, scales))[::-1]
    assert axes.eigenvalues == pytest.approx(values, rel=1e-10)
    assert axes.condition == pytest.approx(np.sqrt(values[0] / values[-1]), rel=1e-9)


def test_axes__are_those_that_are_not_rounding():
    axes = principal_axes(covariance_of(6, 4), np.zeros(6))
    assert (axes.rank, axes.whitening.shape) == (4, (6, 4))
    assert axes.largest(2).whitening == pytest.approx(axes.whitening[:, :2])
    with pytest.raises(IdentifiabilityError, match=r"along 4 axes.*n_components=4"):
        axes.largest(5)
    # variances of this size are rounding of the values
    noisy = covariance_of(6, 4) + 1e-6 * np.eye(6)
    assert principal_axes(noisy, np.zeros(6)).rank == 6
    assert principal_axes(noisy, np.full(6, 2e-6)).rank == 4


def test_axes__have_no_part_of_constant_features():
    covariance = np.zeros((4, 4))
    covariance[:3, :3] = covariance_of(3, 3)
    axes = principal_axes(covariance, np.zeros(4))
    assert axes.varying.tolist() == [True] * 3 + [False]
    assert axes.rank == 3
    assert not axes.whitening[3].any()
    with pytest.raises(DataError, match="all features are constant"):
        principal_axes(np.zeros((2, 2)), np.zeros(2))


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("condition", [1.0, 1e-5])
def test_orthogonalisation__is_the_polar_factor(k, condition):
    matrix = np.random.default_rng(1).standard_normal((5, k))
    matrix[:, 0] = condition * matrix[:, 0] + matrix[:, 1] * (condition < 1)
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    assert symmetric_orthogonalisation(matrix) == pytest.approx(left @ right, abs=1e-9)


def test_mean_turn__is_the_sine_of_the_angle():
    angle = 0.3
    before = np.eye(2)
    after = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]).T
    assert mean_turn(before, -after) == pytest.approx(np.sin(angle), rel=1e-12)
    assert mean_turn(before, before) == 0


@pytest.mark.parametrize(("d", "k"), [(6, 4), (6, 9), (4, 4)])
def test_squared_lengths__separate_sources_from_noise_of_every_feature(d, k):
    rng = np.random.default_rng(2)
    columns = rng.standard_normal((d, k))
    columns /= np.linalg.norm(columns, axis=0)
    lengths, noise = rng.uniform(0.5, 2, k), rng.uniform(0, 0.5, d)
    covariance = (columns * lengths) @ columns.T + np.diag(noise)
    assert squared_lengths(columns, covariance) == pytest.approx(lengths, abs=1e-4)


def test_squared_lengths__are_not_negative():
    columns = np.array([[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]])
    found = squared_lengths(columns[:, :2], np.diag([2.0, 3.0]))
    # noise or source: what sources explain is no noise
    assert found == pytest.approx([2, 3], abs=1e-4)
    opposite = np.array([[1.0, -0.7], [-0.7, 1.0]])
    assert squared_lengths(columns, opposite)[2] == 0


def test_unscaled_axes__are_eigenvectors_of_the_covariance():
    covariance = covariance_of(6, 4)
    axes = unscaled_axes(covariance, 1e-10)
    assert axes.rank == 4
    assert axes.whitening.T @ covariance @ axes.whitening == pytest.approx(np.eye(4), abs=1e-8)
    assert axes.unwhitening @ axes.unwhitening.T == pytest.approx(covariance, abs=1e-8)
    assert axes.whitening.T @ axes.unwhitening == pytest.approx(np.eye(4), abs=1e-8)
    assert axes.scales.tolist() == [1.0] * 6
    with pytest.raises(DataError, match="all features are constant"):
        unscaled_axes(np.zeros((2, 2)), 1e-10)


def test_part_of_turn__leads_half_the_angle_whatever_the_signs():
    angle = 0.6
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    half = part_of_turn(np.eye(2), turned * [1.0, -1.0], 0.5)
    expected = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    assert half == pytest.approx(expected)
    assert part_of_turn(np.eye(2), turned, 1.0) is turned
