"""The product Laplace kernel, normalised so that a mean of kernels is a density."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bigtensor.features.buffers import Buffers, Scratch, padded_width
from bigtensor.features.kernels import FARTHEST, Kernel, positive_lengths, write_scaled

_TILE_LANDMARKS = 32
"""Landmarks at once: their distances then stay in the cache from one operation to the next."""


@dataclass(frozen=True, eq=False)
class LaplaceKernel(Kernel):
    """Product of Laplace densities: ``prod_j exp(-|x_j - l_j| / b_j) / (2 b_j)``.

    Its peak is a corner and its tails are long, so that Gram matrices have slowly falling
    eigenvalues: it needs more landmarks than a Gaussian of the same variance ``2 b^2``.

    Parameters
    ----------
    scale : (d,) float64 array
        b, one positive length per coordinate, in the units of the data.
    relative : bool, default False
        Divide the kernel by its value at distance zero.

    Raises
    ------
    ParameterError
        When a scale is not positive and finite.

    References
    ----------
    Rahimi and Recht (2007), "Random features for large-scale kernel machines", fig. 1.
    """

    scale: NDArray[np.float64]
    relative: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_lengths(self.scale, "scale"))

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.scale.size)

    @property
    def log_peak(self) -> float:
        """Natural logarithm of the kernel at distance zero."""
        return 0.0 if self.relative else -self._log_volume_of_density

    @property
    def peak(self) -> float:
        """The kernel at distance zero: ``prod_j 1 / (2 b_j)``, or one if relative."""
        return math.exp(self.log_peak)

    @property
    def volume(self) -> float:
        """``prod_j 2 b_j`` of a relative kernel."""
        return math.prod((2 * self.scale).tolist()) if self.relative else 1.0

    @property
    def log_volume(self) -> float:
        """Natural logarithm of `volume`."""
        return self._log_volume_of_density if self.relative else 0.0

    @property
    def _log_volume_of_density(self) -> float:
        """Natural logarithm of one over the largest density."""
        return float(np.log(2 * self.scale).sum())

    def relative_to(self, landmarks: NDArray[Any]) -> LaplaceKernel:  # noqa: ARG002
        """Return the kernel over its value at distance zero."""
        return replace(self, relative=True)

    def in_data_units(self) -> LaplaceKernel:
        """Return the kernel as a density in the units of the data."""
        return replace(self, relative=False)

    def evaluate(self, x: NDArray[Any], landmarks: NDArray[Any]) -> NDArray[np.float64]:
        """Return the kernel between every row and every landmark, ``(n, p)``."""
        scaled = np.asarray(x, np.float64) / self.scale
        values = cdist(scaled, np.asarray(landmarks, np.float64) / self.scale, "cityblock")
        np.subtract(self.log_peak, values, out=values)
        return np.exp(values, out=values)

    def prepare(self, landmarks: NDArray[Any], centre: NDArray[Any], dtype: str) -> NDArray[Any]:
        """Return the scaled landmarks ``v = (l - centre) / b``: ``(d, p)``."""
        scaled = (np.asarray(landmarks, np.float64) - centre) / self.scale
        return np.ascontiguousarray(np.clip(scaled, -FARTHEST, FARTHEST).T, dtype)

    def write_block(
        self,
        values: NDArray[Any],
        prepared: NDArray[Any],
        centre: NDArray[Any],
        out: NDArray[Any],
        work: Scratch,
    ) -> None:
        """Write ``exp(-|u - v|_1)`` a few landmarks at a time.

        A sum of absolute values is no matrix product: one subtraction, one absolute value and one
        addition a coordinate.
        """
        d, rows, dtype = self.width, len(values), prepared.dtype.name
        inputs = work.take(_inputs_name(dtype), (d, out.shape[1]), dtype)
        scratch = work.take("features.scratch", (d, rows), "float64")
        tile = work.take(_tile_name(dtype), (_TILE_LANDMARKS, out.shape[1]), dtype)
        write_scaled(values, centre, self.scale, inputs[:, :rows], scratch)
        inputs[:, rows:] = 0
        for start in range(0, len(out), _TILE_LANDMARKS):
            part = out[start : start + _TILE_LANDMARKS]
            landmarks = prepared[:, start : start + _TILE_LANDMARKS, None]
            distance = tile[: len(part)]
            np.subtract(inputs[0], landmarks[0], out=part)
            np.abs(part, out=part)
            for j in range(1, d):
                np.subtract(inputs[j], landmarks[j], out=distance)
                np.abs(distance, out=distance)
                np.add(part, distance, out=part)
            np.negative(part, out=part)
            np.exp(part, out=part)

    def work_arrays(self, rows: int, dtype: str) -> Buffers:
        """Return the buffers of the scaled rows and of the distances in one coordinate."""
        width = padded_width(rows)
        return {
            _inputs_name(dtype): ((self.width, width), dtype),
            "features.scratch": ((self.width, rows), "float64"),
            _tile_name(dtype): ((_TILE_LANDMARKS, width), dtype),
        }


def _inputs_name(dtype: str) -> str:
    """One buffer a dtype, so that maps of two dtypes never take it from each other."""
    return f"features.laplace_inputs.{dtype}"


def _tile_name(dtype: str) -> str:
    """One buffer a dtype, as for the inputs."""
    return f"features.laplace_distances.{dtype}"
