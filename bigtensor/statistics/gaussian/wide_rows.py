"""Densities and sums of rows with many features, by triangular solves and matrix products.

Beyond a few tens of features, the features of order two of a row no longer fit the caches of a
processor: writing and reading them takes longer than the arithmetic. One triangular solve and one
product for each component then take less time, although they have more operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from bigtensor.array_types import FloatArray
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.own_covariance_tile import OwnCovarianceTile

if TYPE_CHECKING:
    from bigtensor.statistics.gaussian.own_covariance_densities import OwnCovarianceDensities


class WideTile(OwnCovarianceTile):
    """Log joint densities of a few rows with many features.

    Attributes
    ----------
    mixture : OwnCovarianceDensities
        Mixture with full covariances.
    """

    def __init__(self, mixture: OwnCovarianceDensities, rows: int, work: Workspace) -> None:
        self.rows = rows
        self.mixture = mixture
        self._centred: NDArray[Any]
        self._entries: NDArray[Any]
        self._centred, self._entries = (
            work.take(name, shape, dtype)
            for name, (shape, dtype) in mixture.tile_arrays(rows).items()
        )
        self._scaling = mixture.frame.scaling.astype(mixture.dtype)
        self._means = mixture.means.astype(mixture.dtype)
        self._constants = np.log(mixture.weights) - np.log(
            np.diagonal(mixture.factor, axis1=1, axis2=2).astype(np.float64)
        ).sum(axis=1)
        (self._solve,) = get_blas_funcs(("trsm",), (mixture.factor,))

    def write_log_joint(self, out: NDArray[Any]) -> None:
        """Write the log joint densities into ``(rows, components)``, C-contiguous."""
        values = self.block.dense_values[: self.rows]
        np.subtract(values, self.mixture.frame.centre, out=self._centred, casting="same_kind")
        if self._scaling.ndim == 1:
            np.multiply(self._centred, self._scaling, out=self._entries)
        else:
            np.matmul(self._centred, self._scaling, out=self._entries)
        for component, root in enumerate(self.mixture.factor):
            np.subtract(self._entries, self._means[component], out=self._centred)
            # to BLAS, C-contiguous arrays are transposed ones, which it solves in place
            whitened = self._solve(1.0, root.T, self._centred.T, trans_a=1, overwrite_b=1)
            squares = np.einsum("ir,ir->r", whitened, whitened)
            out[:, component] = self._constants[component] - 0.5 * squares
        self.incomplete = None
        # a missing entry reaches all components
        if np.isnan(out[:, 0]).any():
            self._write_incomplete(values, out)

    def add_sums(self, posterior: NDArray[Any], sums: FloatArray, work: Workspace) -> None:
        """Add the sums of the features of order two, weighted by posterior probabilities.

        Parameters
        ----------
        posterior : (rows, k) array
            Posterior probabilities, times the weights of the rows.
        sums : (D, k) float64 array
            Changed in place.
        work : Workspace
            Buffers that are reused from block to block.
        """
        if self.incomplete is not None:
            posterior = posterior.copy()
            posterior[self.incomplete.places] = 0
        weighted, products = (
            work.take(name, shape, dtype)
            for name, (shape, dtype) in self.mixture.sum_arrays(self.rows).items()
        )
        n_quadratic = self.mixture.features.n_quadratic
        for component in range(posterior.shape[1]):
            shares = posterior[:, component]
            # posterior probabilities below the rounding of the largest one change no sum
            rows = np.flatnonzero(shares > np.finfo(shares.dtype).eps * shares.max(initial=0.0))
            if not rows.size:
                continue
            chosen, scaled = self._centred[: rows.size], weighted[: rows.size]
            np.take(self._entries, rows, axis=0, out=chosen, mode="clip")
            np.multiply(chosen, shares[rows, None], out=scaled, casting="same_kind")
            np.matmul(scaled.T, chosen, out=products)
            _add_upper(products, sums[:n_quadratic, component])
        sums[n_quadratic:-1] += self._entries.T @ posterior
        sums[-1] += posterior.sum(axis=0, dtype=np.float64)

    def _clear(self, places: NDArray[np.intp]) -> None:
        """Set the entries of rows with missing entries to zero."""
        self._entries[places] = 0


@row_loop
def _add_upper(products: NDArray[Any], out: FloatArray) -> None:
    """Add the upper triangle of a symmetric matrix, row by row, to a vector."""
    place = 0
    for i in range(products.shape[0]):
        for j in range(i, products.shape[0]):
            out[place] += products[i, j]
            place += 1
