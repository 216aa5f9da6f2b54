"""Sums over rows for one EM iteration of Gaussian components that have a covariance each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS
from bigtensor.statistics.densities.tile_posterior import (
    count_rows,
    log_likelihood_of,
    posterior_buffers,
    tally_arrays,
    write_posterior,
)
from bigtensor.statistics.gaussian.own_covariance_densities import OwnCovarianceDensities

_WEIGHT = "own_covariance.weight"


@dataclass(frozen=True)
class OwnCovarianceSumsResult:
    """Sums over rows z in the frame of the weight w times the posterior probability r.

    Attributes
    ----------
    counts : (k,) float64 array
        ``sum w r``.
    sums : (k, d) float64 array
        ``sum w r z``.
    second_moments : (k, d, d), (k, d) or (k,) float64 array
        ``sum w r z z'``, ``sum w r z_i^2``, or ``sum w r |z|^2``.
    log_likelihood : float
        ``sum w log p(x)`` under the mixture, in nats.
    weight : float
        ``sum w``.
    rows : int
        Number of rows.
    """

    counts: FloatArray
    sums: FloatArray
    second_moments: FloatArray
    log_likelihood: float
    weight: float
    rows: int


@dataclass(frozen=True, eq=False)
class OwnCovarianceSums(SumStatistic[OwnCovarianceSumsResult]):
    """Counts, sums and second moments of rows by component: the E step of EM.

    They are one product of the features of order two with the posterior probabilities. Products of
    a tile are made in the dtype of the mixture, and added up in float64. Missing entries of a row
    have their conditional moments in every component.

    Parameters
    ----------
    mixture : OwnCovarianceDensities
        Mixture that the posterior probabilities belong to.
    """

    mixture: OwnCovarianceDensities

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        shape = (self.mixture.features.width, self.mixture.n_components)
        return {"sums": (shape, "float64"), **tally_arrays()}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        for _, tile in self.mixture.tiles(block, work):
            posterior = write_posterior(state, tile, work)
            if tile.block.weight is not None:
                weight = work.take(_WEIGHT, (tile.rows,), self.mixture.dtype)
                np.copyto(weight, tile.block.weight[: tile.rows], casting="same_kind")
                np.multiply(posterior, weight[:, None], out=posterior)
            tile.add_sums(posterior, state["sums"], work)
        count_rows(state, block)

    def finalize(self, state: State) -> OwnCovarianceSumsResult:
        """Return the sums in the frame."""
        features, sums = self.mixture.features, state["sums"]
        return OwnCovarianceSumsResult(
            counts=sums[-1].copy(),
            sums=sums[features.n_quadratic : -1].T.copy(),
            second_moments=features.second_moments(sums),
            log_likelihood=log_likelihood_of(state, self.mixture),
            weight=float(state["weight"]),
            rows=int(state["rows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        return self.mixture.work_nbytes(tile) + buffers_nbytes(
            {
                **posterior_buffers(self.mixture, tile),
                **self.mixture.sum_arrays(tile),
                _WEIGHT: ((tile,), self.mixture.dtype),
            }
        )
