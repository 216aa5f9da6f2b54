"""Feature maps: from a row of a view to a vector, a block of rows at a time.

Every map is a set of basis functions and a matrix: ``y(x) = mixing' basis(x)``. The basis of a
block is laid out with one row a basis function and one column a row of data, which is the layout
in which both the exponentials and the products after them are fastest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.linalg import eigh

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.kernels import GaussianKernel, write_gaussians

Buffers = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""Name, shape and dtype of the buffers that a block of rows needs."""

_SMALL_PRODUCT = 1_000_000
"""Multiplications up to which OpenBLAS multiplies without copying its operands first."""


class Scratch(Protocol):
    """What a map needs of a workspace: named buffers that are allocated once."""

    def take(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised C-contiguous array, the same memory for the same name."""
        ...


def padded_width(rows: int) -> int:
    """Return the least odd multiple of 16 that is not below ``rows``.

    Buffers with one column a row of data use it as their length: at a power of two, elements that
    are used together fall on the same lines of the cache (a product is then 1.5 times slower).
    """
    sixteens = -(-rows // 16)
    return 16 * (sixteens + 1 - sixteens % 2)


def eigenvalue_cut(dtype: str) -> float:
    """Return the relative eigenvalue cut for features of this dtype: 1e-6 or 1e-10."""
    return 1e-6 if np.dtype(dtype) == np.float32 else 1e-10


def nystroem_root(gram: NDArray[np.float64], cut: float) -> NDArray[np.float64]:
    """Return ``R = V w^(-1/2)`` of the landmarks' Gram matrix ``V diag(w) V'``.

    ``R' k(L, x)`` are then orthonormal features: their products reproduce the kernel between
    landmarks (Williams and Seeger 2001; Song et al. 2014, sec. 5).

    Parameters
    ----------
    gram : (p, p) float64 array
        Symmetric, positive semidefinite.
    cut : float
        Eigenvalues at most ``cut`` times the largest are left out; see `eigenvalue_cut`.

    Returns
    -------
    (p, r) float64 array
        Columns by descending eigenvalue.

    Raises
    ------
    DataError
        When the matrix has no positive eigenvalue or is not finite.
    """
    if not np.isfinite(gram).all() or not len(gram):
        raise DataError(
            f"the Gram matrix of {len(gram)} landmarks is empty or not finite; "
            "check the bandwidth and the landmarks"
        )
    values, vectors = eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[0] <= 0:
        raise DataError("the Gram matrix of the landmarks has no positive eigenvalue")
    kept = values > cut * values[0]
    return np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept]))


class FeatureMap(ABC):
    """A map from the values of one view to a vector; subclasses are frozen dataclasses.

    Attributes
    ----------
    dtype : str
        ``"float32"`` or ``"float64"``: what blocks of features are computed in.
    """

    dtype: str

    @property
    @abstractmethod
    def n_inputs(self) -> int:
        """The number of features of the view."""

    @property
    @abstractmethod
    def mixing(self) -> NDArray[np.float64]:
        """The ``(n_basis, n_features)`` matrix that takes the basis to the features."""

    @property
    @abstractmethod
    def mass(self) -> NDArray[np.float64]:
        """The integral of every feature, ``(n_features,)``; zeros when there is none."""

    @abstractmethod
    def write_basis(self, values: NDArray[Any], out: NDArray[Any], work: Scratch) -> None:
        """Write the basis functions of a block of rows.

        Parameters
        ----------
        values : (rows, n_inputs) array
        out : (n_basis, width) array of `dtype`, ``width = padded_width(rows)``
            Columns after the last row receive finite values without meaning.
        work : Scratch
        """

    def work_arrays(self, rows: int) -> Buffers:  # noqa: ARG002
        """Return the buffers that `write_basis` takes for a block of ``rows`` rows."""
        return {}

    @property
    @abstractmethod
    def n_basis(self) -> int:
        """The number of basis functions."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The length of the vector."""


@dataclass(frozen=True, eq=False)
class Nystroem(FeatureMap):
    """Gaussian kernels at landmarks, projected: ``y(x) = projection' k(L, x)``.

    The basis functions are the kernels over their peak (their values lie in [0, 1], whatever the
    units of the data); the peak is part of `mixing`.

    Parameters
    ----------
    landmarks : (p, d) array
    kernel : GaussianKernel
        Of width d.
    centre : (d,) array
        A point near the middle of the data.
    projection : (p, q) array
        For example `nystroem_root`, or its product with a basis of a subspace.
    dtype : str, default "float32"

    Raises
    ------
    ParameterError
        When the shapes do not belong together.
    """

    landmarks: NDArray[np.float64]
    kernel: GaussianKernel
    centre: NDArray[np.float64]
    projection: NDArray[np.float64]
    dtype: str = "float32"
    factor: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        landmarks = np.asarray(self.landmarks, np.float64)
        centre = np.asarray(self.centre, np.float64)
        projection = np.asarray(self.projection, np.float64)
        d = self.kernel.width
        if (
            landmarks.ndim != 2
            or projection.ndim != 2
            or landmarks.shape[1] != d
            or centre.shape != (d,)
            or len(projection) != len(landmarks)
        ):
            raise ParameterError(
                f"landmarks {landmarks.shape}, centre {centre.shape} and projection "
                f"{projection.shape} do not belong together: (p, d), (d,) and (p, q) with d = {d} "
                "of the kernel are needed"
            )
        for name, value in (
            ("landmarks", landmarks),
            ("centre", centre),
            ("projection", projection),
            ("factor", self.kernel.landmark_factor(landmarks, centre, self.dtype)),
        ):
            object.__setattr__(self, name, value)

    @property
    def n_inputs(self) -> int:
        """The number of features of the view."""
        return self.kernel.width

    @property
    def n_basis(self) -> int:
        """The number of landmarks, p."""
        return len(self.projection)

    @property
    def n_features(self) -> int:
        """The length of the vector, q."""
        return int(self.projection.shape[1])

    @property
    def mixing(self) -> NDArray[np.float64]:
        """The projection times the peak of the kernel."""
        return self.projection * self.kernel.peak

    @property
    def mass(self) -> NDArray[np.float64]:
        """The column sums of the projection, for every kernel has mass one."""
        return np.asarray(self.projection.sum(0))

    def write_basis(self, values: NDArray[Any], out: NDArray[Any], work: Scratch) -> None:
        """Write the kernels over their peak: one product, then the exponential in place."""
        rows, d = len(values), self.n_inputs
        inputs = work.take(self._inputs_name, (d + 3, out.shape[1]), self.dtype)
        scratch = work.take("features.scratch", (d, rows), "float64")
        self.kernel.write_rows(values, self.centre, inputs, scratch)
        write_gaussians(self.factor, inputs, out)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers of the rows' side of the exponent."""
        d = self.n_inputs
        return {
            self._inputs_name: ((d + 3, padded_width(rows)), self.dtype),
            "features.scratch": ((d, rows), "float64"),
        }

    @property
    def _inputs_name(self) -> str:
        """One buffer a dtype, so that maps of two dtypes never take it from each other."""
        return f"features.inputs.{self.dtype}"


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The features of a group of views: the sum of the features of its views.

    With maps ``y_t = P_t' g_t`` this is the projection of the stacked features, and one product
    of the stacked basis functions with the stacked matrices.

    Parameters
    ----------
    views : tuple of str
        The names of the views.
    maps : tuple of FeatureMap
        One map a view, all with the same number of features and the same dtype.

    Raises
    ------
    ParameterError
        When there is no view, or the maps do not belong together.
    """

    views: tuple[str, ...]
    maps: tuple[FeatureMap, ...]
    mixing: NDArray[Any] = field(init=False, repr=False)

    FAST_COLUMNS: ClassVar[int] = 128
    """Fewest columns that are worth a product of their own."""

    def __post_init__(self) -> None:
        if not self.views or len(self.views) != len(self.maps):
            raise ParameterError(
                f"a group of views needs one map a view, got {len(self.views)} views and "
                f"{len(self.maps)} maps"
            )
        lengths = {feature_map.n_features for feature_map in self.maps}
        dtypes = {feature_map.dtype for feature_map in self.maps}
        if len(lengths) > 1 or len(dtypes) > 1:
            raise ParameterError(
                f"the maps of the views {', '.join(self.views)} must agree in their number of "
                f"features (got {sorted(lengths)}) and dtype (got {sorted(dtypes)})"
            )
        stacked = np.vstack([feature_map.mixing for feature_map in self.maps])
        object.__setattr__(self, "mixing", np.ascontiguousarray(stacked.T, self.dtype))

    @property
    def n_features(self) -> int:
        """The length of the vector, q."""
        return self.maps[0].n_features

    @property
    def n_basis(self) -> int:
        """The number of basis functions of all views."""
        return int(self.mixing.shape[1])

    @property
    def dtype(self) -> str:
        """What blocks of features are computed in."""
        return self.maps[0].dtype

    @property
    def masses(self) -> NDArray[np.float64]:
        """The integral of every feature over each view: ``(n_views, q)``."""
        return np.stack([feature_map.mass for feature_map in self.maps])

    def evaluate(self, values: Sequence[NDArray[Any]], out: NDArray[Any], work: Scratch) -> None:
        """Write the features of a block of rows.

        Parameters
        ----------
        values : sequence of (rows, d_t) arrays
            The values of every view of the group, in the order of `views`.
        out : (rows, q) array of `dtype`
            May be a slice; the transpose of a ``(q, rows)`` buffer is fastest.
        work : Scratch
        """
        rows = len(values[0])
        basis = work.take(self._basis_name, (self.n_basis, padded_width(rows)), self.dtype)
        start = 0
        for feature_map, view in zip(self.maps, values, strict=True):
            stop = start + feature_map.n_basis
            feature_map.write_basis(view, basis[start:stop], work)
            start = stop
        step = self._columns_at_once(rows)
        for first in range(0, rows, step):
            last = min(first + step, rows)
            np.matmul(self.mixing, basis[:, first:last], out=out[first:last].T)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers that `evaluate` takes for a block of ``rows`` rows."""
        own = {self._basis_name: ((self.n_basis, padded_width(rows)), self.dtype)}
        return merge_buffers([own, *(feature_map.work_arrays(rows) for feature_map in self.maps)])

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the buffers for blocks of ``rows`` rows."""
        return buffers_nbytes(self.work_arrays(rows))

    @property
    def _basis_name(self) -> str:
        """One buffer a dtype, so that maps of two dtypes never take it from each other."""
        return f"features.basis.{self.dtype}"

    def _columns_at_once(self, rows: int) -> int:
        """Return how many rows of data to project at once."""
        columns = _SMALL_PRODUCT // self.mixing.size // 64 * 64
        return columns if self.FAST_COLUMNS <= columns < rows else rows


def merge_buffers(needs: Sequence[Buffers]) -> Buffers:
    """Return the buffers of all, the larger one where two have the same name."""
    merged: dict[str, tuple[tuple[int, ...], DTypeLike]] = {}
    for buffers in needs:
        for name, (shape, dtype) in buffers.items():
            if name not in merged or np.prod(merged[name][0]) < np.prod(shape):
                merged[name] = (shape, dtype)
    return merged


def buffers_nbytes(buffers: Buffers) -> int:
    """Return the bytes of all buffers."""
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in buffers.values())
