import numpy as np
import pytest

from bigtensor.errors import ModelFileError, ParameterError
from bigtensor.features.custom_kernel import CustomKernel
from bigtensor.features.kernel_storage import kernel_arrays, kernel_from_arrays
from bigtensor.features.kernels import GaussianKernel, Kernel
from bigtensor.features.laplace_kernel import LaplaceKernel

SCALE = np.array([0.5, 2.0])


def squares(x, landmarks):
    return np.exp(-((x[:, None] - landmarks) ** 2).sum(axis=2))


@pytest.mark.parametrize(
    "kernel",
    [
        GaussianKernel(SCALE),
        LaplaceKernel(SCALE),
        CustomKernel(squares, 2),
        CustomKernel(squares, 2, "one"),
        CustomKernel(squares, 2, np.array([1.0, 2.0, 3.0])),
    ],
)
def test_kernel_arrays__give_the_kernel_back(kernel):
    arrays = kernel_arrays(kernel)
    assert all(array.dtype.kind in "fi" for array in arrays.values())
    function = squares if isinstance(kernel, CustomKernel) else None
    again = kernel_from_arrays({**arrays, "landmarks": np.zeros((3, 2))}, function)
    assert type(again) is type(kernel)
    x = np.random.default_rng(0).normal(size=(3, 2))
    np.testing.assert_array_equal(again.evaluate(x, x), kernel.evaluate(x, x))
    np.testing.assert_array_equal(again.masses(x), kernel.masses(x))


def test_kernel_from_arrays__asks_for_the_callable():
    with pytest.raises(ParameterError, match=r"own, of 2 features.*give the callable"):
        kernel_from_arrays(kernel_arrays(CustomKernel(squares, 2)))


def test_kernel_from_arrays__refuses_what_is_no_kernel():
    with pytest.raises(ModelFileError, match=r"\['landmarks'\] describe no kernel"):
        kernel_from_arrays({"landmarks": np.zeros((3, 2))})


def test_kernel_arrays__refuse_a_class_that_no_file_knows():
    class Other(Kernel):
        width, peak = 1, 1.0
        evaluate = prepare = write_block = work_arrays = Kernel.gram
        volume = relative_to = in_data_units = Kernel.gram

    with pytest.raises(ParameterError, match="a Other cannot be saved; use a CustomKernel"):
        kernel_arrays(Other())
