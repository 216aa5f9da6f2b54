"""Sums of posterior probabilities by group of rows: the mixing weights of patients and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.data.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities import MixtureDensities, normalise, normalise_nbytes


@dataclass(frozen=True)
class GroupSumsResult:
    """Sums over the rows of every group.

    Attributes
    ----------
    mass : (groups, components) float64 array
        ``sum w r_h`` over the rows of a group, with weight w and posterior probability r.
    rows : (groups,) int64 array
        Rows of every group.
    rows_without : int
        Rows without a group.
    """

    mass: NDArray[np.float64]
    rows: NDArray[np.int64]
    rows_without: int


@dataclass(frozen=True, eq=False)
class GroupSums(SumStatistic[GroupSumsResult]):
    """Posterior probabilities of the components, summed over the rows of every group.

    `Block.sequence` holds the group of every row, from 0, and -1 for none.

    Parameters
    ----------
    mixture : MixtureDensities
    n_groups : int
    """

    mixture: MixtureDensities
    n_groups: int

    block_rows: ClassVar[int] = 15360

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state; their last entry is for rows without a group."""
        return {
            "mass": ((self.n_groups + 1, self.mixture.n_components), "float64"),
            "rows": ((self.n_groups + 1,), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if block.sequence is None:
            raise ParameterError("the rows have no groups; open them with groups=...")
        for window, tile in self.mixture.tiles(block, work):
            posterior, log_density, by_row, groups, ones = (
                work.take(name, shape, dtype)
                for name, (shape, dtype) in self._buffers(tile.rows).items()
            )
            tile.write_log_joint(posterior)
            normalise(posterior, log_density, work)
            if tile.block.weight is not None:
                np.multiply(posterior, tile.block.weight[: tile.rows], out=posterior)
            np.copyto(groups, block.sequence[window], casting="same_kind")
            # -1 is the last entry of the state, as NumPy counts from the end
            first = groups[0]
            if groups.min() == first == groups.max():
                state["mass"][first] += posterior.sum(axis=1)
                state["rows"][first] += tile.rows
                continue
            np.copyto(by_row, posterior.T)
            ones.fill(1.0)
            present, place = np.unique(groups, return_inverse=True)
            members: Any = csr_array((tile.rows, len(present)))
            # set one by one, because the constructor copies slices of larger buffers
            members.indptr = np.arange(tile.rows + 1, dtype=place.dtype)
            members.indices = place
            members.data = ones
            state["mass"][present] += members.T @ by_row
            state["rows"][present] += np.bincount(place)

    def finalize(self, state: State) -> GroupSumsResult:
        """Take apart the rows with and without a group."""
        return GroupSumsResult(
            mass=state["mass"][:-1], rows=state["rows"][:-1], rows_without=int(state["rows"][-1])
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for ``rows`` rows, and of what SciPy makes of them."""
        tile, k = min(rows, self.mixture.tile_rows), self.mixture.n_components
        sums = 8 * k * min(tile, self.n_groups + 1)
        return (
            self.mixture.work_nbytes(tile)
            + normalise_nbytes(tile)
            + buffers_nbytes(self._buffers(tile))
            + sums
        )

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        k, dtype = self.mixture.n_components, self.mixture.dtype
        return {
            "groups.posterior": ((k, rows), dtype),
            "groups.log_density": ((rows,), "float64"),
            "groups.by_row": ((rows, k), dtype),
            "groups.code": ((rows,), "int64"),
            "groups.ones": ((rows,), dtype),
        }
