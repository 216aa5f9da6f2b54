"""Rows at the points of the modes of a tensor train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import Setting
from bigtensor.features.buffers import Buffers
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.modes import Locator
from bigtensor.statistics.base import CompleteColumns, Workspace


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Points at or below the coordinates of rows, and the shares with which functions count there.

    Attributes
    ----------
    point : (n, d) int32 array
        Point at or below every coordinate, among the points of all variables.
    left, right : (n, d) float64 arrays
        Shares of the point and of the next one.
    log_slope : (n,) float64 array
        Logarithm of the derivative of the coordinates.
    values : (n, d) float64 array
        Coordinates, NaN of missing entries and of those on atoms.
    """

    point: NDArray[np.int32]
    left: FloatArray
    right: FloatArray
    log_slope: FloatArray
    values: FloatArray

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> LocatedRows:
        """Return some rows."""
        return LocatedRows(
            *(self.point[rows], self.left[rows], self.right[rows]),
            *(self.log_slope[rows], self.values[rows]),
        )

    def without(self, variable: int, missing: int) -> LocatedRows:
        """Return the rows with one variable missing.

        Parameters
        ----------
        variable : int
            Position of the variable.
        missing : int
            Point of its missing entries.
        """
        point, values = self.point.copy(), self.values.copy()
        point[:, variable], values[:, variable] = missing, np.nan
        return LocatedRows(point, self.left, self.right, self.log_slope, values)


@dataclass(frozen=True, eq=False)
class RowLocator:
    """Function of rows that a tensor train looks its tables up with.

    Attributes
    ----------
    coordinates : Coordinates
        Coordinates of a row.
    locator : Locator
        Points around the coordinates.
    """

    coordinates: Coordinates
    locator: Locator

    @property
    def complete(self) -> CompleteColumns:
        """Columns that are rotated, of which a row needs every entry."""
        if self.coordinates.axes is None:
            return CompleteColumns()
        rotated = self.coordinates.measured[self.coordinates.rotated]
        return CompleteColumns(
            tuple(rotated.tolist()),
            "Rotated coordinates need every value of a row that is rotated: fit with "
            + Setting("coordinates", "queries")
            + " to sum over missing entries",
        )

    def located(self, block: Block, work: Workspace) -> LocatedRows:
        """Return the rows of a block at their points, in buffers of the workspace."""
        arrays = {name: work.take(name, *spec) for name, spec in self._own(block.rows).items()}
        values, log_slope = arrays["located.coordinates"], arrays["located.log_slope"]
        rows = entries = _dense(block)
        if self.locator.has_atoms:
            # an atom has no derivative, as if it were missing
            continuous = arrays["located.continuous"]
            self.locator.write_continuous(entries, continuous)
            rows = continuous
        self.coordinates.write(rows, values, log_slope, work)
        located = LocatedRows(
            *(arrays["located.point"], arrays["located.left"], arrays["located.right"]),
            *(log_slope, values),
        )
        self.locator.locate(values, entries, located.point, located.left, located.right)
        return located

    def buffers(self, rows: int) -> Buffers:
        """Return the buffers of blocks of ``rows`` rows."""
        return {**self._own(rows), **self.coordinates.buffers(rows)}

    def _own(self, rows: int) -> Buffers:
        """Return the buffers of the located rows."""
        d = len(self.locator.first) - 1
        return {
            "located.coordinates": ((rows, d), "float64"),
            "located.continuous": ((rows, d), "float64"),
            "located.point": ((rows, d), "int32"),
            "located.left": ((rows, d), "float64"),
            "located.right": ((rows, d), "float64"),
            "located.log_slope": ((rows,), "float64"),
        }


def _dense(block: Block) -> NDArray[np.floating]:
    """Return the values of a block as numbers, NaN where a code is missing."""
    values: NDArray[Any] = np.asarray(block.dense_values[: block.rows])
    if values.dtype.kind == "f":
        return values
    return np.where(values < 0, np.nan, values.astype(np.float64))
