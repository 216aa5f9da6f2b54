"""Operators of blocks: from the state before a block to the state of its last row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, Result, State, Workspace
from bigtensor.statistics.sequences.chain import BLOCK_ROWS, HiddenChain
from bigtensor.statistics.sequences.entries import EntryStatistic
from bigtensor.statistics.sequences.segments import BEGINS, KEYS, keys_of, row_kinds


@dataclass(frozen=True, eq=False)
class BlockOperators(EntryStatistic[Result]):
    """Operator of every block, of which the driver makes the messages between blocks.

    A block in which a sequence starts has an operator of the rows before the first start, and a
    vector of the rows from the last start on. The last two lines of an operator are of rows without
    a row before: the first row of a sequence, and the first row after a gap.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov model of the sequences.
    most_entries : int
        Largest number of blocks.
    """

    chain: HiddenChain
    most_entries: int
    block_rows: ClassVar[int] = BLOCK_ROWS
    dtype: ClassVar[str]

    def entry_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of one block."""
        k = self.chain.n_states
        return {
            **KEYS,
            "starts": ((), "int64"),
            "operator": ((k + 2, k), self.dtype),
            "tail": ((k,), self.dtype),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the operator of one block."""
        if not block.rows:
            return
        block, k = block.without_halo(), self.chain.n_states
        kinds = row_kinds(block)
        starts = np.flatnonzero(kinds)
        head = block.window(0, int(starts[0])) if len(starts) else block
        tail = np.zeros((1, k), self.dtype)
        if len(starts):
            last = int(starts[-1])
            line = k + int(kinds[last]) - BEGINS
            tail = self.operator(block.window(last, block.rows), line, work)["operator"][0]
        entry = {"starts": len(starts), "tail": tail, **self.operator(head, 0, work)}
        self.append(state, {**keys_of(block), **entry})

    @abstractmethod
    def operator(self, rows: Block, first: int, work: Workspace) -> dict[str, NDArray[Any]]:
        """Return the operator of rows of one sequence.

        Parameters
        ----------
        rows : Block
            Rows of one sequence.
        first : int
            First line of the operator that is computed. Line i is of the state i before the rows,
            line k of a sequence that begins with them, and line k + 1 of rows after a gap.
        work : Workspace
            Buffers that are reused from block to block.

        Returns
        -------
        dict
            ``"operator"``, ``(k + 2 - first, k)``, and the arrays that belong to it.
        """
