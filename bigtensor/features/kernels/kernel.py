"""Kernels at landmarks: their contract, the Gaussian and the Laplace kernel, and kernels by name.

A kernel is normalised where it can be, so that a mean of kernels is a density. Such a kernel has a
unit, one over the unit of volume of the data: its values leave the range of float32 in small or
large units, and beside features without a unit they count for nothing or for everything. Features
are therefore made of relative kernels, whose values are at most about one in any unit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError, Setting
from bigtensor.features.buffers import Buffers, Scratch, padded_width
from bigtensor.features.row_loops import row_loop

FARTHEST = 1e15
"""Largest scaled coordinate: its square is still finite in float32, its kernel is zero."""

KERNELS = ("gaussian", "laplace")
"""Kernels that have a name; the delta kernel of categories is the feature map `OneHot`."""


class Kernel(ABC):
    """A symmetric, positive semidefinite function of two points; subclasses are frozen dataclasses.

    A block of rows is evaluated in two halves: `prepare` does once the work on the landmarks
    alone, `write_block` does the rest for every block.
    """

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of coordinates of a point, d."""

    @property
    @abstractmethod
    def peak(self) -> float:
        """Factor from the values of `write_block` to the kernel."""

    @property
    @abstractmethod
    def volume(self) -> float:
        """Volume in the units of the data that counts as one; one unless the kernel is relative.

        A weighted sum of kernels is a density in this unit: divide it by the volume.
        """

    @property
    def log_volume(self) -> float:
        """Natural logarithm of `volume`, also where the volume itself overflows."""
        return math.log(self.volume)

    @abstractmethod
    def relative_to(self, landmarks: NDArray[Any]) -> Kernel:
        """Return the kernel in units of its own, with values of at most about one.

        Parameters
        ----------
        landmarks : (p, d) array
            Landmarks. A user-defined kernel takes its unit from them.
        """

    @abstractmethod
    def in_data_units(self) -> Kernel:
        """Return the kernel as a density in the units of the data."""

    @abstractmethod
    def evaluate(self, x: NDArray[Any], landmarks: NDArray[Any]) -> FloatArray:
        """Return the kernel between every row and every landmark, for small arrays.

        Parameters
        ----------
        x : (n, d) array
            Rows.
        landmarks : (p, d) array
            Landmarks.

        Returns
        -------
        (n, p) float64 array
            Value of the kernel at every row and landmark.
        """

    @abstractmethod
    def prepare(self, landmarks: NDArray[Any], centre: NDArray[Any], dtype: str) -> NDArray[Any]:
        """Return the landmarks' side of the kernel.

        Parameters
        ----------
        landmarks : (p, d) array
            Landmarks in the units of the data.
        centre : (d,) array
            A point near the middle of the data: float32 loses the digits of a large offset.
        dtype : {"float32", "float64"}
            What blocks are computed in.
        """

    @abstractmethod
    def write_block(
        self,
        values: NDArray[Any],
        prepared: NDArray[Any],
        centre: NDArray[Any],
        out: NDArray[Any],
        work: Scratch,
    ) -> None:
        """Write the kernel over its `peak`, one row a landmark and one column a row of data.

        Parameters
        ----------
        values : (rows, d) array
            Rows of data.
        prepared : array
            From `prepare`, with the same centre and the dtype of ``out``.
        centre : (d,) float64 array
            The point that `prepare` was called with.
        out : (p, width) array with ``width >= rows``
            Fast when it is C-contiguous; may be a slice ``buffer[a:b]`` of the first axis. Columns
            after the last row receive finite values without meaning.
        work : Scratch
            Buffers that are reused from block to block.
        """

    @abstractmethod
    def work_arrays(self, rows: int, dtype: str) -> Buffers:
        """Return the buffers that `write_block` takes for a block of ``rows`` rows."""

    def gram(self, landmarks: NDArray[Any]) -> FloatArray:
        """Return the kernel between all landmarks: ``(p, p)``, symmetric."""
        return self.evaluate(landmarks, landmarks)

    def diagonal(self, x: NDArray[Any]) -> FloatArray:
        """Return the kernel between every row and itself: ``(n,)``."""
        return np.full(len(x), self.peak)

    def masses(self, landmarks: NDArray[Any]) -> FloatArray:
        """Return the integral of the kernel around every landmark, over `volume`: ``(p,)``."""
        return np.ones(len(landmarks))


