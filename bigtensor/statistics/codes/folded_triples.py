"""Counts of three consecutive codes by fold, from which any fold may be left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.codes.triple_counts import (
    WINDOW,
    TripleCounts,
    TripleCountsResult,
    add_windows,
)


@dataclass(frozen=True, eq=False)
class FoldedTriplesResult:
    """Windows of every fold, and the first rows of all sequences.

    Attributes
    ----------
    counts : TripleCounts
        Statistic that makes the counts of a table.
    tables : (folds, cells) float64 array
        Weights of windows by their three codes, of every fold.
    others : mapping of str to array
        The other arrays of the state of `counts`, of all folds together.
    """

    counts: TripleCounts
    tables: FloatArray
    others: State

    @property
    def total(self) -> TripleCountsResult:
        """Counts of all folds."""
        return self._counted(self.tables.sum(axis=0))

    def counts_of_fold(self, fold: int) -> TripleCountsResult:
        """Return the windows of one fold."""
        return self._counted(self.tables[fold])

    def without(self, fold: int) -> TripleCountsResult:
        """Return the windows outside one fold."""
        # a sum of the others, because a difference of weights leaves rounding errors in empty cells
        return self._counted(np.delete(self.tables, fold, axis=0).sum(axis=0))

    def _counted(self, table: FloatArray) -> TripleCountsResult:
        """Return the windows of one table, beside the first rows of all sequences."""
        return self.counts.finalize({**self.others, "table": table})


@dataclass(frozen=True)
class FoldedTriples(SumStatistic[FoldedTriplesResult]):
    """`TripleCounts` with a table for every fold.

    The fold of a window is a hash of the sequence of its first row and of the stretch of rows that
    the row lies in: it does not depend on how rows are cut into blocks. A sequence that is shorter
    than a stretch lies in one or two.

    Parameters
    ----------
    categories : int
        Number of categories.
    folds : int
        At least two.
    stretch : int
        Rows of a stretch.
    random_state : int, default 0
        Seed of the hash that chooses folds.

    Raises
    ------
    ParameterError
        When there are fewer than two folds, or a stretch has no row.
    """

    categories: int
    folds: int
    stretch: int
    random_state: int = 0
    block_rows: ClassVar[int] = TripleCounts.block_rows
    halo: ClassVar[int] = WINDOW - 1

    def __post_init__(self) -> None:
        if self.folds < 2 or self.stretch < 1:
            raise ParameterError(
                f"{self.folds} folds of stretches of {self.stretch} rows were asked for; give at "
                "least two folds, and stretches of at least one row"
            )

    @property
    def counts(self) -> TripleCounts:
        """Statistic of one fold."""
        return TripleCounts(self.categories)

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        own = dict(self.counts.state_arrays())
        shape, dtype = own["table"]
        return {**own, "table": ((self.folds, *shape), dtype)}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        codes, weight = self.counts.add_first_rows(state, block, work)
        fold = work.take("folds.fold", (block.rows,), "int64")
        ids = np.zeros(block.rows, np.int64)
        if block.sequence is not None:
            np.copyto(ids, block.sequence[: block.rows], casting="unsafe")
        write_folds(
            ids, block.row_index(), self.stretch, np.uint64(self.random_state), self.folds, fold
        )
        starts = block.window_starts(WINDOW)
        for number in range(self.folds):
            chosen = starts & (fold == number)
            add_windows(codes, weight, chosen, self.categories + 1, state["table"][number])

    def finalize(self, state: State) -> FoldedTriplesResult:
        """Return the tables of all folds."""
        others = {name: array for name, array in state.items() if name != "table"}
        return FoldedTriplesResult(self.counts, state["table"], others)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of codes, weights and folds of the rows that are shown."""
        return self.counts.work_nbytes(rows) + 8 * rows


@row_loop
def write_folds(
    sequence: IntArray,
    index: IntArray,
    stretch: int,
    seed: np.uint64,
    folds: int,
    fold: IntArray,
) -> None:
    """Write the fold of every row: a hash of its sequence, its stretch and a seed.

    The mixing steps are those of SplitMix64 (Steele, Lea and Flood 2014).

    Parameters
    ----------
    sequence, index : (rows,) int64 arrays
        Sequence and global index of every row.
    stretch : int
        Rows of a stretch.
    seed : uint64
        Seed of the hash.
    folds : int
        Number of folds.
    fold : (rows,) int64 array
        Receives numbers from 0 to ``folds - 1``.
    """
    for row in range(fold.size):
        mixed = seed
        for part in (np.uint64(sequence[row]), np.uint64(index[row] // stretch)):
            mixed = (mixed ^ part) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
        fold[row] = np.int64(mixed % np.uint64(folds))
