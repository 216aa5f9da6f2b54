"""Messages between the blocks of a sequence: states given the rows before, and rows to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.sequences.entries import position_of
from bigtensor.statistics.sequences.operators import BlockOperators
from bigtensor.statistics.sequences.segments import BEGINS, first_row_kinds
from bigtensor.statistics.sequences.sum_loops import write_transfer


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Messages that enter and leave every block of a pass.

    Attributes
    ----------
    start : (blocks,) int64 array
        Global index of the first row of every block, ascending.
    kinds : (blocks,) int8 array
        Kind of the first row of every block; see `row_kinds`.
    entering : (blocks, k) float64 array
        Probabilities of the state before the first row, given all earlier rows of the sequence.
    leaving : (blocks, k) float64 array
        Likelihood of the later rows of the sequence by the state of the last row, relative to the
        largest.
    sequences : int
        Number of sequences.
    """

    start: IntArray
    kinds: NDArray[np.int8]
    entering: FloatArray
    leaving: FloatArray
    sequences: int

    @property
    def depend_on_chain(self) -> bool:
        """False if a sequence begins with every block, as with the only block of a few rows."""
        return not bool(self.kinds.all())

    def around(self, block: Block) -> tuple[int, FloatArray, FloatArray]:
        """Return the kind of the first row of a block, and what enters and leaves the block."""
        at = position_of(self.start, block.start)
        return int(self.kinds[at]), self.entering[at], self.leaving[at]


@dataclass(frozen=True, eq=False)
class TransferOperators(BlockOperators[Boundaries]):
    """Operator of every block: likelihood of its rows and probabilities of its last state.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    most_entries : int
        Largest number of blocks.
    """

    dtype: ClassVar[str] = "float64"

    def entry_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of one block."""
        return {**super().entry_arrays(), "log_scale": ((self.chain.n_states + 2,), "float64")}

    def finalize(self, state: State) -> Boundaries:
        """Scan the blocks forwards and backwards."""
        kinds, k = first_row_kinds(state), self.chain.n_states
        operator, blocks = state["operator"], len(kinds)
        # the scale of a line, relative to the largest of its operator
        scale = np.exp(state["log_scale"] - state["log_scale"][:, :k].max(axis=1, keepdims=True))
        entering, leaving = np.zeros((blocks, k)), np.ones((blocks, k))
        for b in range(1, blocks):
            if kinds[b]:
                continue
            if state["starts"][b - 1]:
                entering[b] = state["tail"][b - 1]
            elif not kinds[b - 1]:
                onward = (entering[b - 1] * scale[b - 1, :k]) @ operator[b - 1, :k]
                entering[b] = onward / onward.sum()
            else:
                entering[b] = operator[b - 1, k + kinds[b - 1] - BEGINS]
        for b in range(blocks - 2, -1, -1):
            if kinds[b + 1]:
                continue
            ahead = np.ones(k) if state["starts"][b + 1] else leaving[b + 1]
            likelihood = scale[b + 1, :k] * (operator[b + 1, :k] @ ahead)
            leaving[b] = likelihood / likelihood.max()
        sequences = int(state["starts"].sum() + np.count_nonzero(kinds))
        return Boundaries(state["start"], kinds, entering, leaving, sequences)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return self.chain.work_nbytes(rows)

    def operator(self, rows: Block, first: int, work: Workspace) -> dict[str, NDArray[Any]]:
        """Return the operator of rows of one sequence, its lines relative to their scales."""
        chain, k = self.chain, self.chain.n_states
        emission, _ = chain.write_emissions(rows, work)
        operator, log_scale = np.empty((k + 2 - first, k)), np.empty(k + 2 - first)
        write_transfer(
            emission,
            chain.first_states,
            chain.positive_transition,
            operator,
            log_scale,
            np.empty(k),
            first,
        )
        return {"operator": operator, "log_scale": log_scale}
