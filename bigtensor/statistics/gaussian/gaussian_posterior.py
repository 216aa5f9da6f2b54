"""Sums over rows for one EM iteration of a Gaussian mixture with a shared covariance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS
from bigtensor.statistics.densities.tile_posterior import (
    count_rows,
    log_likelihood_of,
    posterior_buffers,
    tally_arrays,
    write_posterior,
)
from bigtensor.statistics.gaussian.gaussian_densities import GaussianDensities


@dataclass(frozen=True)
class GaussianPosteriorSumsResult:
    """Sums over rows x of the weight w times the posterior probability r of every component.

    Attributes
    ----------
    counts : (components,) float64 array
        ``sum w r_h``.
    sums : (components, d) float64 array
        ``sum w r_h (x - reference)``, in the units of the data.
    reference : (d,) float64 array
        Point that is subtracted from the rows, in the units of the data.
    log_likelihood : float
        ``sum w log p(x)`` under the mixture, in nats.
    weight : float
        ``sum w``.
    rows : int
        Number of rows.
    """

    counts: FloatArray
    sums: FloatArray
    reference: FloatArray
    log_likelihood: float
    weight: float
    rows: int


@dataclass(frozen=True, eq=False)
class GaussianPosteriorSums(SumStatistic[GaussianPosteriorSumsResult]):
    """Counts and sums of rows by component, weighted by posterior probabilities.

    The E-step of EM for means, weights and a shared covariance. No second moments are needed: the
    shared covariance is the covariance of all rows less its part between the components.

    Products of the rows of a tile are made in the dtype of the mixture, of whitened rows about the
    reference of the mixture, and added up in float64.

    Parameters
    ----------
    mixture : GaussianDensities
        Mixture that the posterior probabilities belong to.
    """

    mixture: GaussianDensities

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        shape = (self.mixture.n_components, self.mixture.n_features + 1)
        return {"sums": (shape, "float64"), **tally_arrays()}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        for _, tile in self.mixture.tiles(block, work):
            posterior = write_posterior(state, tile, work)
            weight, products = work.take_all(self._buffers(tile.rows))
            rows = tile.whitened
            if tile.block.weight is not None:
                np.copyto(weight, tile.block.weight[: tile.rows], casting="same_kind")
                # the last column turns from ones to weights, whose sums are the counts
                np.multiply(rows, weight[:, None], out=rows)
            np.matmul(posterior.T, rows, out=products)
            state["sums"] += products
        count_rows(state, block)

    def finalize(self, state: State) -> GaussianPosteriorSumsResult:
        """Return the sums in the units of the data."""
        return GaussianPosteriorSumsResult(
            counts=state["sums"][:, -1].copy(),
            sums=self.mixture.unwhitened(state["sums"][:, :-1]),
            reference=self.mixture.reference,
            log_likelihood=log_likelihood_of(state, self.mixture),
            weight=float(state["weight"]),
            rows=int(state["rows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        return self.mixture.work_nbytes(tile) + buffers_nbytes(
            {**posterior_buffers(self.mixture, tile), **self._buffers(tile)}
        )

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        k, d, dtype = self.mixture.n_components, self.mixture.n_features, self.mixture.dtype
        return {
            "sums.weight": ((rows,), dtype),
            "sums.products": ((k, d + 1), dtype),
        }
