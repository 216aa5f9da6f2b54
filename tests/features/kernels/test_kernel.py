import pickle
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

from bigtensor.errors import ParameterError
from bigtensor.features.buffers import buffers_nbytes, padded_width
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.kernel import GaussianKernel, LaplaceKernel, default_kernel
from bigtensor.statistics.base import Workspace


def density(x, landmarks, bandwidth):
    return norm.pdf(x[:, None, :], landmarks[None], bandwidth).prod(axis=2)


def block_kernel(kernel, x, landmarks, centre, dtype):
    """Return what a block holds, times the peak, from a slice of a buffer full of NaN."""
    rows, width = len(x), padded_width(len(x))
    buffer = np.full((len(landmarks) + 5, width), np.nan, dtype)
    prepared = kernel.prepare(landmarks, centre, dtype)
    kernel.write_block(x, prepared, centre, buffer[2:-3], Workspace())
    assert np.isnan(buffer[:2]).all()
    assert np.isnan(buffer[-3:]).all()
    assert np.isfinite(buffer[2:-3]).all()
    return buffer[2:-3, :rows].T.astype(float) * kernel.peak


def gaussian_of_users(x, landmarks):
    return np.exp(-0.5 * ((x[:, None] - landmarks) ** 2).sum(axis=2))


KERNELS = [
    GaussianKernel(np.array([0.5, 2.0])),
    LaplaceKernel(np.array([0.5, 2.0])),
    CustomKernel(gaussian_of_users, 2),
]
KERNELS += [kernel.relative_to(np.array([[0.0, 0.0], [0.5, 1.0]])) for kernel in KERNELS]


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


def test_kernel__between_rows_of_many_bandwidths_is_at_most_its_peak():
    """Their squares are rounded in float32 by more than the logarithm of the largest number."""
    x = np.random.default_rng(0).normal(size=(50, 1)).astype("f4")
    kernel = GaussianKernel(np.array([1e-6]))
    block = block_kernel(kernel, x, x, np.zeros(1), "float32")
    assert block.max() <= kernel.peak * (1 + 1e-6)


@pytest.mark.parametrize("kind", [GaussianKernel, LaplaceKernel])
@pytest.mark.parametrize("lengths", [[0.0], [1.0, -1.0], [np.nan], [[1.0]], []])
def test_kernel__refuses_a_length_that_is_not_positive(kind, lengths):
    with pytest.raises(ParameterError, match="one positive number per coordinate"):
        kind(np.array(lengths))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels__write_the_values_that_they_evaluate(kernel, dtype):
    rng = np.random.default_rng(1)
    x, landmarks = rng.normal(size=(100, 2)), rng.normal(size=(70, 2))
    expected = kernel.evaluate(x, landmarks)
    tolerance = {"float32": 2e-6, "float64": 1e-14}[dtype] * expected.max()
    block = block_kernel(kernel, x, landmarks, np.array([0.1, -0.2]), dtype)
    np.testing.assert_allclose(block, expected, rtol=0, atol=tolerance)
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again.evaluate(x, landmarks), expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("rows", [1, 100, 2048])
def test_kernels__take_the_buffers_that_they_announce(kernel, rows):
    landmarks, centre, work = np.ones((5, 2)), np.zeros(2), Workspace()
    out = np.empty((5, padded_width(rows)), "f4")
    prepared = kernel.prepare(landmarks, centre, "float32")
    kernel.write_block(np.ones((rows, 2), "f4"), prepared, centre, out, work)
    assert work.nbytes == buffers_nbytes(kernel.work_arrays(rows, "float32"))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_kernels__agree_on_diagonal_gram_matrix_and_mass(kernel):
    x = np.random.default_rng(2).normal(size=(150, 2))
    gram = kernel.evaluate(x, x)
    np.testing.assert_allclose(kernel.diagonal(x), np.diagonal(gram), rtol=1e-12)
    np.testing.assert_allclose(kernel.gram(x), gram, rtol=1e-12)
    axes = np.linspace(-24, 24, 481), np.linspace(-90, 90, 481)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
    sums = kernel.evaluate(grid, np.zeros((1, 2))).sum() * cell / kernel.volume
    np.testing.assert_allclose(kernel.masses(np.zeros((1, 2))), sums, rtol=0.02)


def test_default_kernel__has_the_bandwidth_as_standard_deviation():
    bandwidth = np.array([0.5])
    axis = np.linspace(-15, 15, 30_001)[:, None]
    for kind in ("gaussian", "laplace"):
        values = default_kernel(kind, bandwidth).evaluate(axis, np.zeros((1, 1)))[:, 0]
        variance = np.trapezoid(values * axis[:, 0] ** 2, axis[:, 0])
        assert variance == pytest.approx(0.25, rel=1e-5)
    assert isinstance(default_kernel("laplace", bandwidth), LaplaceKernel)


def test_default_kernel__passes_a_kernel_of_ones_own_through():
    own = CustomKernel(gaussian_of_users, 2)
    assert default_kernel(own, np.ones(2)) is own
    with pytest.raises(ParameterError, match="views of 2 features, and the view has 1"):
        default_kernel(own, np.ones(1))
    with pytest.raises(ParameterError, match="'laplace' or a CustomKernel, got 'cos'"):
        default_kernel("cos", np.ones(1))


def scaled_gaussian(scale, x, landmarks):
    return np.exp(-0.5 * (((x[:, None] - landmarks) / scale) ** 2).sum(axis=2))


def scaled_density(scale, x, landmarks):
    return scaled_gaussian(scale, x, landmarks) / (2 * np.pi * scale**2)


@pytest.mark.parametrize(
    "make",
    [
        lambda a: GaussianKernel(a * np.array([0.5, 2.0])),
        lambda a: LaplaceKernel(a * np.array([0.5, 2.0])),
        lambda a: CustomKernel(partial(scaled_gaussian, a), 2),
        lambda a: CustomKernel(partial(scaled_density, a), 2, "one"),
    ],
    ids=["gaussian", "laplace", "own", "own density"],
)
@pytest.mark.parametrize("exponent", [-100, 51])
def test_relative_kernel__has_the_same_bits_in_any_unit(make, exponent):
    a = 2.0**exponent
    x = np.random.default_rng(4).normal(size=(9, 2))
    kernel, other = make(1.0).relative_to(x[:5]), make(a).relative_to(a * x[:5])
    for one in (kernel, other):
        assert one.peak == 1
        assert np.abs(one.diagonal(x)).max() <= 1
        np.testing.assert_allclose(np.abs(one.masses(x[:5] if one is kernel else a * x[:5])), 1)
    found = other.evaluate(a * x, a * x[:5])
    np.testing.assert_array_equal(found, kernel.evaluate(x, x[:5]))
    assert other.volume == a**2 * kernel.volume
    assert other.log_volume == pytest.approx(np.log(other.volume))
    data_units = other.in_data_units()
    assert data_units.volume == 1
    np.testing.assert_allclose(
        data_units.evaluate(a * x, a * x[:5]) / data_units.masses(a * x[:5]),
        found / other.volume,
        rtol=1e-4,
    )


def test_relative_kernel__of_many_features_is_finite():
    kernel = GaussianKernel(np.full(200, 2.0**-100)).relative_to(np.zeros((1, 200)))
    zero = np.zeros((1, 200))
    assert kernel.evaluate(zero, zero) == kernel.masses(zero) == 1
    assert kernel.log_volume == pytest.approx(200 * (0.5 * np.log(2 * np.pi) - 100 * np.log(2)))
