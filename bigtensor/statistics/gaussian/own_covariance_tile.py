"""Log joint densities of a few rows, and their sums, by the features of order two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.gaussian.incomplete_rows import IncompleteRows

if TYPE_CHECKING:
    from bigtensor.statistics.gaussian.own_covariance_densities import OwnCovarianceDensities


class OwnCovarianceTile:
    """Log joint densities of a few rows, with the buffers they are computed in.

    Attributes
    ----------
    mixture : OwnCovarianceDensities
        Mixture whose densities are computed.
    block : Block
        The rows.
    features : (D, rows) array
        After `write_log_joint`: the features of order two, one after the other. Those of a row with
        missing entries are zeros.
    incomplete : IncompleteRows, optional
        After `write_log_joint`: the rows with missing entries.
    log_common : None
        Log joint densities are whole.
    """

    block: Block
    incomplete: IncompleteRows | None = None
    log_common: FloatArray | None = None

    def __init__(self, mixture: OwnCovarianceDensities, rows: int, work: Workspace) -> None:
        self.rows = rows
        self.mixture = mixture
        self._centred: NDArray[Any]
        self.features: NDArray[Any]
        self._centred, self.features = (
            work.take(name, shape, dtype)
            for name, (shape, dtype) in mixture.tile_arrays(rows).items()
        )
        self._scaling = mixture.frame.scaling.astype(mixture.dtype)
        self._quadratic = mixture.features

    def write_log_joint(self, out: NDArray[Any]) -> None:
        """Write the log joint densities into ``(rows, components)``, C-contiguous."""
        values = self.block.dense_values[: self.rows]
        # the difference to the centre keeps the digits of float32 data that are far from zero
        np.subtract(values, self.mixture.frame.centre, out=self._centred, casting="same_kind")
        entries = self._quadratic.entries_of(self.features)
        if self._scaling.ndim == 1:
            np.multiply(self._centred.T, self._scaling[:, None], out=entries)
        else:
            np.matmul(self._scaling.T, self._centred.T, out=entries)
        self._quadratic.fill(self.features)
        np.matmul(self.features.T, self.mixture.factor, out=out)
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
        ((name, (shape, dtype)),) = self.mixture.sum_arrays(self.rows).items()
        products = work.take(name, shape, dtype)
        np.matmul(self.features, posterior, out=products)
        sums += products

    def _write_incomplete(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        """Write the log joint densities of rows with missing entries."""
        rows = IncompleteRows.from_rows(values - self.mixture.frame.centre)
        if rows is not None:
            out[rows.places] = self.mixture.incomplete_log_joint(rows)
            self._clear(rows.places)
            self.incomplete = rows

    def _clear(self, places: NDArray[np.intp]) -> None:
        """Set the features of rows with missing entries to zero."""
        self.features[:, places] = 0
