"""Densities of a mixture that fall beyond the grids, where no row of the fit was."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.tabulated_densities import TabulatedDensities
from bigtensor.statistics.densities.view_densities import MixtureDensities


@dataclass(frozen=True, eq=False)
class FallingDensities(MixtureDensities):
    """Densities of a mixture with tails beyond the grids of one-dimensional views.

    At the distance d from a grid of length L, the density at the end of the grid is multiplied by
    ``exp(-0.5 (d / width)^2)``, and is at least ``least / (1 + d / L)^2``, where ``least`` is the
    smallest density of all components on the grid. Far from the grid, all components have the same
    density: a value that no row of the fit was near is no evidence for any of them.

    Parameters
    ----------
    widths : (grids, components) float64 array
        Bandwidths of the densities, in the units of the data.
    """

    widths: FloatArray = field(kw_only=True)

    @cached_property
    def _grids(self) -> tuple[NDArray[Any], ...]:
        """Columns, first points, lengths, widths, tables and smallest log densities of the grids.

        Empty without one-dimensional views.
        """
        tables = self.tables
        if not isinstance(tables, TabulatedDensities):
            return ()
        return (
            np.array(tables.columns, np.int64),
            tables.low,
            tables.step * tables.bins,
            np.maximum(self.widths, tables.step[:, None]),
            tables.padded_tables,
            tables.log_tables.min(axis=(1, 2)).astype(np.float64),
        )

    def log_joint(self, block: Block, out: NDArray[Any], work: Workspace) -> None:
        """Write the log joint densities of every row and component."""
        super().log_joint(block, out, work)
        if self._grids:
            columns, low, length, widths, tables, least = self._grids
            add_falls(block.dense_values, columns, low, length, widths, tables, least, out)


@row_loop
def add_falls(
    values: NDArray[Any],
    columns: NDArray[np.int64],
    low: FloatArray,
    length: FloatArray,
    widths: FloatArray,
    tables: NDArray[Any],
    least: FloatArray,
    out: NDArray[Any],
) -> None:
    """Add the falls of the log densities of rows beyond the grids.

    Parameters
    ----------
    values : (rows, features) array
        Rows of data.
    columns : (grids,) int64 array
        Column of every grid.
    low, length : (grids,) float64 arrays
        First point and length of every grid.
    widths : (grids, components) float64 array
        Positive.
    tables : (grids, bins + 1, width) array
        Log densities at the grid points.
    least : (grids,) float64 array
        Smallest log density of every grid.
    out : (rows, components) array
        Log joint densities with the densities of the ends of the grids. Added to.
    """
    for grid in range(columns.size):
        start, column = low[grid], columns[grid]
        for row in range(out.shape[0]):
            below = start - values[row, column]
            above = -below - length[grid]
            distance = max(below, above)
            # a comparison with NaN is false
            if distance > 0:
                end = 0 if below > 0 else tables.shape[1] - 1
                tail = least[grid] - 2 * np.log(1 + distance / length[grid])
                for h in range(out.shape[1]):
                    at_end = tables[grid, end, h]
                    fallen = at_end - 0.5 * (distance / widths[grid, h]) ** 2
                    out[row, h] += max(fallen, tail) - at_end
