"""What is expected of a view that was not seen, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.densities import MixtureDensities, normalise, normalise_nbytes


@dataclass(frozen=True, eq=False)
class ConditionalMeans(RowFunction):
    """``sum_h P(h | x) e_h`` for every row: what is expected of something that was not seen.

    Parameters
    ----------
    mixture : MixtureDensities
        Of the views that were seen.
    means : (components, m) float64 array
        e_h, what is expected in every component.
    """

    mixture: MixtureDensities
    means: NDArray[np.float64]

    block_rows: ClassVar[int] = 15360

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """One vector of m numbers a row."""
        return (RowOutput("expectation", "float64", {"value": self.means.shape[1]}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the expectations of the rows of ``block``."""
        for window, tile in self.mixture.tiles(block, work):
            shape = (self.mixture.n_components, tile.rows)
            joint = work.take("rows.joint", shape, self.mixture.dtype)
            log_density = work.take("rows.log_density", (tile.rows,), np.float64)
            shares = work.take("rows.shares", shape, np.float64)
            tile.write_log_joint(joint)
            normalise(joint, log_density, work)
            np.copyto(shares, joint)
            np.matmul(shares.T, self.means, out=out["expectation"][window])

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.mixture.tile_rows)
        per_row = (self.mixture.dtype.itemsize + 8) * self.mixture.n_components + 8
        nbytes: int = per_row * tile + self.mixture.work_nbytes(tile) + normalise_nbytes(tile)
        return nbytes
