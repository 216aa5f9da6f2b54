"""Functions of the values of a view, whose expectations are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ParameterError
from bigtensor.features.kernels.custom_kernel import CustomKernel
from bigtensor.features.kernels.kernel import Kernel
from bigtensor.models.contract.parameters import checked_function
from bigtensor.statistics.densities.posterior_means import ViewFunction


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """The function ``f(x) = sum_j a_j k(z_j, x)``.

    With the kernel of a view (`KernelMixture.view_kernel`) its expectation in a component is the
    inner product ``<f, mu_h> = a' k(Z, L) c_h`` with the mean embedding of the component (Song et
    al. 2014, sec. 2), which adds no smoothing.

    Parameters
    ----------
    points : (m, d) array
        z, in the units of the data.
    coefficients : (m,) or (m, r) array
        a; several columns are several functions.
    kernel : Kernel
        k, of width d.

    Raises
    ------
    ParameterError
        When the shapes do not belong together.

    References
    ----------
    L. Song, A. Anandkumar, B. Dai and B. Xie. Nonparametric estimation of multi-view latent
    variable models. ICML 2014, sec. 2.

    Examples
    --------
    >>> from bigtensor import KernelExpansion, KernelMixture, simulate
    >>> data = simulate.gaussian_mixture(2_000, 2, n_features=6, random_state=0)
    >>> views = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}
    >>> model = KernelMixture(2, views=views, random_state=0).fit(data)
    >>> near_zero = KernelExpansion([[0.0, 0.0]], [1.0], model.view_kernel("a"))
    >>> model.expectation("a", near_zero).shape
    (2,)
    """

    points: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    kernel: Kernel

    def __post_init__(self) -> None:
        points = np.asarray(self.points, np.float64)
        points = points[:, None] if points.ndim == 1 else points
        coefficients = np.asarray(self.coefficients, np.float64)
        if points.shape[1:] != (self.kernel.width,) or len(points) != len(coefficients):
            raise ParameterError(
                f"points {np.shape(self.points)} and coefficients {coefficients.shape} do not "
                f"belong together: (m, {self.kernel.width}) and (m,) or (m, r) are needed"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "coefficients", coefficients)

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values of the function: ``(n,)`` or ``(n, r)``."""
        rows = values[:, None] if values.ndim == 1 else values
        if rows.shape[1] != self.kernel.width:
            raise ParameterError(
                f"a sum of kernels of {self.kernel.width} feature(s) was given values of "
                f"{rows.shape[1]}; use the kernel of the same view"
            )
        return np.asarray(self.kernel.evaluate(rows, self.points) @ self.coefficients)

    def has_kernel(self, kernel: Kernel) -> bool:
        """Return True if this is the kernel of the function."""
        if type(self.kernel) is not type(kernel):
            return False
        if isinstance(self.kernel, CustomKernel) and isinstance(kernel, CustomKernel):
            return self.kernel.function is kernel.function
        ours, theirs = self.kernel.in_data_units(), kernel.in_data_units()
        return all(
            np.array_equal(getattr(ours, entry.name), getattr(theirs, entry.name))
            for entry in fields(ours)  # type: ignore[arg-type]
        )


def view_values(values: NDArray[Any]) -> NDArray[Any]:
    """Return the values of a view."""
    return values


def checked_view_function(f: Callable[[NDArray[Any]], NDArray[Any]]) -> ViewFunction:
    """Return a function that checks the shape of its values, unless it is a sum of kernels."""
    return f if isinstance(f, KernelExpansion) else checked_function(f)


def function_of_rows(function: ViewFunction) -> ViewFunction:
    """Give a function of a view's values the rows of a block."""

    def of_rows(rows: NDArray[Any]) -> NDArray[Any]:
        return function(rows[:, 0] if rows.shape[1] == 1 else rows)

    return of_rows
