"""Statistics whose state is a list: an entry for every block, or for every sequence of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtensor.array_types import IntArray
from bigtensor.errors import BigtensorError
from bigtensor.statistics.base import ArraySpec, Result, State, Statistic
from bigtensor.statistics.sequences.chain import BLOCK_ROWS


class EntryStatistic(Statistic[Result]):
    """Statistic that keeps arrays with an entry for every block, in the order of the rows.

    Attributes
    ----------
    most_entries : int
        Largest number of entries: the size of a state grows with it, so that a plan must know it.
    """

    most_entries: int

    @abstractmethod
    def entry_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the shape and dtype of one entry of every array."""

    def init(self) -> State:
        """Return lists without an entry."""
        return {
            name: np.zeros((0, *shape), dtype)
            for name, (shape, dtype) in self.entry_arrays().items()
        }

    def combine(self, left: State, right: State) -> State:
        """Return the entries of both, one behind the other."""
        return {name: np.concatenate([left[name], right[name]]) for name in left}

    def append(self, state: State, entries: Mapping[str, Any]) -> None:
        """Add entries to a state, in place: ``(entries, ...)`` of every array."""
        for name, (shape, dtype) in self.entry_arrays().items():
            added = np.asarray(entries[name], dtype).reshape(-1, *shape)
            state[name] = np.concatenate([state[name], added])

    def state_nbytes(self) -> int:
        """Return the bytes of the largest number of entries."""
        return self.most_entries * sum(
            math.prod(shape) * np.dtype(dtype).itemsize
            for shape, dtype in self.entry_arrays().values()
        )


def position_of(start: IntArray, block_start: int) -> int:
    """Return the position of a block in the messages of an earlier pass.

    Raises
    ------
    BigtensorError
        When the rows were cut into other blocks.
    """
    position = int(np.searchsorted(start, block_start))
    if position == len(start) or start[position] != block_start:
        raise BigtensorError(
            f"no message is known for the block at row {block_start:,}: both passes along "
            "sequences have to cut the rows into the same blocks"
        )
    return position


def most_blocks(rows: int) -> int:
    """Return the largest number of blocks of some rows, whatever parts and data sets they are in.

    Every part but the last of a data set fills a block. Room for a thousand data sets is added.
    """
    return 2 * -(-rows // BLOCK_ROWS) + 1000
