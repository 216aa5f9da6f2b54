"""Codes of all rows, and their sequences in an order that does not depend on the data's order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, Workspace
from bigtensor.statistics.codes.triple_counts import TripleCounts, goes_on
from bigtensor.statistics.sequences.entries import EntryStatistic


@dataclass(frozen=True, eq=False)
class SequenceCodesResult:
    """Codes of all rows, in the order of the rows.

    Attributes
    ----------
    codes : (rows,) int16 array
        Negative for a missing one.
    weight : (rows,) float64 array
        Weights of the rows.
    followed : (rows,) bool array
        True where the next row is of the same sequence.
    """

    codes: NDArray[np.int16]
    weight: FloatArray
    followed: NDArray[np.bool_]

    def in_content_order(self, places: IntArray, random_state: int) -> Block:
        """Return the sequences in a random order that depends on their content alone.

        The order is the same for any order of the sequences and any names of the categories.
        Sequences of weight zero are left out.

        Parameters
        ----------
        places : (categories,) int64 array
            Place of every category by its content.
        random_state : int
            Seed of the order.
        """
        codes = np.append(places, -1)[self.codes].astype(np.int16)
        ends = np.flatnonzero(~self.followed) + 1
        bounds = np.append(0, ends).tolist()
        by_content = sorted(
            (codes[start:end].tobytes(), self.weight[start:end].tobytes(), start, end)
            for start, end in pairwise(bounds)
            if self.weight[start:end].any()
        )
        order = np.random.default_rng(random_state).permutation(len(by_content))
        ranges = [np.arange(*by_content[place][2:]) for place in order.tolist()]
        rows = np.concatenate([np.arange(0), *ranges])
        return Block(
            self.codes[rows, None],
            {"code": slice(0, 1)},
            0,
            len(rows),
            self.weight[rows],
            np.repeat(np.arange(len(ranges)), [len(own) for own in ranges]),
        )


@dataclass(frozen=True)
class SequenceCodes(EntryStatistic[SequenceCodesResult]):
    """Codes and weights of all rows, which have to be few.

    Parameters
    ----------
    most_entries : int
        Largest number of rows.
    """

    most_entries: int
    block_rows: ClassVar[int] = TripleCounts.block_rows
    halo: ClassVar[int] = 1

    def entry_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of one row."""
        return {
            "index": ((), "int64"),
            "code": ((), "int16"),
            "weight": ((), "float64"),
            "followed": ((), "bool"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:  # noqa: ARG002
        """Add the rows of one block."""
        if not block.rows:
            return
        rows: dict[str, Any] = {
            "index": block.row_index(),
            "code": np.maximum(block.dense_values[: block.rows, 0], -1),
            "weight": block.row_weights(),
            "followed": goes_on(block, np.arange(block.rows)),
        }
        self.append(state, rows)

    def finalize(self, state: State) -> SequenceCodesResult:
        """Sort by the row index."""
        order = np.argsort(state["index"])
        return SequenceCodesResult(*(state[name][order] for name in ("code", "weight", "followed")))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the arrays of the rows, before they are added."""
        return 4 * 8 * rows