class ProductKernel(Kernel):
    """Product of one density a coordinate, which is largest at distance zero."""

    relative: bool
    """True if the kernel is divided by its value at distance zero."""

    @property
    @abstractmethod
    def _log_volume_of_density(self) -> float:
        """Natural logarithm of one over the largest density."""

    @property
    def log_peak(self) -> float:
        """Natural logarithm of the kernel at distance zero."""
        return 0.0 if self.relative else -self._log_volume_of_density

    @property
    def peak(self) -> float:
        """The kernel at distance zero: the largest density, or one if relative."""
        return math.exp(self.log_peak)

    @property
    def log_volume(self) -> float:
        """Natural logarithm of `volume`."""
        return self._log_volume_of_density if self.relative else 0.0

    def relative_to(self, landmarks: NDArray[Any]) -> Self:  # noqa: ARG002
        """Return the kernel over its value at distance zero."""
        return replace(self, relative=True)  # type: ignore[type-var]

    def in_data_units(self) -> Self:
        """Return the kernel as a density in the units of the data."""
        return replace(self, relative=False)  # type: ignore[type-var]


def positive_lengths(lengths: ArrayLike, what: str) -> FloatArray:
    """Return one positive length a coordinate, ``(d,)``.

    Raises
    ------
    ParameterError
        When a length is not positive and finite.
    """
    checked = np.array(lengths, np.float64, ndmin=1)
    if checked.ndim != 1 or not checked.size or not np.all(np.isfinite(checked) & (checked > 0)):
        raise ParameterError(f"a {what} is one positive number per coordinate, got {lengths!r}")
    return checked


def write_scaled(
    values: NDArray[Any],
    centre: NDArray[Any],
    scale: FloatArray,
    out: NDArray[Any],
    scratch: FloatArray,
) -> None:
    """Write ``(x - centre) / scale``, one row a coordinate.

    Parameters
    ----------
    values : (rows, d) array
        Rows of data.
    centre, scale : (d,) float64 arrays
        Subtracted from the rows, and then divided by.
    out : (d, rows) array
        May be of a smaller dtype: the difference is taken before it is rounded.
    scratch : (d, rows) float64 array
        Overwritten.
    """
    # copies between dtypes instead of operations on two: NumPy allocates buffers for those
    np.copyto(scratch, values.T)
    np.subtract(scratch, centre[:, None], out=scratch)
    np.divide(scratch, scale[:, None], out=scratch)
    np.clip(scratch, -FARTHEST, FARTHEST, out=scratch)
    np.copyto(out, scratch, casting="same_kind")


