import numpy as np
import pytest
from scipy.stats import norm

from bigtensor.errors import ParameterError
from bigtensor.features.buffers import padded_width
from bigtensor.features.kernels import GaussianKernel, write_gaussians


def density(x, landmarks, bandwidth):
    return norm.pdf(x[:, None, :], landmarks[None], bandwidth).prod(axis=2)


def block_kernel(kernel, x, landmarks, centre, dtype):
    rows, width = len(x), padded_width(len(x))
    inputs = np.full((kernel.width + 3, width), np.nan, dtype)
    kernel.write_rows(x, centre, inputs, np.empty((kernel.width, rows)))
    buffer = np.full((len(landmarks) + 5, width), np.nan, dtype)
    write_gaussians(kernel.landmark_factor(landmarks, centre, dtype), inputs, buffer[2:-3])
    assert np.isnan(buffer[:2]).all()
    assert np.isnan(buffer[-3:]).all()
    assert np.isfinite(buffer[2:-3]).all()
    return buffer[2:-3, :rows].T.astype(float) * kernel.peak


@pytest.mark.parametrize("d", [1, 2, 5])
def test_kernel__is_a_product_of_normal_densities(d):
    rng = np.random.default_rng(d)
    bandwidth = rng.uniform(0.3, 2, d)
    x, landmarks = rng.normal(size=(40, d)), rng.normal(size=(7, d))
    kernel = GaussianKernel(bandwidth)
    expected = density(x, landmarks, bandwidth)
    np.testing.assert_allclose(kernel.evaluate(x, landmarks), expected, rtol=1e-12)
    block = block_kernel(kernel, x, landmarks, np.full(d, 0.1), "float64")
    np.testing.assert_allclose(block, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("input_dtype", ["float32", "float64"])
def test_kernel__float32_is_accurate_far_from_zero(offset, input_dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(500, 2)) * 3 + offset).astype(input_dtype)
    landmarks = rng.normal(size=(30, 2)) * 3 + offset
    kernel = GaussianKernel(np.array([0.5, 0.7]))
    block = block_kernel(kernel, x, landmarks, x.mean(0, dtype="f8"), "float32")
    error = np.abs(block - density(x.astype(float), landmarks, kernel.bandwidth))
    assert error.max() < 3e-5 * kernel.peak


def test_kernel__rows_out_of_all_proportion_have_no_weight():
    x = np.array([[0.0], [1e30], [-3e38], [3e38]], np.float32)
    kernel = GaussianKernel(np.array([1e-3]))
    block = block_kernel(kernel, x, np.zeros((1, 1)), np.zeros(1), "float32")
    np.testing.assert_allclose(block[:, 0], [kernel.peak, 0, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("bandwidth", [[0.0], [1.0, -1.0], [np.nan], [[1.0]]])
def test_kernel__refuses_a_bandwidth_that_is_not_positive(bandwidth):
    with pytest.raises(ParameterError, match="one positive number per coordinate"):
        GaussianKernel(np.array(bandwidth))
