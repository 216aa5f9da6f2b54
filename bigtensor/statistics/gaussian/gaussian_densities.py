"""Densities of Gaussian components with one shared covariance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers
from bigtensor.features.row_loops import reducing_row_loop, row_loop
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities, reused_tiles

TILE_BYTES = 2 * 1024**2
"""Buffers of one tile, and the products made of them: few enough to stay near the processor."""

TILE_STEP = 240
"""Tiles are multiples of it: a power of two would put all buffers on the same cache lines."""

_MOST_STEPS = 16
"""Longest tile, in steps."""


@dataclass(frozen=True, eq=False)
class GaussianDensities(JointDensities):
    """Weights and means of Gaussian components, and the covariance that all of them share.

    With a reference c and the inverse W of a root of the covariance, rows become
    ``y = W (x - c)``. The log joint densities of all components then are one matrix product,
    ``log pi_h + y' m_h - |m_h|^2 / 2`` with ``m_h = W (mu_h - c)``, and ``-|y|^2 / 2`` is the same
    for all components. Differences of components therefore keep their digits for outlying rows.

    In float32, the offset of the data costs no digits, but distances between means do: with means
    10, 100 and 1000 standard deviations from their mean, log densities had errors of up to 1e-4,
    0.01 and 0.6 (measured; 100 components of 50 columns, labels right). Use float64 beyond.

    Parameters
    ----------
    weights : (components,) float64 array
        Positive.
    means : (components, d) float64 array
        Over the columns of all views in their order.
    covariance : (d,) or (d, d) float64 array
        Variance of every column given the component, or the full covariance matrix.
    precision : {"float32", "float64"}, default "float32"
        Dtype of products of matrices and of posterior probabilities: float32 or float64.

    Attributes
    ----------
    reference : (d,) float64 array
        Weighted mean of the means, rounded to the dtype.
    whitening : (d,) or (d, d) array
        Reciprocal standard deviations, or the matrix W' that rows are multiplied by.
    factor : (d + 1, components) array
        Whitened means, and ``log pi_h - |m_h|^2 / 2`` in the last line.

    Raises
    ------
    ParameterError
        When shapes do not belong together, a weight or a variance is not positive, a number is not
        finite, or the dtype is another one.
    """

    weights: FloatArray
    means: FloatArray
    covariance: FloatArray
    precision: str = "float32"
    reference: FloatArray = field(init=False, repr=False)
    whitening: NDArray[Any] = field(init=False, repr=False)
    factor: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("weights", "means", "covariance"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), np.float64))
        self._check()
        reference = (self.weights @ self.means / self.weights.sum()).astype(self.dtype)
        object.__setattr__(self, "reference", reference.astype(np.float64))
        exact = self._exact_whitening()
        object.__setattr__(self, "whitening", exact.astype(self.dtype))
        centred = self.means - self.reference
        whitened = centred @ exact if exact.ndim == 2 else centred * exact
        constant = np.log(self.weights) - 0.5 * np.einsum("hi,hi->h", whitened, whitened)
        factor = np.concatenate([whitened.T, constant[None]])
        object.__setattr__(self, "factor", np.ascontiguousarray(factor, self.dtype))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of products of matrices and of posterior probabilities."""
        return np.dtype(self.precision)

    @property
    def n_features(self) -> int:
        """Number of columns, d."""
        return int(self.means.shape[1])

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume that densities are relative to: ``(2 pi)^(d/2) |S|^(1/2)``."""
        if self.covariance.ndim == 1:
            log_determinant = float(np.log(self.covariance).sum())
        else:
            log_determinant = float(np.linalg.slogdet(self.covariance)[1])
        return 0.5 * (self.n_features * float(np.log(2 * np.pi)) + log_determinant)

    @property
    def tile_rows(self) -> int:
        """Rows that are evaluated at once."""
        per_row = self.dtype.itemsize * (2 * self.width + 3 * self.n_features)
        return TILE_STEP * int(np.clip(TILE_BYTES / per_row / TILE_STEP, 1, _MOST_STEPS))

    def tiles(self, block: Block, work: Workspace) -> Iterator[tuple[slice, GaussianTile]]:
        """Yield a block in tiles of `tile_rows` rows. Every tile is valid until the next one."""
        return reused_tiles(block, self.tile_rows, lambda rows: GaussianTile(self, rows, work))

    def tile_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        d = self.n_features
        return {
            "gaussian.centred": ((rows, d), self.dtype),
            "gaussian.whitened": ((rows, d + 1), self.dtype),
            "gaussian.log_common": ((rows,), "float64"),
        }

    def unwhitened(self, vectors: FloatArray) -> FloatArray:
        """Return whitened vectors in the units of the data.

        Parameters
        ----------
        vectors : (n, d) float64 array
            Whitened vectors v, one a row.

        Returns
        -------
        (n, d) float64 array
            ``v W'^-1`` for every row v, with the whitening as it is rounded.
        """
        whitening = self.whitening.astype(np.float64)
        if whitening.ndim == 1:
            return np.asarray(vectors / whitening)
        # upper triangular
        return np.asarray(solve_triangular(whitening, vectors.T, trans="T").T)

    def _exact_whitening(self) -> FloatArray:
        """Return the whitening in float64: the inverse of the Cholesky factor, transposed."""
        if self.covariance.ndim == 1:
            return np.asarray(1.0 / np.sqrt(self.covariance))
        try:
            root = cholesky(self.covariance, lower=True)
        except np.linalg.LinAlgError:
            raise ParameterError(
                "the covariance of a Gaussian mixture must be positive definite; put a floor under "
                "its eigenvalues"
            ) from None
        inverse = solve_triangular(root, np.eye(len(root)), lower=True)
        return np.ascontiguousarray(inverse.T)

    def _check(self) -> None:
        """Check dtype, shapes and signs."""
        if self.precision not in ("float32", "float64"):
            raise ParameterError(
                f"Gaussian densities are float32 or float64, got {self.precision!r}"
            )
        k, shape, shared = self.weights.size, self.means.shape, self.covariance.shape
        if len(shape) != 2 or self.weights.shape != shape[:1] or not self.means.size:
            raise ParameterError(
                f"weights {self.weights.shape} and means {shape} do not belong together: "
                "(components,) and (components, d) are needed"
            )
        if shared not in (shape[1:], shape[1:] * 2):
            raise ParameterError(
                f"the covariance {shared} does not belong to {k} means of {shape[1]} columns: "
                f"variances {shape[1:]} or a matrix {shape[1:] * 2} are needed"
            )
        variances = self.covariance if len(shared) == 1 else np.diag(self.covariance)
        if not (np.all(self.weights > 0) and np.all(variances > 0)):
            raise ParameterError(
                "weights and variances of a Gaussian mixture must be positive; put a floor under "
                "them"
            )
        if not all(np.isfinite(a).all() for a in (self.weights, self.means, self.covariance)):
            raise ParameterError("weights, means and covariance of a mixture must be finite")


class GaussianTile:
    """Log joint densities of a few rows, with the buffers they are computed in.

    Attributes
    ----------
    mixture : GaussianDensities
        Mixture whose densities are computed.
    block : Block
        The rows.
    whitened : (rows, d + 1) array
        After `write_log_joint`: the whitened rows y, and ones in the last column.
    log_common : (rows,) float64 array
        After `write_log_joint`: ``-|y|^2 / 2``, by which log densities are larger.
    """

    block: Block

    def __init__(self, mixture: GaussianDensities, rows: int, work: Workspace) -> None:
        self.rows = rows
        self.mixture = mixture
        self._centred, self.whitened, self.log_common = work.take_all(mixture.tile_arrays(rows))
        self._reference = mixture.reference.astype(mixture.dtype)

    def write_log_joint(self, out: NDArray[Any]) -> None:
        """Write ``log pi_h + y' m_h - |m_h|^2 / 2`` into ``(rows, components)``, C-contiguous."""
        values, whitening = self.block.dense_values[: self.rows], self.mixture.whitening
        # differences are exact but for their last digit, because the reference is rounded
        if whitening.ndim == 1:
            _write_scaled(values, self._reference, whitening, self.whitened)
        else:
            np.subtract(values, self._reference, out=self._centred, casting="same_kind")
            np.matmul(self._centred, whitening, out=self.whitened[:, :-1])
        _write_log_common(self.whitened, self.log_common)
        np.matmul(self.whitened, self.mixture.factor, out=out)


@row_loop
def _write_scaled(
    values: NDArray[Any], reference: NDArray[Any], scale: NDArray[Any], whitened: NDArray[Any]
) -> None:
    """Write the difference of every row to the reference times the scale of its column."""
    for row in range(values.shape[0]):
        of_row, y = values[row], whitened[row]
        for i in range(scale.size):
            y[i] = (of_row[i] - reference[i]) * scale[i]


@reducing_row_loop
def _write_log_common(whitened: NDArray[Any], log_common: FloatArray) -> None:
    """Write minus half the squared length of every row, and a one after its last entry."""
    for row in range(whitened.shape[0]):
        of_row = whitened[row]
        d = of_row.size - 1
        total = whitened.dtype.type(0)
        for i in range(d):
            total += of_row[i] * of_row[i]
        log_common[row] = -0.5 * total
        of_row[d] = 1
