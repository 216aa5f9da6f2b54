import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from bigtensor.features.buffers import padded_width
from bigtensor.features.kernels.kernel import LaplaceKernel
from bigtensor.statistics.base import Workspace


def density(x, landmarks, scale):
    return laplace.pdf(x[:, None, :], landmarks[None], scale).prod(axis=2)


def block(kernel, x, landmarks, centre, dtype):
    out = np.full((len(landmarks), padded_width(len(x))), np.nan, dtype)
    kernel.write_block(x, kernel.prepare(landmarks, centre, dtype), centre, out, Workspace())
    assert np.isfinite(out).all()
    return out[:, : len(x)].T.astype(float) * kernel.peak


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("p", [1, 32, 71])
def test_laplace_kernel__is_a_product_of_laplace_densities(d, p):
    rng = np.random.default_rng(d)
    scale = rng.uniform(0.3, 2, d)
    x, landmarks = rng.normal(size=(40, d)), rng.normal(size=(p, d))
    kernel = LaplaceKernel(scale)
    expected = density(x, landmarks, scale)
    assert kernel.width == d
    np.testing.assert_allclose(kernel.evaluate(x, landmarks), expected, rtol=1e-12)
    written = block(kernel, x, landmarks, np.full(d, 0.1), "float64")
    np.testing.assert_allclose(written, expected, rtol=1e-12)


def test_laplace_kernel__has_mass_one():
    kernel = LaplaceKernel(np.array([0.7]))

    def value(x):
        return kernel.evaluate(np.array([[x]]), np.array([[0.4]]))[0, 0]

    left, right = quad(value, -np.inf, 0.4)[0], quad(value, 0.4, np.inf)[0]
    assert left + right == pytest.approx(1, rel=1e-8)
    np.testing.assert_array_equal(kernel.masses(np.array([[0.4], [9.0]])), [1, 1])


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("input_dtype", ["float32", "float64"])
def test_laplace_kernel__float32_is_accurate_far_from_zero(offset, input_dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(500, 2)) * 3 + offset).astype(input_dtype)
    landmarks = rng.normal(size=(30, 2)) * 3 + offset
    kernel = LaplaceKernel(np.array([0.4, 0.5]))
    written = block(kernel, x, landmarks, x.mean(0, dtype="f8"), "float32")
    error = np.abs(written - density(x.astype(float), landmarks, kernel.scale))
    assert error.max() < 5e-6 * kernel.peak


def test_laplace_kernel__rows_out_of_all_proportion_have_no_weight():
    x = np.array([[0.0], [1e30], [-3e38], [3e38]], np.float32)
    kernel = LaplaceKernel(np.array([1e-3]))
    written = block(kernel, x, np.zeros((1, 1)), np.zeros(1), "float32")
    np.testing.assert_allclose(written[:, 0], [kernel.peak, 0, 0, 0], rtol=1e-6)
