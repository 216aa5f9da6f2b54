"""Messages between the blocks of a sequence: the states of its most probable path there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.entries import EntryStatistic, position_of
from bigtensor.statistics.sequences.max_loops import write_path_transfer
from bigtensor.statistics.sequences.path_scores import LOWEST, PathScores
from bigtensor.statistics.sequences.segments import KEYS, continuing, keys_of, sequence_starts


@dataclass(frozen=True, eq=False)
class PathBoundaries:
    """States of the most probable paths at the ends of the blocks of a pass.

    Attributes
    ----------
    start : (blocks,) int64 array
        Global index of the first row of every block, ascending.
    entering : (blocks,) int64 array
        State of the row before the first; -1 where a sequence starts with the block.
    leaving : (blocks,) int64 array
        State of the last row; -1 where its sequence ends with the block.
    """

    start: NDArray[np.int64]
    entering: NDArray[np.int64]
    leaving: NDArray[np.int64]

    def of(self, block: Block) -> tuple[int, int]:
        """Return the states of the rows before and at the end of a block; -1 for none."""
        at = position_of(self.start, block.start)
        return int(self.entering[at]), int(self.leaving[at])


@dataclass(frozen=True, eq=False)
class PathOperators(EntryStatistic[PathBoundaries]):
    """Operator of every block: scores of the best paths between its ends.

    As `TransferOperators`, with the largest probability of a path in place of the sum.

    Parameters
    ----------
    chain : HiddenChain
    most_entries : int
        Largest number of blocks.
    """

    chain: HiddenChain
    most_entries: int
    block_rows: ClassVar[int] = BLOCK_ROWS

    def entry_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of one block."""
        k = self.chain.n_states
        return {
            **KEYS,
            "starts": ((), "int64"),
            "operator": ((k + 1, k), "int64"),
            "tail": ((k,), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the operator of one block."""
        if not block.rows:
            return
        block, k = block.without_halo(), self.chain.n_states
        starts = np.flatnonzero(sequence_starts(block))
        head = block.window(0, int(starts[0])) if len(starts) else block
        tail = np.zeros((1, k), np.int64)
        if len(starts):
            tail = self._operator(block.window(int(starts[-1]), block.rows), k, work)
        entry = {"starts": len(starts), "operator": self._operator(head, 0, work), "tail": tail}
        self.append(state, {**keys_of(block), **entry})

    def finalize(self, state: State) -> PathBoundaries:
        """Score the ends of blocks forwards, and trace the best paths back."""
        joined, operator = continuing(state), state["operator"]
        blocks, k = len(joined), self.chain.n_states
        score = np.zeros((blocks, k), np.int64)
        for b in range(blocks):
            if state["starts"][b]:
                score[b] = state["tail"][b]
            elif joined[b]:
                score[b] = np.max(score[b - 1][:, None] + operator[b, :k], axis=0)
            else:
                score[b] = operator[b, k]
            # relative to the best, so that no sum along the rows overflows
            score[b] = np.maximum(score[b] - score[b].max(), LOWEST)
        entering, leaving = np.full(blocks, -1), np.full(blocks, -1)
        for b in range(blocks - 1, 0, -1):
            if not joined[b]:
                continue
            paths = score[b - 1][:, None] + operator[b, :k]
            ends_later = leaving[b] >= 0 and not state["starts"][b]
            of_state = paths[:, leaving[b]] if ends_later else paths.max(axis=1)
            entering[b] = leaving[b - 1] = int(np.argmax(of_state))
        return PathBoundaries(state["start"], entering, leaving)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return PathScores(self.chain).work_nbytes(rows)

    def _operator(self, rows: Block, first: int, work: Workspace) -> NDArray[np.int64]:
        """Return the operator of rows of one sequence, from a state on."""
        scores, k = PathScores(self.chain), self.chain.n_states
        operator = np.empty((k + 1 - first, k), np.int64)
        write_path_transfer(
            scores.write_emissions(rows, work),
            scores.initial,
            scores.transition,
            operator,
            np.empty(k, np.int64),
            first,
            LOWEST,
        )
        return operator
