"""Counts of three consecutive codes, and of the first codes of sequences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace

WINDOW = 3
"""Consecutive codes that are counted together."""


@dataclass(frozen=True, eq=False)
class TripleCountsResult:
    """Distinct windows of three rows, and how often they occur.

    Attributes
    ----------
    codes : (distinct, 3) int32 array
        In the order of their codes; -1 for missing ones.
    weight : (distinct,) float64 array
        Sum of the weights of the first rows of the windows, positive.
    first_pairs : (categories + 1, categories + 1) float64 array
        Weights of sequences by their first two codes. The last line and column are of missing
        codes, and of sequences of one row.
    rows : int
        Number of rows.
    sequences : int
        Number of sequences of which a row is left.
    single_rows : int
        Sequences of which one row is left, which give neither a pair nor a triple.
    """

    codes: NDArray[np.int32]
    weight: FloatArray
    first_pairs: FloatArray
    rows: int
    sequences: int
    single_rows: int = 0


@dataclass(frozen=True)
class TripleCounts(SumStatistic[TripleCountsResult]):
    """Table of the codes of three consecutive rows of a sequence, and of the first two rows.

    Parameters
    ----------
    categories : int
        Number of categories of the only column.
    """

    categories: int
    block_rows: ClassVar[int] = 32_768
    halo: ClassVar[int] = WINDOW - 1

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        size = self.categories + 1
        return {
            "table": ((size**WINDOW,), "float64"),
            "first_pairs": ((size, size), "float64"),
            "rows": ((), "int64"),
            "sequences": ((), "int64"),
            "single_rows": ((), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        codes, weight = self.add_first_rows(state, block, work)
        add_windows(codes, weight, block.window_starts(WINDOW), self.categories + 1, state["table"])

    def add_first_rows(
        self, state: State, block: Block, work: Workspace
    ) -> tuple[IntArray, FloatArray]:
        """Add the first rows of sequences, and return codes and weights of all rows shown.

        Parameters
        ----------
        state : mapping of str to array
            Arrays of the state. Changed in place.
        block : Block
            With rows.
        work : Workspace
            Buffers that are reused from block to block.

        Returns
        -------
        codes : (rows + halo,) int64 array
            The number of categories stands for a missing code.
        weight : (rows + halo,) float64 array
            Weights of the rows; ones if there are none.
        """
        shown = len(block.dense_values)
        codes = work.take("triples.codes", (shown,), "int64")
        np.copyto(codes, block.dense_values[:, 0])
        codes[codes < 0] = self.categories
        weight = work.take("triples.weight", (shown,), "float64")
        np.copyto(weight, 1.0 if block.weight is None else block.weight)
        first = first_rows(block)
        second = np.full(len(first), self.categories)
        followed = goes_on(block, first)
        second[followed] = codes[first[followed] + 1]
        np.add.at(state["first_pairs"], (codes[first], second), weight[first])
        # a sequence is counted by the first of its rows that are left
        left = replace(block, index=None)
        first = first_rows(left)
        state["sequences"] += len(first)
        state["single_rows"] += np.count_nonzero(~goes_on(left, first))
        state["rows"] += block.rows
        return codes, weight

    def finalize(self, state: State) -> TripleCountsResult:
        """Return the windows that occur."""
        cells = np.flatnonzero(state["table"] > 0)
        places = np.unravel_index(cells, (self.categories + 1,) * WINDOW)
        codes = np.column_stack(places).astype(np.int32)
        codes[codes == self.categories] = -1
        return TripleCountsResult(
            codes,
            state["table"][cells],
            state["first_pairs"],
            int(state["rows"]),
            int(state["sequences"]),
            int(state["single_rows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the codes and weights of the rows that are shown."""
        return 2 * 8 * (rows + self.halo)


def first_rows(block: Block) -> IndexArray:
    """Return the rows at which sequences start, as positions in the rows that are shown.

    They are those after the rows of the block, and its first row where a data set starts. A start
    that follows on a row that was left out is not known to be one.

    Parameters
    ----------
    block : Block
        With a halo of at least one row.

    Returns
    -------
    (starts,) integer array
        Ascending positions.
    """
    last = min(block.rows, len(block.dense_values) - 1)
    starts = np.zeros(0, np.intp)
    if block.sequence is not None:
        changed = block.sequence[1 : last + 1] != block.sequence[:last]
        if block.index is not None:
            changed &= block.index[1 : last + 1] == block.index[:last] + 1
        starts = 1 + np.flatnonzero(changed)
    first = block.start if block.index is None else int(block.index[0])
    if first == block.source_start:
        starts = np.append(0, starts)
    return starts


def goes_on(block: Block, rows: IndexArray) -> NDArray[np.bool_]:
    """Return True for the rows after which the same sequence goes on with the next row.

    Parameters
    ----------
    block : Block
        Rows with the ids of their sequences, and a halo.
    rows : (m,) integer array
        Positions in the rows that are shown.
    """
    following = np.minimum(rows + 1, len(block.dense_values) - 1)
    same = following > rows
    if block.sequence is not None:
        same &= block.sequence[following] == block.sequence[rows]
    if block.index is not None:
        same &= block.index[following] == block.index[rows] + 1
    return same


@row_loop
def add_windows(
    codes: IntArray,
    weight: FloatArray,
    starts: NDArray[np.bool_],
    size: int,
    table: FloatArray,
) -> None:
    """Add the weight of the first row of every window to the cell of its three codes.

    Parameters
    ----------
    codes : (rows + halo,) int64 array
        From 0, below ``size``.
    weight : (rows + halo,) float64 array
        Weights of the rows.
    starts : (rows,) bool array
        True where a window starts.
    size : int
        Number of codes, with the missing code.
    table : (size ** 3,) float64 array
        Is added to.
    """
    for row in range(starts.size):
        if starts[row]:
            table[(codes[row] * size + codes[row + 1]) * size + codes[row + 2]] += weight[row]
