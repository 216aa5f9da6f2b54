"""Statistics of the rows inside one fold, or of all rows outside one fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import OfOtherRows, Result, State, Statistic, Workspace
from bigtensor.statistics.row_keys import block_keys, keys_at

_PURPOSE = "fold"


def fold_of_block(block: Block, folds: int, random_state: int) -> NDArray[np.uint64]:
    """Return the fold of every row of a block: it depends on the row's global index alone."""
    return block_keys(random_state, _PURPOSE, block) % np.uint64(folds)


def fold_of_rows(index: IntArray, folds: int, random_state: int) -> NDArray[np.uint64]:
    """Return the fold of rows given by their global index: ``(rows,)``."""
    return keys_at(random_state, _PURPOSE, index) % np.uint64(folds)


@dataclass(frozen=True)
class OfFold(OfOtherRows[Result]):
    """A statistic of the rows of one fold, or of all other rows.

    Several of them in one pass, each with parameters made from the training rows of its fold, serve
    cross-validation.

    Parameters
    ----------
    statistic : Statistic
        Without a halo.
    folds : int
        At least two.
    fold : int
        Between 0 and ``folds - 1``.
    inside : bool
        If True, the rows of the fold, otherwise all other rows.
    random_state : int, default 0
        Seed of the folds.

    Raises
    ------
    ParameterError
        When there is no such fold, or the statistic looks at more than one row at once.
    """

    statistic: Statistic[Result]
    folds: int
    fold: int
    inside: bool
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2 or not 0 <= self.fold < self.folds:
            raise ParameterError(
                f"fold {self.fold} of {self.folds} does not exist; give at least two folds, "
                "counted from 0"
            )
        if self.statistic.halo:
            raise ParameterError(
                "a statistic of windows of rows cannot be folded by rows; fold by sequence instead"
            )
        super().__post_init__()

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the rows that are meant."""
        if not block.rows:
            return
        block = block.without_halo()
        within = fold_of_block(block, self.folds, self.random_state) == self.fold
        self.statistic.update(state, block.keep(within if self.inside else ~within), work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the inner workspace, of the keys, and of the rows that are kept."""
        return self.statistic.work_nbytes(rows) + 3 * 8 * rows
