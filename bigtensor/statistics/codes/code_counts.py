"""Counts of rows with the same codes in all views."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace


@dataclass(frozen=True, eq=False)
class CodeCountsResult:
    """Distinct rows, and how often they occur.

    Attributes
    ----------
    codes : (distinct, views) int32 array
        In the order of their codes; -1 for missing ones.
    weight : (distinct,) float64 array
        Sum of the weights of the equal rows, positive.
    rows : int
        Number of rows that were counted.
    """

    codes: NDArray[np.int32]
    weight: FloatArray
    rows: int


@dataclass(frozen=True)
class CodeCounts(SumStatistic[CodeCountsResult]):
    """Joint table of all views, with one more slot a view for missing codes.

    Parameters
    ----------
    categories : tuple of int
        Number of categories of every view, each of which is one column of the block's values.
    """

    categories: tuple[int, ...]

    @property
    def _shape(self) -> tuple[int, ...]:
        """Shape of the table."""
        return tuple(count + 1 for count in self.categories)

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {"table": ((table_cells(self.categories),), "float64"), "rows": ((), "int64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        cell = work.take("counts.cell", (block.rows,), "int64")
        weight = block.weight
        if weight is None:
            weight = work.take("counts.weight", (block.rows,), "float64")
            weight.fill(1)
        write_cells(block.dense_values[: block.rows], np.array(self._shape), cell)
        add_to_cells(cell, weight, state["table"])
        state["rows"] += block.rows

    def finalize(self, state: State) -> CodeCountsResult:
        """Return the cells that occur."""
        cells = np.flatnonzero(state["table"] > 0)
        codes = np.column_stack(np.unravel_index(cells, self._shape)).astype(np.int32)
        codes[codes == np.array(self.categories)] = -1
        return CodeCountsResult(codes, state["table"][cells], int(state["rows"]))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the cell and the weight of every row."""
        return 2 * 8 * rows


def table_cells(categories: tuple[int, ...]) -> int:
    """Return the number of cells of the joint table of some views, missing codes included."""
    return math.prod(count + 1 for count in categories)


@row_loop
def write_cells(codes: NDArray[Any], shape: IntArray, cell: IntArray) -> None:
    """Write the position of every row in a table of this shape, whose last slots are of missing.

    Parameters
    ----------
    codes : (rows, views) integer array
        Codes of the rows; negative ones are missing.
    shape : (views,) int64 array
        Categories of every view and one more.
    cell : (rows,) int64 array
        Receives positions in the flat table.
    """
    for row in range(cell.size):
        place = np.int64(0)
        for view in range(shape.size):
            code = np.int64(codes[row, view])
            place = place * shape[view] + (code if code >= 0 else shape[view] - 1)
        cell[row] = place


@row_loop
def add_to_cells(cell: IntArray, weight: FloatArray, table: FloatArray) -> None:
    """Add the weight of every row to its cell."""
    for row in range(cell.size):
        table[cell[row]] += weight[row]