@dataclass(frozen=True, eq=False)
class GaussianKernel(ProductKernel):
    """Product of normal densities: ``prod_j exp(-(x_j - l_j)^2 / 2 s_j^2) / (s_j sqrt(2 pi))``.

    Equal bandwidths give the isotropic kernel ``(2 pi)^(-d/2) s^-d exp(-|x - l|^2 / (2 s^2))``
    of Song et al. (2014), sec. 2.

    Parameters
    ----------
    bandwidth : (d,) float64 array
        One positive length per coordinate, in the units of the data.
    relative : bool, default False
        Divide the kernel by its value at distance zero.

    Raises
    ------
    ParameterError
        When a bandwidth is not positive and finite.
    """

    bandwidth: FloatArray
    relative: bool = False

    def __post_init__(self) -> None:
        bandwidth = positive_lengths(self.bandwidth, "bandwidth")
        object.__setattr__(self, "bandwidth", bandwidth)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.bandwidth.size)

    @property
    def volume(self) -> float:
        """``prod_j s_j sqrt 2pi`` of a relative kernel."""
        # a product: the exponential of the logarithm would round differently in other units
        lengths = math.sqrt(2 * math.pi) * self.bandwidth if self.relative else self.bandwidth[:0]
        return float(math.prod(lengths.tolist()))

    @property
    def _log_volume_of_density(self) -> float:
        """Natural logarithm of one over the largest density."""
        return 0.5 * self.width * math.log(2 * math.pi) + float(np.log(self.bandwidth).sum())

    def evaluate(self, x: NDArray[Any], landmarks: NDArray[Any]) -> FloatArray:
        """Return the kernel between every row and every landmark, ``(n, p)``."""
        scaled = np.asarray(x, np.float64) / self.bandwidth
        values = cdist(scaled, np.asarray(landmarks, np.float64) / self.bandwidth, "sqeuclidean")
        values *= -0.5
        values += self.log_peak
        return np.exp(values, out=values)

    def prepare(self, landmarks: NDArray[Any], centre: NDArray[Any], dtype: str) -> NDArray[Any]:
        """Return the landmarks' side of the exponent, ``(p, d + 3)``.

        With ``u = (x - centre) / s`` and ``v`` the same of a landmark, the exponent
        ``-|u - v|^2 / 2`` is the product of ``[-1/2, v, -|v|^2 / 2]`` and ``[|u|^2, u, 1]``. The
        last entry is split into its rounded value and the remainder: its rounding would be the
        same error in every row, which no mean removes.
        """
        scaled = (np.asarray(landmarks, np.float64) - centre) / self.bandwidth
        # the square of the rounded coordinates, which are those that the product sees
        scaled = np.clip(scaled, -FARTHEST, FARTHEST).astype(dtype).astype(np.float64)
        half = np.full((len(scaled), 1), -0.5)
        constant = half * (scaled**2).sum(axis=1, keepdims=True)
        rounded = constant.astype(dtype).astype(np.float64)
        return np.hstack([half, scaled, rounded, constant - rounded]).astype(dtype)

    def write_block(
        self,
        values: NDArray[Any],
        prepared: NDArray[Any],
        centre: NDArray[Any],
        out: NDArray[Any],
        work: Scratch,
    ) -> None:
        """Write ``exp(-|u - v|^2 / 2)``: one product, then the exponential in place."""
        dtype = prepared.dtype.name
        inputs = work.take(_inputs_name(dtype), (self.width + 3, out.shape[1]), dtype)
        scratch = work.take("features.scratch", (self.width, len(values)), "float64")
        self._write_rows(values, centre, inputs, scratch)
        np.matmul(prepared, inputs, out=out)
        # squares of many bandwidths are rounded by more than the distance that they leave
        np.minimum(out, 0, out=out)
        np.exp(out, out=out)

    def work_arrays(self, rows: int, dtype: str) -> Buffers:
        """Return the buffers of the rows' side of the exponent."""
        return {
            _inputs_name(dtype): ((self.width + 3, padded_width(rows)), dtype),
            "features.scratch": ((self.width, rows), "float64"),
        }

    def _write_rows(
        self,
        values: NDArray[Any],
        centre: NDArray[Any],
        out: NDArray[Any],
        scratch: FloatArray,
    ) -> None:
        """Write the rows' side of the exponent, ``[|u|^2, u, 1, 1]`` with one column a row.

        Columns after the last row describe a point at the centre.
        """
        d, rows = scratch.shape
        scaled = out[1 : d + 1, :rows]
        write_scaled(values, centre, self.bandwidth, scaled, scratch)
        # the square of the rounded coordinates
        np.copyto(scratch, scaled)
        np.square(scratch, out=scratch)
        for j in range(1, d):
            scratch[0] += scratch[j]
        out[0, :rows] = scratch[0]
        out[: d + 1, rows:] = 0
        out[d + 1 :] = 1


