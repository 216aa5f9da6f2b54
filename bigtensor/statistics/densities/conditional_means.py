"""Expectation of an unseen view for every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS, JointDensities
from bigtensor.statistics.densities.tile_posterior import posterior_buffers, tile_posterior


@dataclass(frozen=True, eq=False)
class ConditionalMeans(RowFunction):
    """Conditional mean ``sum_h P(h | x) e_h`` of an unseen quantity for every row.

    Parameters
    ----------
    mixture : JointDensities
        Of the views that were seen.
    means : (components, m) float64 array
        e_h, the expectation in every component.
    """

    mixture: JointDensities
    means: FloatArray

    block_rows: ClassVar[int] = BLOCK_ROWS

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """One vector of m numbers a row."""
        return (RowOutput("expectation", "float64", {"value": self.means.shape[1]}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the expectations of the rows of ``block``."""
        for window, tile in self.mixture.tiles(block, work):
            padded, _ = tile_posterior(tile, work)
            posterior = padded[:, : self.mixture.n_components]
            shares = work.take("rows.shares", posterior.shape, np.float64)
            np.copyto(shares, posterior)
            np.matmul(shares, self.means, out=out["expectation"][window])

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        shares = 8 * tile * self.mixture.n_components
        posterior = buffers_nbytes(posterior_buffers(self.mixture, tile))
        return self.mixture.work_nbytes(tile) + posterior + shares
