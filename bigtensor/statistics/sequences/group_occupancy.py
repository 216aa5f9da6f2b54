"""Expected occupancy of the states by group of rows, given whole sequences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.filtering import filter_nbytes, filtered_block
from bigtensor.statistics.sequences.sum_loops import write_smoothed
from bigtensor.statistics.sequences.transfer import Boundaries


@dataclass(frozen=True)
class GroupOccupancyResult:
    """Sums over the rows of every group, with row weight w and smoothing probability r.

    Attributes
    ----------
    mass : (groups, k) float64 array
        ``sum w r``.
    rows : (groups,) int64 array
        Number of rows of every group.
    rows_without : int
        Rows without a group.
    """

    mass: FloatArray
    rows: IntArray
    rows_without: int


@dataclass(frozen=True, eq=False)
class GroupOccupancy(SumStatistic[GroupOccupancyResult]):
    """Probabilities of the states given all rows of a sequence, summed over every group of rows.

    `Block.group` holds the group of every row, from 0, and -1 for none.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    boundaries : Boundaries
        Of a pass over the same rows.
    n_groups : int
        Number of groups.
    """

    chain: HiddenChain
    boundaries: Boundaries
    n_groups: int
    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state; their last entry is for rows without a group."""
        groups = self.n_groups + 1
        return {
            "mass": ((groups, self.chain.n_states), "float64"),
            "rows": ((groups,), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        group = block.row_groups()
        if not block.rows:
            return
        block, chain = block.without_halo(), self.chain
        forward = filtered_block(chain, self.boundaries, block, work)
        write_smoothed(
            forward.emission,
            forward.kinds,
            chain.positive_transition,
            forward.leaving,
            forward.filtered,
            np.empty((2, chain.n_states)),
        )
        groups = work.take("occupancy.group", (block.rows,), "int64")
        np.copyto(groups, group, casting="same_kind")
        weight = work.take("occupancy.weight", (block.rows,), "float64")
        block.write_weight(weight)
        add_occupancy(groups, weight, forward.filtered, state["mass"], state["rows"])

    def finalize(self, state: State) -> GroupOccupancyResult:
        """Take apart the rows with and without a group."""
        return GroupOccupancyResult(
            state["mass"][:-1], state["rows"][:-1], rows_without=int(state["rows"][-1])
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return filter_nbytes(self.chain, rows) + 2 * 8 * rows


@row_loop
def add_occupancy(
    groups: IntArray,
    weight: FloatArray,
    probability: FloatArray,
    mass: FloatArray,
    rows: IntArray,
) -> None:
    """Add every row to the sums of its group; the last group is for rows without one.

    Parameters
    ----------
    groups : (n,) int64 array
        -1 for none.
    weight : (n,) float64 array
        Weights of the rows.
    probability : (n, k) float64 array
        Probabilities of the states.
    mass : (groups, k) float64 array
        Weighted sums of the probabilities. Added to.
    rows : (groups,) int64 array
        Number of rows of every group. Added to.
    """
    for row in range(groups.size):
        group = groups[row] if groups[row] >= 0 else mass.shape[0] - 1
        for state in range(mass.shape[1]):
            mass[group, state] += weight[row] * probability[row, state]
        rows[group] += 1