def _inputs_name(dtype: str) -> str:
    """One buffer a dtype, so that maps of two dtypes never take it from each other."""
    return f"features.inputs.{dtype}"


@dataclass(frozen=True, eq=False)
class LaplaceKernel(ProductKernel):
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

    scale: FloatArray
    relative: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_lengths(self.scale, "scale"))

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.scale.size)

    @property
    def volume(self) -> float:
        """``prod_j 2 b_j`` of a relative kernel."""
        return math.prod((2 * self.scale).tolist()) if self.relative else 1.0

    @property
    def _log_volume_of_density(self) -> float:
        """Natural logarithm of one over the largest density."""
        return float(np.log(2 * self.scale).sum())

    def evaluate(self, x: NDArray[Any], landmarks: NDArray[Any]) -> FloatArray:
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
        """Write ``exp(-|u - v|_1)``: a sum of absolute values is no matrix product."""
        d, rows, dtype = self.width, len(values), prepared.dtype.name
        inputs = work.take(_laplace_inputs_name(dtype), (d, out.shape[1]), dtype)
        scratch = work.take("features.scratch", (d, rows), "float64")
        write_scaled(values, centre, self.scale, inputs[:, :rows], scratch)
        inputs[:, rows:] = 0
        _write_negative_distances(inputs, prepared, out)
        np.exp(out, out=out)

    def work_arrays(self, rows: int, dtype: str) -> Buffers:
        """Return the buffers of the scaled rows."""
        width = padded_width(rows)
        return {
            _laplace_inputs_name(dtype): ((self.width, width), dtype),
            "features.scratch": ((self.width, rows), "float64"),
        }


def _laplace_inputs_name(dtype: str) -> str:
    """One buffer a dtype, so that maps of two dtypes never take it from each other."""
    return f"features.laplace_inputs.{dtype}"


@row_loop
def _write_negative_distances(
    inputs: NDArray[Any], landmarks: NDArray[Any], out: NDArray[Any]
) -> None:
    """Write minus the sum of the distances in every coordinate.

    ``inputs`` is (d, rows) and ``landmarks`` is (d, p), both scaled. ``out`` is (p, rows).
    """
    for landmark in range(landmarks.shape[1]):
        of_landmark = out[landmark]
        for row in range(of_landmark.size):
            of_landmark[row] = -abs(inputs[0, row] - landmarks[0, landmark])
        for j in range(1, inputs.shape[0]):
            for row in range(of_landmark.size):
                of_landmark[row] -= abs(inputs[j, row] - landmarks[j, landmark])


def default_kernel(kind: str | Kernel, bandwidth: NDArray[Any]) -> Kernel:
    """Return the kernel of this kind whose standard deviation is the bandwidth.

    The rules of `bigtensor.features.kernels.bandwidth` are those of a Gaussian. A Laplace kernel is
    given the same variance, ``b = s / sqrt 2``, which is 4 % less than what keeps the balance of
    its bias and variance (Marron and Nolan 1988). A user-defined kernel has the width it was made
    with.

    Parameters
    ----------
    kind : "gaussian", "laplace" or Kernel
        A kernel, such as a `CustomKernel`, is returned as it is.
    bandwidth : (d,) array
        s, one positive length a feature, in the units of the data.

    Raises
    ------
    ParameterError
        When there is no such kernel, a bandwidth is not positive, or a user-defined kernel is for
        views of another number of features.
    """
    if isinstance(kind, Kernel):
        if kind.width != len(bandwidth):
            raise ParameterError(
                f"the kernel is for views of {kind.width} features, and the view has "
                f"{len(bandwidth)}; make it with " + Setting("width", len(bandwidth))
            )
        return kind
    if kind == "gaussian":
        return GaussianKernel(bandwidth)
    if kind == "laplace":
        return LaplaceKernel(GaussianKernel(bandwidth).bandwidth / math.sqrt(2))
    raise ParameterError(
        f"a kernel is one of {', '.join(map(repr, KERNELS))} or a CustomKernel, got {kind!r}"
    )
