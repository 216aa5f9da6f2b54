"""Kernels as named arrays, so that a saved model holds its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

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
        ``bandwidth`` of a Gaussian or ``laplace_scale``, with ``relative`` if the kernel is; or
        ``custom_width`` with ``custom_masses``, the given masses or the single number one or zero
        for mass one and for integration, and ``custom_units``.

    Raises
    ------
    ParameterError
        When the kernel is of a class of its own.
    """
    if isinstance(kernel, GaussianKernel):
        return {"bandwidth": kernel.bandwidth} | _marked(kernel.relative)
    if isinstance(kernel, LaplaceKernel):
        return {"laplace_scale": kernel.scale} | _marked(kernel.relative)
    if isinstance(kernel, CustomKernel):
        rule = kernel.mass
        masses = rule if isinstance(rule, np.ndarray) else np.array(rule == "one", np.float64)
        return {
            "custom_width": np.array(kernel.width),
            "custom_masses": masses,
            "custom_units": np.array(kernel.units),
        }
    raise ParameterError(
        f"a {type(kernel).__name__} cannot be saved; use a CustomKernel for a kernel of your own"
    )


def _marked(relative: bool) -> dict[str, NDArray[Any]]:
    """Return the mark of a relative kernel; others have none, as in files of earlier versions."""
    return {"relative": np.array(True)} if relative else {}


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
    relative = bool(arrays.get("relative", False))
    if "bandwidth" in arrays:
        return GaussianKernel(arrays["bandwidth"], relative)
    if "laplace_scale" in arrays:
        return LaplaceKernel(arrays["laplace_scale"], relative)
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
    rule: NDArray[Any] | Literal["one"] | None = masses
    if not masses.ndim:
        rule = "one" if masses else None
    kernel = CustomKernel(function, width, rule)
    factor, volume = arrays.get("custom_units", np.ones(2)).tolist()
    return kernel.with_units(factor, volume)
