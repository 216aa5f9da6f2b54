"""Orthonormal basis of a kernel of one variable, on inducing points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray

POINTS_OF_WIDTH = 1.5
"""Inducing points in a standard deviation of the kernel."""

MARGIN = 3.0
"""Standard deviations of the kernel between the sample and the outermost inducing points."""

LEAST_EIGENVALUE = 1e-11
"""Of the kernel at the inducing points, in units of the largest."""


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """Functions of one variable whose products make up a Gaussian kernel of mass one.

    Attributes
    ----------
    points : (m,) float64 array
        Inducing points.
    coefficients : (m, p) float64 array
        Basis functions are ``k(x, points) @ coefficients``.
    width : float
        Standard deviation of the kernel.
    """

    points: FloatArray
    coefficients: FloatArray
    width: float

    @classmethod
    def of_range(cls, low: float, high: float, width: float) -> KernelBasis:
        """Return the basis for values between two bounds.

        Parameters
        ----------
        low, high : float
            Bounds of the values.
        width : float
            Standard deviation of the kernel.
        """
        ends = low - MARGIN * width, high + MARGIN * width
        count = int(np.ceil((ends[1] - ends[0]) / width * POINTS_OF_WIDTH)) + 1
        points = np.linspace(*ends, count)
        eigenvalues, vectors = np.linalg.eigh(_kernel(points, points, width))
        kept = eigenvalues > LEAST_EIGENVALUE * eigenvalues[-1]
        return cls(points, vectors[:, kept] / np.sqrt(eigenvalues[kept]), width)

    @property
    def masses(self) -> FloatArray:
        """Integrals of the basis functions, (p,)."""
        return np.asarray(self.coefficients.sum(axis=0))

    def functions(self, values: FloatArray) -> FloatArray:
        """Return the basis functions at some values, (n, p)."""
        return np.asarray(_kernel(values, self.points, self.width) @ self.coefficients)


def _kernel(left: FloatArray, right: FloatArray, width: float) -> FloatArray:
    """Return the Gaussian density of the differences of two sets of values."""
    distances = (left[:, None] - right) / width
    return np.asarray(np.exp(-0.5 * np.square(distances)) / (width * np.sqrt(2 * np.pi)))
