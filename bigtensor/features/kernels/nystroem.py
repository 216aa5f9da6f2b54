"""Kernels at landmarks, projected: the features of a view with a kernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.buffers import Buffers, Scratch
from bigtensor.features.kernels.kernel import Kernel
from bigtensor.features.maps import FeatureMap


def eigenvalue_cut(dtype: str) -> float:
    """Return the relative eigenvalue cut for features of this dtype: 1e-6 or 1e-10."""
    return 1e-6 if np.dtype(dtype) == np.float32 else 1e-10


def nystroem_root(gram: FloatArray, cut: float) -> FloatArray:
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


@dataclass(frozen=True, eq=False)
class Nystroem(FeatureMap):
    """Kernels at landmarks, projected: ``y(x) = projection' k(L, x)``.

    The basis functions are the kernels over their peak (those of a Gaussian lie in [0, 1], whatever
    the units of the data); the peak is part of `mixing`. With a relative kernel it is one, so that
    features have no unit either.

    Parameters
    ----------
    landmarks : (p, d) array
        Points at which the kernels are centred.
    kernel : Kernel
        Of width d.
    centre : (d,) array
        A point near the middle of the data.
    projection : (p, q) array
        For example `nystroem_root`, or its product with a basis of a subspace.
    dtype : str, default "float32"
        Precision in which blocks of features are computed.

    Raises
    ------
    ParameterError
        When the shapes do not belong together.
    """

    landmarks: FloatArray
    kernel: Kernel
    centre: FloatArray
    projection: FloatArray
    dtype: str = "float32"
    prepared: NDArray[Any] = field(init=False, repr=False)

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
            ("prepared", self.kernel.prepare(landmarks, centre, self.dtype)),
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
    def mixing(self) -> FloatArray:
        """The projection times the peak of the kernel."""
        return self.projection * self.kernel.peak

    @property
    def mass(self) -> FloatArray:
        """The integral of every feature: ``projection' w`` with the masses w at the landmarks."""
        masses = self.kernel.masses(self.landmarks)
        return np.asarray((self.projection * masses[:, None]).sum(0))

    @property
    def volume(self) -> float:
        """Volume of the kernel."""
        return self.kernel.volume

    @property
    def log_volume(self) -> float:
        """Natural logarithm of `volume`."""
        return self.kernel.log_volume

    def projected(self, basis: FloatArray) -> Nystroem:
        """Return the map to ``basis' y(x)``."""
        return replace(self, projection=self.projection @ basis)

    def write_basis(self, values: NDArray[Any], out: NDArray[Any], work: Scratch) -> None:
        """Write the kernels over their peak."""
        self.kernel.write_block(values, self.prepared, self.centre, out, work)

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers of the kernel."""
        return self.kernel.work_arrays(rows, self.dtype)
