"""Means of any function of one view, weighted by posterior probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS, JointDensities
from bigtensor.statistics.densities.tile_posterior import (
    count_rows,
    posterior_buffers,
    tally_arrays,
    write_posterior,
)

ViewFunction = Callable[[NDArray[Any]], NDArray[Any]]
"""``(rows, d)`` values of a view to ``(rows, m)`` numbers."""


@dataclass(frozen=True, eq=False)
class PosteriorMeans(SumStatistic[FloatArray]):
    """The mean of a function of one view in every component: ``sum w r_h f(x) / sum w r_h``.

    Parameters
    ----------
    mixture : JointDensities
        Mixture that the posterior probabilities belong to.
    view : str
        Name of the view.
    function : callable
        Of ``(rows, d)`` values; free to allocate.
    width : int
        m, how many numbers it returns for a row.
    """

    mixture: JointDensities
    view: str
    function: ViewFunction
    width: int

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        k = self.mixture.n_components
        return {
            "sums": ((k, self.width), "float64"),
            "mass": ((k,), "float64"),
            **tally_arrays(),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        for _, tile in self.mixture.tiles(block, work):
            padded = write_posterior(state, tile, work)
            posterior = padded[:, : self.mixture.n_components]
            # products with the values of a function, which may be large and cancel
            shares = work.take("means.shares", posterior.shape, np.float64)
            if tile.block.weight is None:
                np.copyto(shares, posterior)
            else:
                np.multiply(posterior, tile.block.weight[: tile.rows, None], out=shares)
            values = np.asarray(self.function(tile.block.view(self.view)[: tile.rows]), np.float64)
            state["sums"] += shares.T @ values.reshape(tile.rows, self.width)
            state["mass"] += shares.sum(axis=0)
        count_rows(state, block)

    def finalize(self, state: State) -> FloatArray:
        """Return the means, ``(components, m)``; zero where a component has no rows."""
        mass = np.maximum(state["mass"], np.finfo(np.float64).tiny)
        return np.asarray(state["sums"] / mass[:, None])

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace and of the values, for blocks of ``rows`` rows."""
        tile, k = min(rows, self.mixture.tile_rows), self.mixture.n_components
        return (
            self.mixture.work_nbytes(tile)
            + buffers_nbytes(posterior_buffers(self.mixture, tile))
            + 8 * tile * k
            + 2 * 8 * tile * self.width
        )
