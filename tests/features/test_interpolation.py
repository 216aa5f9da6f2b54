"""Interpolated features against exact ones in float64, and against kernels in float32."""

from dataclasses import replace

import numpy as np
import pytest

from bigtensor.features.buffers import padded_width
from bigtensor.features.group_map import GroupMap
from bigtensor.features.interpolation import (
    MOST_NBYTES,
    REACH,
    InterpolatedFeatures,
    tabulate,
)
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel
from bigtensor.features.kernels.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.features.plain_maps import OneHot
from bigtensor.statistics.base import Workspace


def orthonormal_map(seed, q=12, p=60, offset=0.0, width=0.3):
    """Return the leading orthonormal features of two clusters, as a fit makes them."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(size=2000) + 6 * (rng.random(2000) < 0.4))[:, None] + offset
    kernel = GaussianKernel(np.array([width]))
    landmarks = x[np.linspace(0, len(x) - 1, p).astype(int)]
    root = nystroem_root(kernel.evaluate(landmarks, landmarks), eigenvalue_cut("float32"))
    return Nystroem(landmarks, kernel, x.mean(axis=0), root[:, :q], "float32"), x


def exact(feature_map, x):
    return feature_map.kernel.evaluate(x, feature_map.landmarks) @ feature_map.projection


def computed(feature_map, x):
    """Return the features in float32 without a table."""
    basis = np.empty((feature_map.n_basis, padded_width(len(x))), "f4")
    feature_map.write_basis(x, basis, Workspace())
    return (feature_map.mixing.T.astype("f4") @ basis)[:, : len(x)].T


def interpolated(tables, values):
    out = np.full((len(values[0]), tables.coefficients.shape[1]), np.nan, "f4")
    tables.evaluate(values, out, Workspace(), add=False)
    return out


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_interpolated_features__are_closer_to_the_exact_ones_than_float32_kernels(offset):
    feature_map, x = orthonormal_map(0, offset=offset)
    table = tabulate(feature_map)
    rng = np.random.default_rng(1)
    # data, and rows anywhere between and beyond the landmarks
    rows = np.vstack([x, rng.uniform(x.min() - 2, x.max() + 2, (20_000, 1))])
    expected = exact(feature_map, rows)
    scale = np.abs(expected).max()
    error = np.abs(interpolated(table, [rows]) - expected).max() / scale
    assert error < 3e-6
    assert error < 0.3 * np.abs(computed(feature_map, rows) - expected).max() / scale


def test_interpolated_features__vanish_far_away_and_keep_nan_to_its_row():
    feature_map, x = orthonormal_map(1)
    values = np.array([[x[5, 0]], [np.inf], [np.nan], [-np.inf], [1e300], [-1e300], [x[9, 0]]])
    found = interpolated(tabulate(feature_map), [values])
    assert np.isnan(found[2]).all()
    assert (found[[1, 3, 4, 5]] == 0).all()
    expected = exact(feature_map, x[[5, 9]])
    assert np.abs(found[[0, 6]] - expected).max() < 3e-6 * np.abs(expected).max()


def test_interpolated_features__are_continuous_where_the_grid_ends():
    feature_map, x = orthonormal_map(2)
    landmarks, width = feature_map.landmarks, feature_map.kernel.bandwidth[0]
    scale = np.abs(exact(feature_map, x)).max()
    for end in (landmarks.min() - REACH * width, landmarks.max() + REACH * width):
        rows = np.linspace(end - width, end + width, 1001)[:, None]
        found = interpolated(tabulate(feature_map), [rows])
        assert np.abs(found).max() < 1e-8 * scale
        assert (found == 0).any()


def test_interpolated_features__add_up_over_views_of_different_grids():
    maps = [orthonormal_map(seed, width=0.2 + 0.1 * seed) for seed in range(3)]
    tables = InterpolatedFeatures.stack([tabulate(feature_map) for feature_map, _ in maps])
    assert len(set(tables.counts)) == 3
    rows = [x[::-1][:1500] for _, x in maps]
    expected = sum(exact(feature_map, x[::-1][:1500]) for feature_map, x in maps)
    assert np.abs(interpolated(tables, rows) - expected).max() < 5e-6 * np.abs(expected).max()


def test_interpolated_features__do_not_depend_on_the_block():
    feature_map, x = orthonormal_map(3)
    table = tabulate(feature_map)
    whole = interpolated(table, [x])
    parts = [interpolated(table, [x[start : start + 300]]) for start in range(0, len(x), 300)]
    np.testing.assert_array_equal(np.vstack(parts), whole)
    assert interpolated(table, [x[:0]]).shape == (0, 12)


def test_group_map__adds_interpolated_and_computed_views():
    narrow, x = orthonormal_map(4)
    rng = np.random.default_rng(4)
    wide = Nystroem(
        rng.normal(size=(20, 2)),
        GaussianKernel(np.ones(2)),
        np.zeros(2),
        rng.normal(size=(20, 12)),
        "float32",
    )
    y = rng.normal(size=(len(x), 2))
    group = GroupMap(("n", "w", "m"), (narrow, wide, narrow))
    assert (group.tabulated, group.computed) == ((0, 2), (1,))
    out = np.empty((len(x), 12), "f4")
    group.evaluate([x, y, x[::-1]], out, Workspace())
    expected = exact(narrow, x) + exact(wide, y) + exact(narrow, x[::-1])
    assert np.abs(out - expected).max() < 5e-6 * np.abs(expected).max()


def test_tabulate__leaves_other_maps_to_be_computed():
    feature_map, _ = orthonormal_map(5)
    wide = Nystroem(
        np.zeros((3, 2)), GaussianKernel(np.ones(2)), np.zeros(2), np.ones((3, 4)), "float32"
    )
    cornered = replace(feature_map, kernel=LaplaceKernel(np.ones(1)))
    others = (replace(feature_map, dtype="float64"), cornered, wide, OneHot(np.arange(3.0)))
    assert [tabulate(other) for other in others] == [None] * 4


def test_tabulate__stops_at_a_size():
    feature_map, _ = orthonormal_map(6)
    sizes = []
    for factor in np.geomspace(1, 1e4, 30):
        table = tabulate(replace(feature_map, landmarks=factor * feature_map.landmarks))
        sizes.append(0 if table is None else table.coefficients.nbytes)
    assert max(sizes) <= 1.01 * MOST_NBYTES
    assert min(sizes) == 0
    assert sum(sizes[:15]) > MOST_NBYTES
    beyond = feature_map.landmarks.copy()
    beyond[0] = np.inf
    assert tabulate(replace(feature_map, landmarks=beyond)) is None
