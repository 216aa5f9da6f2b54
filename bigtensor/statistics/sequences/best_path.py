"""Messages between the blocks of a sequence: the states of its most probable path there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import State, Workspace
from bigtensor.statistics.sequences.entries import position_of
from bigtensor.statistics.sequences.operators import BlockOperators
from bigtensor.statistics.sequences.path_scores import LOWEST, PathScores
from bigtensor.statistics.sequences.segments import BEGINS, first_row_kinds
from bigtensor.statistics.sequences.viterbi_loops import write_path_transfer


@dataclass(frozen=True, eq=False)
class PathBoundaries:
    """States of the most probable paths at the ends of the blocks of a pass.

    Attributes
    ----------
    start : (blocks,) int64 array
        Global index of the first row of every block, ascending.
    kinds : (blocks,) int8 array
        Kind of the first row of every block; see `row_kinds`.
    entering : (blocks,) int64 array
        State of the row before the first; -1 where a sequence starts with the block.
    leaving : (blocks,) int64 array
        State of the last row; -1 where its sequence ends with the block.
    """

    start: IntArray
    kinds: NDArray[np.int8]
    entering: IntArray
    leaving: IntArray

    def around(self, block: Block) -> tuple[int, int, int]:
        """Return the kind of the first row, and states of the rows before and at the end."""
        at = position_of(self.start, block.start)
        return int(self.kinds[at]), int(self.entering[at]), int(self.leaving[at])


@dataclass(frozen=True, eq=False)
class PathOperators(BlockOperators[PathBoundaries]):
    """Operator of every block: scores of the best paths between its ends.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    most_entries : int
        Largest number of blocks.
    """

    dtype: ClassVar[str] = "int64"

    def finalize(self, state: State) -> PathBoundaries:
        """Score the ends of blocks forwards, and trace the best paths back."""
        kinds, operator = first_row_kinds(state), state["operator"]
        blocks, k = len(kinds), self.chain.n_states
        score = np.zeros((blocks, k), np.int64)
        for b in range(blocks):
            if state["starts"][b]:
                score[b] = state["tail"][b]
            elif kinds[b]:
                score[b] = operator[b, k + kinds[b] - BEGINS]
            else:
                score[b] = np.max(score[b - 1][:, None] + operator[b, :k], axis=0)
            # relative to the best, so that no sum along the rows overflows
            score[b] = np.maximum(score[b] - score[b].max(), LOWEST)
        entering, leaving = np.full(blocks, -1), np.full(blocks, -1)
        for b in range(blocks - 1, 0, -1):
            if kinds[b]:
                continue
            paths = score[b - 1][:, None] + operator[b, :k]
            ends_later = leaving[b] >= 0 and not state["starts"][b]
            of_state = paths[:, leaving[b]] if ends_later else paths.max(axis=1)
            entering[b] = leaving[b - 1] = int(np.argmax(of_state))
        return PathBoundaries(state["start"], kinds, entering, leaving)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return PathScores(self.chain).work_nbytes(rows)

    def operator(self, rows: Block, first: int, work: Workspace) -> dict[str, NDArray[Any]]:
        """Return the operator of rows of one sequence."""
        scores, k = PathScores(self.chain), self.chain.n_states
        operator = np.empty((k + 2 - first, k), np.int64)
        write_path_transfer(
            scores.write_emissions(rows, work),
            scores.first_states,
            scores.transition,
            operator,
            np.empty(k, np.int64),
            first,
            LOWEST,
        )
        return {"operator": operator}
