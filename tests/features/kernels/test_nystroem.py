import pickle

import numpy as np
import pytest

from bigtensor.errors import ParameterError
from bigtensor.features.buffers import buffers_nbytes, padded_width
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel
from bigtensor.features.kernels.nystroem import Nystroem, eigenvalue_cut, nystroem_root
from bigtensor.statistics.base import Workspace


def half_laplace(x, landmarks):
    """A kernel without mass one: its integral is a half."""
    return 0.5 * LaplaceKernel(np.array([0.4])).evaluate(x, landmarks)


KERNELS = {
    "gaussian": GaussianKernel(np.array([0.3])),
    "laplace": LaplaceKernel(np.array([0.4])),
    "custom": CustomKernel(half_laplace, 1),
}


def make_map(kernel, q=3, dtype="float64"):
    rng = np.random.default_rng(1)
    landmarks = np.sort(rng.normal(size=(40, 1)), axis=0)
    return Nystroem(landmarks, kernel, np.full(1, 0.2), rng.normal(size=(40, q)), dtype)


def features(feature_map, x):
    work = Workspace()
    basis = np.full((feature_map.n_basis, padded_width(len(x))), np.nan, feature_map.dtype)
    feature_map.write_basis(x, basis, work)
    assert work.nbytes <= buffers_nbytes(feature_map.work_arrays(len(x)))
    return basis[:, : len(x)].T.astype(float) @ feature_map.mixing


@pytest.mark.parametrize("name", KERNELS)
def test_nystroem__projects_any_kernel(name):
    feature_map = make_map(KERNELS[name])
    x = np.random.default_rng(2).normal(size=(333, 1))
    expected = feature_map.kernel.evaluate(x, feature_map.landmarks) @ feature_map.projection
    np.testing.assert_allclose(features(feature_map, x), expected, rtol=1e-10, atol=1e-10)
    single = make_map(KERNELS[name], dtype="float32")
    scale = np.abs(feature_map.projection).sum() * feature_map.kernel.peak
    np.testing.assert_allclose(features(single, x), expected, atol=1e-6 * scale)
    again = pickle.loads(pickle.dumps(feature_map))
    np.testing.assert_array_equal(features(again, x), features(feature_map, x))


@pytest.mark.parametrize("name", KERNELS)
def test_nystroem__mass_is_the_integral_of_every_feature(name):
    feature_map = make_map(KERNELS[name])
    grid = np.linspace(-12, 12, 200_001)[:, None]
    expected = np.trapezoid(features(feature_map, grid), grid, axis=0)
    np.testing.assert_allclose(feature_map.mass, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_nystroem__with_landmarks_at_the_data_reproduces_the_gram_matrix(name):
    kernel = KERNELS[name]
    x = np.random.default_rng(3).normal(size=(60, 1))
    gram = kernel.gram(x)
    root = nystroem_root(gram, eigenvalue_cut("float64"))
    z = features(Nystroem(x, kernel, x.mean(0), root, "float64"), x)
    assert np.abs(z @ z.T - gram).max() < 1e-8 * gram.max()


def test_nystroem__refuses_a_kernel_of_another_width():
    with pytest.raises(ParameterError, match="with d = 2 of the kernel"):
        make_map(LaplaceKernel(np.ones(2)))
