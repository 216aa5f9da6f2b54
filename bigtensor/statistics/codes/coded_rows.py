"""Statistic of categories over measured rows, whose cells are the categories."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bigtensor.data.rows.block import Block
from bigtensor.features.cells import Cells, write_cells
from bigtensor.statistics.base import OfOtherRows, Result, State, Statistic, Workspace

VIEW = "cell"
"""Name of the only view that the statistic is shown."""


@dataclass(frozen=True, eq=False)
class CodedRows(OfOtherRows[Result]):
    """Statistic that is shown the cell of every row in place of its values.

    Parameters
    ----------
    statistic : Statistic
        Of one column of codes.
    cells : Cells
        Of all features together.
    """

    statistic: Statistic[Result]
    cells: Cells

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        cells, shown = self.cells, len(block.dense_values)
        codes = work.take("cells.codes", (shown, 1), "int32")
        write_cells(block.dense_values, cells.low, cells.scale, cells.centres, codes[:, 0])
        coded = replace(block, values=codes, slices={VIEW: slice(0, 1)})
        self.statistic.update(state, coded, work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace, and of the codes of the rows that are shown."""
        return self.statistic.work_nbytes(rows) + 4 * (rows + self.halo)
