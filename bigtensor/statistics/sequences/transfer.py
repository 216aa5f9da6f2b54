"""Messages between the blocks of a sequence: states given the rows before, and rows to come."""

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
from bigtensor.statistics.sequences.segments import KEYS, continuing, keys_of, sequence_starts
from bigtensor.statistics.sequences.sum_loops import write_transfer


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Messages that enter and leave every block of a pass.

    Attributes
    ----------
    start : (blocks,) int64 array
        Global index of the first row of every block, ascending.
    begins : (blocks,) bool array
        True where a sequence starts with the first row of the block.
    entering : (blocks, k) float64 array
        Probabilities of the state before the first row, given all earlier rows of the sequence.
    leaving : (blocks, k) float64 array
        Likelihood of the later rows of the sequence by the state of the last row, relative to the
        largest.
    sequences : int
        Number of sequences.
    """

    start: NDArray[np.int64]
    begins: NDArray[np.bool_]
    entering: NDArray[np.float64]
    leaving: NDArray[np.float64]
    sequences: int

    def of(self, block: Block) -> tuple[bool, NDArray[np.float64], NDArray[np.float64]]:
        """Return whether a sequence begins with a block, and what enters and leaves it."""
        at = position_of(self.start, block.start)
        return bool(self.begins[at]), self.entering[at], self.leaving[at]


@dataclass(frozen=True, eq=False)
class TransferOperators(EntryStatistic[Boundaries]):
    """Operator of every block, from the state before it to the state of its last row.

    With the operators of all blocks the driver knows the messages between them. A block in which a
    sequence starts has an operator of the rows before, and a vector of those after its last start.

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
            "operator": ((k + 1, k), "float64"),
            "log_scale": ((k + 1,), "float64"),
            "tail": ((k,), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the operator of one block."""
        if not block.rows:
            return
        block, k = block.without_halo(), self.chain.n_states
        starts = np.flatnonzero(sequence_starts(block))
        head = block.window(0, int(starts[0])) if len(starts) else block
        operator, log_scale = self._operator(head, 0, work)
        tail = np.zeros((1, k))
        if len(starts):
            tail, _ = self._operator(block.window(int(starts[-1]), block.rows), k, work)
        entry = {"starts": len(starts), "operator": operator, "log_scale": log_scale, "tail": tail}
        self.append(state, {**keys_of(block), **entry})

    def finalize(self, state: State) -> Boundaries:
        """Scan the blocks forwards and backwards."""
        joined = continuing(state)
        operator = state["operator"]
        # the scale of a line, relative to the largest of its operator
        scale = np.exp(state["log_scale"] - state["log_scale"][:, :-1].max(axis=1, keepdims=True))
        blocks, k = len(joined), self.chain.n_states
        entering, leaving = np.zeros((blocks, k)), np.ones((blocks, k))
        for b in range(1, blocks):
            if not joined[b]:
                continue
            if state["starts"][b - 1]:
                entering[b] = state["tail"][b - 1]
            elif joined[b - 1]:
                onward = (entering[b - 1] * scale[b - 1, :k]) @ operator[b - 1, :k]
                entering[b] = onward / onward.sum()
            else:
                entering[b] = operator[b - 1, k]
        for b in range(blocks - 2, -1, -1):
            if not joined[b + 1]:
                continue
            ahead = np.ones(k) if state["starts"][b + 1] else leaving[b + 1]
            likelihood = scale[b + 1, :k] * (operator[b + 1, :k] @ ahead)
            leaving[b] = likelihood / likelihood.max()
        sequences = int(state["starts"].sum() + np.count_nonzero(~joined))
        return Boundaries(state["start"], ~joined, entering, leaving, sequences)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return self.chain.work_nbytes(rows)

    def _operator(
        self, rows: Block, first: int, work: Workspace
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the operator of rows of one sequence, from a state on, and its scales."""
        chain, k = self.chain, self.chain.n_states
        emission, _ = chain.write_emissions(rows, work)
        operator, log_scale = np.empty((k + 1 - first, k)), np.empty(k + 1 - first)
        write_transfer(
            emission,
            chain.initial,
            chain.positive_transition,
            operator,
            log_scale,
            np.empty(k),
            first,
        )
        return operator, log_scale
