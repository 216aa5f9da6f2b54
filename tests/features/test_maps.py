import pickle
from dataclasses import replace

import numpy as np
import pytest

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.buffers import padded_width
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import GaussianKernel
from bigtensor.features.kernels.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.statistics.base import Workspace


def make_map(seed, p, d, q, dtype="float64"):
    rng = np.random.default_rng(seed)
    kernel = GaussianKernel(rng.uniform(0.5, 1.5, d))
    landmarks = rng.normal(size=(p, d))
    return Nystroem(landmarks, kernel, np.full(d, 0.2), rng.normal(size=(p, q)), dtype)


def features(group, values):
    out = np.full((len(values[0]), group.n_features), np.nan, group.dtype)
    group.evaluate(values, out, Workspace())
    return out


def test_nystroem__with_landmarks_at_the_data_reproduces_the_gram_matrix():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    kernel = GaussianKernel(np.array([0.4, 0.6]))
    gram = kernel.evaluate(x, x)
    root = nystroem_root(gram, eigenvalue_cut("float64"))
    z = features(GroupMap(("a",), (Nystroem(x, kernel, x.mean(0), root, "float64"),)), [x])
    assert np.abs(z @ z.T - gram).max() < 1e-8 * gram.max()


def test_nystroem_root__drops_eigenvalues_below_the_cut():
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    gram = basis * np.array([1, 0.5, 1e-5, 1e-8, 1e-12]) @ basis.T
    assert nystroem_root(gram, eigenvalue_cut("float32")).shape == (5, 3)
    root = nystroem_root(gram, eigenvalue_cut("float64"))
    assert root.shape == (5, 4)
    np.testing.assert_allclose(root.T @ gram @ root, np.eye(4), atol=1e-6)


@pytest.mark.parametrize("gram", [np.full((2, 2), np.nan), np.zeros((0, 0)), np.zeros((2, 2))])
def test_nystroem_root__refuses_a_matrix_without_eigenvalues(gram):
    with pytest.raises(DataError, match="Gram matrix"):
        nystroem_root(gram, 1e-6)


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 1024, 1536])
def test_group_map__adds_the_projected_kernels_of_its_views(rows):
    maps = (make_map(0, 30, 1, 4), make_map(1, 20, 3, 4))
    rng = np.random.default_rng(rows)
    values = [rng.normal(size=(rows, 1)), rng.normal(size=(rows, 3))]
    expected = sum(
        m.kernel.evaluate(v, m.landmarks) @ m.projection for m, v in zip(maps, values, strict=True)
    )
    group = GroupMap(("a", "b"), maps)
    np.testing.assert_allclose(features(group, values), expected, rtol=1e-10, atol=1e-12)


def test_group_map__projects_in_parts_when_the_projection_is_large():
    group = GroupMap(("a",), (make_map(3, 200, 1, 24),))
    x = np.random.default_rng(3).normal(size=(1000, 1))
    (nystroem,) = group.maps
    assert group._columns_at_once(1000) < 1000
    expected = nystroem.kernel.evaluate(x, nystroem.landmarks) @ nystroem.projection
    np.testing.assert_allclose(features(group, [x]), expected, rtol=1e-9, atol=1e-11)


def test_group_map__writes_into_a_slice_of_a_larger_buffer():
    group = GroupMap(("a",), (make_map(2, 10, 2, 3, "float32"),))
    x = np.random.default_rng(2).normal(size=(50, 2)).astype("f4")
    expected = features(group, [x])
    rows_first, features_first = np.zeros((60, 9), "f4"), np.zeros((9, 60), "f4")
    group.evaluate([x], rows_first[5:55, 2:5], Workspace())
    group.evaluate([x], features_first[2:5, 5:55].T, Workspace())
    np.testing.assert_allclose(rows_first[5:55, 2:5], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(features_first[2:5, 5:55].T, expected, rtol=1e-4, atol=1e-5)
    assert np.count_nonzero(rows_first) == np.count_nonzero(features_first) == 150


def test_group_map__masses_are_the_integrals_of_the_features():
    group = GroupMap(("a", "b"), (make_map(0, 6, 1, 2), make_map(1, 6, 1, 2)))
    grid = np.linspace(-20, 20, 4001)[:, None]
    for view, nystroem in enumerate(group.maps):
        alone = features(GroupMap(("v",), (nystroem,)), [grid])
        np.testing.assert_allclose(np.trapezoid(alone, grid, axis=0), group.masses[view], rtol=1e-8)


@pytest.mark.parametrize("rows", [1, 100, 1536])
def test_group_map__work_nbytes_are_what_it_takes(rows):
    maps = (make_map(0, 30, 1, 4, "float32"), make_map(1, 20, 3, 4, "float32"))
    work = Workspace()
    values = [np.zeros((rows, 1)), np.zeros((rows, 3))]
    group = GroupMap(("a", "b"), maps)
    group.evaluate(values, np.empty((rows, 4), "f4"), work)
    assert work.nbytes <= group.work_nbytes(rows) <= 1.01 * work.nbytes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_group_map__survives_pickling(dtype):
    group = GroupMap(("a", "b"), (make_map(0, 30, 1, 4, dtype), make_map(1, 20, 3, 4, dtype)))
    values = [np.ones((5, 1)), np.ones((5, 3))]
    again = pickle.loads(pickle.dumps(group))
    np.testing.assert_array_equal(features(again, values), features(group, values))


def test_group_map__refuses_maps_that_do_not_belong_together():
    one, other = make_map(0, 5, 1, 4), make_map(1, 5, 1, 3)
    with pytest.raises(ParameterError, match=r"number of features \(got \[3, 4\]\)"):
        GroupMap(("a", "b"), (one, other))
    with pytest.raises(ParameterError, match="dtype"):
        GroupMap(("a", "b"), (one, replace(one, dtype="float32")))
    with pytest.raises(ParameterError, match="got 2 views and 1 maps"):
        GroupMap(("a", "b"), (one,))
    with pytest.raises(ParameterError, match="do not belong together"):
        replace(one, centre=np.zeros(2))


@pytest.mark.parametrize("rows", [0, 1, 16, 17, 1024, 2048])
def test_padded_width__is_an_odd_multiple_of_16(rows):
    width = padded_width(rows)
    assert rows <= width < rows + 32
    assert width % 32 == 16
