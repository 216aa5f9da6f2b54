"""Log densities of one-dimensional views on regular grids, and linear binning of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, aligned_empty, width_in_lines
from bigtensor.features.row_loops import fused_row_loop, row_loop
from bigtensor.statistics.base import Workspace

_ROWS_PER_BIN = 32
"""Rows of a block for every bin of the histograms; see `TabulatedDensities.block_rows`."""


@dataclass(frozen=True, eq=False)
class TabulatedDensities:
    """Log densities of one-dimensional views on regular grids, interpolated linearly.

    Values outside a grid take the density of its end.

    Parameters
    ----------
    columns : tuple of int
        The column of the block's values that is the view, for every view.
    low : (views,) float64 array
        First grid points, in the units of the data.
    step : (views,) float64 array
        Distances of grid points, positive.
    log_tables : (views, bins + 1, components) array
        Natural logarithms of the densities at ``low + step * b``; all finite.
    dtype : {"float64", "float32"}, default "float64"
        What the tables are kept and added up in. Float32 halves the memory that every row moves.
    log_volume : float, default 0
        Sum over the views of the natural logarithms of the lengths that densities are relative to.
        Without a unit, the logarithms keep their digits in float32 whatever the units of the data.

    Attributes
    ----------
    padded_tables : (views, bins + 1, width) array
        `log_tables`, which are a view of it, and zeros after the last component.

    Raises
    ------
    ParameterError
        When the shapes do not belong together, a step is not positive, a logarithm not finite, or
        the dtype another one.
    """

    columns: tuple[int, ...]
    low: FloatArray
    step: FloatArray
    log_tables: NDArray[Any]
    dtype: str = "float64"
    log_volume: float = 0.0
    padded_tables: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "float64"):
            raise ParameterError(
                f"tables of log densities are float32 or float64, got {self.dtype!r}"
            )
        for name, dtype in (("low", "float64"), ("step", "float64"), ("log_tables", self.dtype)):
            value = np.ascontiguousarray(getattr(self, name), dtype)
            object.__setattr__(self, name, value)
        views = len(self.columns)
        shape = self.log_tables.shape
        if (
            len(shape) != 3
            or not views
            or shape[0] != views
            or shape[1] < 2
            or self.low.shape != (views,)
            or self.step.shape != (views,)
        ):
            raise ParameterError(
                f"{views} columns, low {self.low.shape}, step {self.step.shape} and log_tables "
                f"{shape} do not belong together: (views,), (views,) and "
                "(views, bins + 1, components) with at least one view and one bin are needed"
            )
        if not (np.all(self.step > 0) and np.isfinite(self.log_tables).all()):
            raise ParameterError(
                "tables of log densities need positive steps and finite values; put a floor "
                "under the densities before taking logarithms"
            )
        padded = aligned_empty((*shape[:2], self.width), self.dtype)
        padded[..., : shape[2]] = self.log_tables
        padded[..., shape[2] :] = 0
        object.__setattr__(self, "padded_tables", padded)
        object.__setattr__(self, "log_tables", padded[..., : shape[2]])

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parameters: a pickled array begins anywhere, and the padding is not sent."""
        return type(self), (
            self.columns,
            self.low,
            self.step,
            np.ascontiguousarray(self.log_tables),
            self.dtype,
            self.log_volume,
        )

    @property
    def bins(self) -> int:
        """The number of bins of every view."""
        return int(self.log_tables.shape[1]) - 1

    @property
    def n_components(self) -> int:
        """The number of components."""
        return int(self.log_tables.shape[2])

    @property
    def width(self) -> int:
        """Length of the rows of the padded tables, and of joint densities.

        Sums in float64 are added up in a state, which has no padding.
        """
        padded = self.dtype == "float32"
        return width_in_lines(self.n_components, self.dtype) if padded else self.n_components

    @property
    def block_rows(self) -> int:
        """Rows after which histograms over a block are added up, at a few percent of the work."""
        return _ROWS_PER_BIN * self.bins

    def lookup(self, rows: int, work: Workspace) -> Lookup:
        """Return a lookup of ``rows`` rows."""
        return Lookup(self, rows, work)

    def lookup_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a `Lookup` of ``rows`` rows."""
        shape = len(self.columns), rows
        return {
            "lookup.position": (shape, "float64"),
            "lookup.point": (shape, "int32"),
            "lookup.share": (shape, self.dtype),
        }


class Lookup:
    """Finds a fixed number of rows on the grids, again and again in the same memory.

    Parameters
    ----------
    tables : TabulatedDensities
        Log densities on the grids.
    rows : int
        Number of rows that are located at once.
    work : Workspace
        Holds the arrays below.

    Attributes
    ----------
    point : (views, rows) int32 array
        The grid point before every row. There is always one after it.
    share : (views, rows) array
        The weight of linear interpolation of the grid point after the row, of the dtype of the
        tables. The point before it has the weight ``1 - share``.
    """

    def __init__(self, tables: TabulatedDensities, rows: int, work: Workspace) -> None:
        self._tables = tables
        self._position, self.point, self.share = work.take_all(tables.lookup_arrays(rows))

    def locate(self, values: NDArray[Any]) -> None:
        """Find the rows of ``(rows, features)`` values; NaN gives a share of NaN."""
        tables = self._tables
        _copy_columns(values, tables.columns, self._position)
        locate_rows(self._position, tables.low, tables.step, tables.bins, self.point, self.share)

    def write_log_joint(self, log_weights: NDArray[Any], out: NDArray[Any]) -> None:
        """Interpolate at the located rows, add up the views and the log weights.

        Parameters
        ----------
        log_weights : (width,) array
            Natural logarithms of the mixing weights.
        out : (rows, width) array
            C-contiguous.
        """
        write_interpolated(self.point, self.share, self._tables.padded_tables, log_weights, out)

    def add(self, weights: NDArray[Any], histograms: NDArray[Any]) -> None:
        """Share the weights of every row between the two nearest grid points, view by view.

        Parameters
        ----------
        weights : (rows, width) array
            Posterior probabilities times the weights of the rows.
        histograms : (views, points, width) array
            Is added to.
        """
        add_binned(self.point, self.share, weights, histograms)


def _copy_columns(values: NDArray[Any], columns: tuple[int, ...], out: FloatArray) -> None:
    """Copy columns into rows, in one step when they are neighbours."""
    first, last = columns[0], columns[-1]
    if columns == tuple(range(first, last + 1)):
        np.copyto(out, values[:, first : last + 1].T)
        return
    for position, column in enumerate(columns):
        np.copyto(out[position], values[:, column])


@row_loop
def locate_rows(
    values: FloatArray,
    low: FloatArray,
    step: FloatArray,
    bins: int,
    point: NDArray[np.int32],
    share: NDArray[Any],
) -> None:
    """Write the grid point before every value, and how far the value is from it in steps.

    Parameters
    ----------
    values : (views, rows) float64 array
        Values of every view.
    low, step : (views,) float64 arrays
        First grid point and distance of grid points, of every view.
    bins : int
        Number of intervals of a grid.
    point : (views, rows) int32 array
        Receives numbers from 0 to ``bins - 1``, also for NaN.
    share : (views, rows) array
        Receives numbers from 0 to 1, and NaN for NaN.
    """
    for view in range(values.shape[0]):
        scale = 1 / step[view]
        for row in range(values.shape[1]):
            position = (values[view, row] - low[view]) * scale
            # comparisons with NaN are false, which keeps it
            position = 0.0 if position < 0 else position
            position = float(bins) if position > bins else position
            before = np.int32(position if position < bins else bins - 1)
            point[view, row] = before
            share[view, row] = position - before


@fused_row_loop
def write_interpolated(
    point: NDArray[np.int32],
    share: NDArray[Any],
    tables: NDArray[Any],
    log_weights: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Write the log weights plus the tables of all views, interpolated linearly at every row.

    Parameters
    ----------
    point : (views, rows) int32 array
        Grid point before every row.
    share : (views, rows) array
        Weight of the grid point after the row.
    tables : (views, points, components) array
        Log densities at the grid points.
    log_weights : (components,) array
        Natural logarithms of the mixing weights.
    out : (rows, components) array
        Receives the sums.
    """
    one = tables.dtype.type(1)
    odd = point.shape[0] % 2
    for row in range(out.shape[0]):
        of_row = out[row]
        for h in range(of_row.size):
            of_row[h] = log_weights[h]
        if odd:
            before, after = tables[0, point[0, row]], tables[0, point[0, row] + 1]
            to_after = share[0, row]
            to_before = one - to_after
            for h in range(of_row.size):
                of_row[h] += to_before * before[h] + to_after * after[h]
    # two views at once, whose tables then stay in the cache: a tenth faster than one
    for view in range(odd, point.shape[0], 2):
        for row in range(out.shape[0]):
            before, after = tables[view, point[view, row]], tables[view, point[view, row] + 1]
            next_before = tables[view + 1, point[view + 1, row]]
            next_after = tables[view + 1, point[view + 1, row] + 1]
            to_after, to_next_after = share[view, row], share[view + 1, row]
            to_before, to_next_before = one - to_after, one - to_next_after
            of_row = out[row]
            for h in range(of_row.size):
                of_row[h] += (
                    to_before * before[h]
                    + to_after * after[h]
                    + to_next_before * next_before[h]
                    + to_next_after * next_after[h]
                )


@row_loop
def add_binned(
    point: NDArray[np.int32],
    share: NDArray[Any],
    weights: NDArray[Any],
    histograms: NDArray[Any],
) -> None:
    """Share the weights of every row between the two nearest grid points, view by view.

    Parameters
    ----------
    point : (views, rows) int32 array
        Grid point before every row.
    share : (views, rows) array
        Weight of the grid point after the row.
    weights : (rows, components) array
        Posterior probabilities times the weights of the rows.
    histograms : (views, points, components) array
        Is added to.
    """
    for view in range(point.shape[0]):
        for row in range(point.shape[1]):
            before = histograms[view, point[view, row]]
            after = histograms[view, point[view, row] + 1]
            to_after = share[view, row]
            to_before = share.dtype.type(1) - to_after
            of_row = weights[row]
            for h in range(of_row.size):
                before[h] += to_before * of_row[h]
                after[h] += to_after * of_row[h]
