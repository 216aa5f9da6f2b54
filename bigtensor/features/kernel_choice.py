"""The kernel of a view, by its name and a bandwidth."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from bigtensor.errors import ParameterError
from bigtensor.features.custom_kernel import CustomKernel
from bigtensor.features.kernels import GaussianKernel, Kernel
from bigtensor.features.laplace_kernel import LaplaceKernel

KERNELS = ("gaussian", "laplace")
"""Kernels that have a name; the delta kernel of categories is the feature map `OneHot`."""


def default_kernel(kind: str | CustomKernel, bandwidth: NDArray[Any]) -> Kernel:
    """Return the kernel of this kind whose standard deviation is the bandwidth.

    The rules of `bigtensor.features.bandwidth` are those of a Gaussian. A Laplace kernel is given
    the same variance, ``b = s / sqrt 2``, which is 4 % less than what keeps the balance of its bias
    and variance (Marron and Nolan 1988). A kernel of one's own has the width it was made with.

    Parameters
    ----------
    kind : "gaussian", "laplace" or CustomKernel
    bandwidth : (d,) array
        s, one positive length a feature, in the units of the data.

    Returns
    -------
    Kernel

    Raises
    ------
    ParameterError
        When there is no such kernel, a bandwidth is not positive, or a kernel of one's own is for
        views of another number of features.
    """
    if isinstance(kind, CustomKernel):
        if kind.width != len(bandwidth):
            raise ParameterError(
                f"the kernel is for views of {kind.width} features, and the view has "
                f"{len(bandwidth)}; make it with width={len(bandwidth)}"
            )
        return kind
    if kind == "gaussian":
        return GaussianKernel(bandwidth)
    if kind == "laplace":
        return LaplaceKernel(GaussianKernel(bandwidth).bandwidth / math.sqrt(2))
    raise ParameterError(
        f"a kernel is one of {', '.join(map(repr, KERNELS))} or a CustomKernel, got {kind!r}"
    )
