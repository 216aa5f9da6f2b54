"""The Gaussian kernel, normalised so that a mean of kernels is a density."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bigtensor.errors import ParameterError

FARTHEST = 1e15
"""Largest scaled coordinate: its square is still finite in float32, its kernel is zero."""


@dataclass(frozen=True, eq=False)
class GaussianKernel:
    """Product of normal densities: ``prod_j exp(-(x_j - l_j)^2 / 2 s_j^2) / (s_j sqrt(2 pi))``.

    Equal bandwidths give the isotropic kernel ``(2 pi)^(-d/2) s^-d exp(-|x - l|^2 / (2 s^2))``
    of Song et al. (2014), sec. 2.

    Parameters
    ----------
    bandwidth : (d,) float64 array
        One positive length per coordinate, in the units of the data.

    Raises
    ------
    ParameterError
        When a bandwidth is not positive and finite.
    """

    bandwidth: NDArray[np.float64]

    def __post_init__(self) -> None:
        bandwidth = np.array(self.bandwidth, np.float64, ndmin=1)
        if bandwidth.ndim != 1 or not np.all(np.isfinite(bandwidth) & (bandwidth > 0)):
            raise ParameterError(
                f"a bandwidth is one positive number per coordinate, got {self.bandwidth!r}"
            )
        object.__setattr__(self, "bandwidth", bandwidth)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.bandwidth.size)

    @property
    def log_peak(self) -> float:
        """Natural logarithm of the kernel at distance zero."""
        return -0.5 * self.width * math.log(2 * math.pi) - float(np.log(self.bandwidth).sum())

    @property
    def peak(self) -> float:
        """The kernel at distance zero, ``prod_j 1 / (s_j sqrt 2pi)``."""
        return math.exp(self.log_peak)

    def evaluate(self, x: NDArray[Any], landmarks: NDArray[Any]) -> NDArray[np.float64]:
        """Return the kernel between every row and every landmark, for small arrays.

        Parameters
        ----------
        x : (n, d) array
        landmarks : (p, d) array

        Returns
        -------
        (n, p) float64 array
        """
        scaled = np.asarray(x, np.float64) / self.bandwidth
        values = cdist(scaled, np.asarray(landmarks, np.float64) / self.bandwidth, "sqeuclidean")
        values *= -0.5
        values += self.log_peak
        return np.exp(values, out=values)

    def landmark_factor(
        self, landmarks: NDArray[Any], centre: NDArray[Any], dtype: str
    ) -> NDArray[Any]:
        """Return the landmarks' side of the exponent.

        With ``u = (x - centre) / s`` and ``v`` the same of a landmark, the exponent
        ``-|u - v|^2 / 2`` is the product of ``[-1/2, v, -|v|^2 / 2]`` and ``[|u|^2, u, 1]``. The
        last entry is split into its rounded value and the remainder: its rounding would be the
        same error in every row, which no mean removes.

        Parameters
        ----------
        landmarks : (p, d) array
        centre : (d,) array
            A point near the middle of the data: float32 loses the digits of a large offset.
        dtype : str

        Returns
        -------
        (p, d + 3) array of ``dtype``
        """
        scaled = (np.asarray(landmarks, np.float64) - centre) / self.bandwidth
        # the square of the rounded coordinates, which are those that the product sees
        scaled = np.clip(scaled, -FARTHEST, FARTHEST).astype(dtype).astype(np.float64)
        half = np.full((len(scaled), 1), -0.5)
        constant = half * (scaled**2).sum(axis=1, keepdims=True)
        rounded = constant.astype(dtype).astype(np.float64)
        return np.hstack([half, scaled, rounded, constant - rounded]).astype(dtype)

    def write_rows(
        self,
        values: NDArray[Any],
        centre: NDArray[Any],
        out: NDArray[Any],
        scratch: NDArray[np.float64],
    ) -> None:
        """Write the rows' side of the exponent, ``[|u|^2, u, 1, 1]`` with one column a row.

        Parameters
        ----------
        values : (rows, d) array
        centre : (d,) float64 array
            As for `landmark_factor`.
        out : (d + 3, width) array with ``width >= rows``
            Columns after the last row describe a point at the centre.
        scratch : (d, rows) float64 array
            Overwritten.
        """
        d, rows = scratch.shape
        scaled = out[1 : d + 1, :rows]
        # copies between dtypes instead of operations on two: NumPy allocates buffers for those
        np.copyto(scratch, values.T)
        np.subtract(scratch, centre[:, None], out=scratch)
        np.divide(scratch, self.bandwidth[:, None], out=scratch)
        np.clip(scratch, -FARTHEST, FARTHEST, out=scratch)
        np.copyto(scaled, scratch, casting="same_kind")
        np.copyto(scratch, scaled)
        np.square(scratch, out=scratch)
        for j in range(1, d):
            scratch[0] += scratch[j]
        out[0, :rows] = scratch[0]
        out[: d + 1, rows:] = 0
        out[d + 1 :] = 1


def write_gaussians(factor: NDArray[Any], rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Write ``exp(-|u - v|^2 / 2)``, the kernel over its peak, one row a landmark.

    Parameters
    ----------
    factor : (p, d + 3) array
        From `GaussianKernel.landmark_factor`.
    rows : (d + 3, width) array
        From `GaussianKernel.write_rows`.
    out : (p, width) array of the same dtype
        Fast when it is C-contiguous; may be a slice ``buffer[a:b]`` of the first axis.
    """
    np.matmul(factor, rows, out=out)
    np.exp(out, out=out)
