"""Statistic of categories over measured rows, whose cells are the categories."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bigtensor.data.rows.block import Block
from bigtensor.features.cells import Cells, write_cells
from bigtensor.statistics.base import Result, State, Statistic, Workspace

VIEW = "cell"
"""Name of the only view that the statistic is shown."""


@dataclass(frozen=True, eq=False)
class CodedRows(Statistic[Result]):
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "block_rows", self.statistic.block_rows)
        object.__setattr__(self, "halo", self.statistic.halo)

    def init(self) -> State:
        """Return the state of zero rows."""
        return self.statistic.init()

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        cells, shown = self.cells, len(block.dense_values)
        codes = work.take("cells.codes", (shown, 1), "int32")
        write_cells(block.dense_values, cells.low, cells.scale, cells.centres, codes[:, 0])
        coded = replace(block, values=codes, slices={VIEW: slice(0, 1)})
        self.statistic.update(state, coded, work)

    def combine(self, left: State, right: State) -> State:
        """Combine two states."""
        return self.statistic.combine(left, right)

    def finalize(self, state: State) -> Result:
        """Return the result of the statistic."""
        return self.statistic.finalize(state)

    def state_nbytes(self) -> int:
        """Return the bytes of the state."""
        return self.statistic.state_nbytes()

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace, and of the codes of the rows that are shown."""
        return self.statistic.work_nbytes(rows) + 4 * (rows + self.halo)
