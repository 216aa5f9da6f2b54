"""Counts of three consecutive codes by fold, from which any fold may be left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.codes.triple_counts import (
    WINDOW,
    TripleCounts,
    TripleCountsResult,
    add_windows,
)
from bigtensor.statistics.folds import fold_of_rows


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

    The fold of a window follows from the stretch of rows that its first row lies in: it depends
    neither on how rows are cut into blocks nor on the ids of sequences. A sequence that is shorter
    than a stretch lies in one or two folds.

    Parameters
    ----------
    categories : int
        Number of categories.
    folds : int
        At least two.
    stretch : int
        Rows of a stretch.
    random_state : int, default 0
        Seed of the folds.

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
        fold = fold_of_rows(block.row_index() // self.stretch, self.folds, self.random_state)
        starts = block.window_starts(WINDOW)
        for number in range(self.folds):
            chosen = starts & (fold == number)
            add_windows(codes, weight, chosen, self.categories + 1, state["table"][number])

    def finalize(self, state: State) -> FoldedTriplesResult:
        """Return the tables of all folds."""
        others = {name: array for name, array in state.items() if name != "table"}
        return FoldedTriplesResult(self.counts, state["table"], others)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of codes and weights, and of the stretches, their keys and the folds."""
        return self.counts.work_nbytes(rows) + 6 * 8 * rows
