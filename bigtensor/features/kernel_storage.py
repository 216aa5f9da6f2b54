"""Kernels as named arrays, so that a saved model holds its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ModelFileError, ParameterError
from bigtensor.features.custom_kernel import CustomKernel, KernelFunction
from bigtensor.features.kernels import GaussianKernel, Kernel
from bigtensor.features.laplace_kernel import LaplaceKernel


def kernel_arrays(kernel: Kernel) -> dict[str, NDArray[Any]]:
    """Return a kernel as named arrays; of a kernel of one's own all but its callable.

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    dict of str to ndarray
        ``bandwidth`` of a Gaussian, ``laplace_scale``, or ``custom_width`` with ``custom_masses``:
        the given masses, or the single number one or zero for mass one and for integration.

    Raises
    ------
    ParameterError
        When the kernel is of a class of its own.
    """
    if isinstance(kernel, GaussianKernel):
        return {"bandwidth": kernel.bandwidth}
    if isinstance(kernel, LaplaceKernel):
        return {"laplace_scale": kernel.scale}
    if isinstance(kernel, CustomKernel):
        rule = kernel.mass
        masses = rule if isinstance(rule, np.ndarray) else np.array(rule == "one", np.float64)
        return {"custom_width": np.array(kernel.width), "custom_masses": masses}
    raise ParameterError(
        f"a {type(kernel).__name__} cannot be saved; use a CustomKernel for a kernel of your own"
    )


def kernel_from_arrays(
    arrays: Mapping[str, NDArray[Any]], function: KernelFunction | None = None
) -> Kernel:
    """Return the kernel whose `kernel_arrays` these are; other arrays are ignored.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    function : callable, optional
        The callable of a kernel of one's own: the one that the model was fitted with.

    Returns
    -------
    Kernel

    Raises
    ------
    ParameterError
        When the kernel is one's own and its callable is not given.
    ModelFileError
        When the arrays describe no kernel.
    """
    if "bandwidth" in arrays:
        return GaussianKernel(arrays["bandwidth"])
    if "laplace_scale" in arrays:
        return LaplaceKernel(arrays["laplace_scale"])
    if not {"custom_width", "custom_masses"} <= arrays.keys():
        raise ModelFileError(
            f"the arrays {sorted(arrays)} describe no kernel that this version knows; the file is "
            "damaged or newer: fit the model again or upgrade bigtensor"
        )
    width, masses = int(arrays["custom_width"]), arrays["custom_masses"]
    if function is None:
        raise ParameterError(
            f"the model has a kernel of the user's own, of {width} features, whose callable no "
            "file holds; give the callable that it was fitted with"
        )
    if masses.ndim:
        return CustomKernel(function, width, masses)
    return CustomKernel(function, width, "one" if masses else None)
