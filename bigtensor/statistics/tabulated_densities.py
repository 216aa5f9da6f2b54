"""Log densities of one-dimensional views on regular grids, and where rows lie on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers
from bigtensor.features.interpolation import RESULT_BYTES, interpolation_matrix
from bigtensor.statistics.base import Workspace

_GROUP = 16
"""Rows that share one run of constants: NumPy's inner loops are slow over a few views only."""


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

    Raises
    ------
    ParameterError
        When the shapes do not belong together, a step is not positive, a logarithm not finite, or
        the dtype another one.
    """

    columns: tuple[int, ...]
    low: NDArray[np.float64]
    step: NDArray[np.float64]
    log_tables: NDArray[Any]
    dtype: str = "float64"
    log_volume: float = 0.0
    constants: tuple[NDArray[Any], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "float64"):
            raise ParameterError(
                f"tables of log densities are float32 or float64, got dtype={self.dtype!r}"
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
        first_points = np.arange(views, dtype=np.int32) * np.int32(shape[1])
        repeated = [np.tile(row, _GROUP) for row in (self.low, 1 / self.step, first_points)]
        object.__setattr__(self, "constants", tuple(repeated))

    @property
    def bins(self) -> int:
        """The number of bins of every view."""
        return int(self.log_tables.shape[1]) - 1

    @property
    def n_points(self) -> int:
        """Grid points of all views together."""
        return int(self.log_tables.shape[0] * self.log_tables.shape[1])

    @property
    def n_components(self) -> int:
        """The number of components."""
        return int(self.log_tables.shape[2])

    @property
    def flat_tables(self) -> NDArray[Any]:
        """The tables of all views one below the other: ``(n_points, components)``."""
        return self.log_tables.reshape(self.n_points, self.n_components)

    def lookup_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a `Lookup` of ``rows`` rows."""
        views, padded = len(self.columns), -(-rows // _GROUP) * _GROUP
        return {
            "lookup.position": ((padded, views), "float64"),
            "lookup.point": ((padded, views), "int32"),
            "lookup.points": ((padded, views, 2), "int32"),
            "lookup.shares": ((padded, views, 2), self.dtype),
        }


class Lookup:
    """Finds a fixed number of rows on the grids, again and again in the same memory.

    Parameters
    ----------
    tables : TabulatedDensities
    rows : int
    work : Workspace
        Holds the arrays below.

    Attributes
    ----------
    points : (rows, views, 2) int32 array
        For every row and view the two neighbouring grid points, as positions in `flat_tables`.
    shares : (rows, views, 2) array
        The weights of linear interpolation between the two, of the dtype of the tables; they sum
        to one.
    """

    def __init__(self, tables: TabulatedDensities, rows: int, work: Workspace) -> None:
        self._tables = tables
        self._position, self._point, self._points, self._shares = (
            work.take(name, shape, dtype)
            for name, (shape, dtype) in tables.lookup_arrays(rows).items()
        )
        self.points: NDArray[np.int32] = self._points[:rows]
        self.shares: NDArray[Any] = self._shares[:rows]
        step = max(1, RESULT_BYTES // (tables.log_tables.itemsize * tables.n_components))
        self._matrices = [
            (part, interpolation_matrix(self.points[part], self.shares[part], tables.n_points))
            for part in (slice(first, first + step) for first in range(0, rows, step))
        ]
        # rows that only fill up the last group
        self._position[rows:] = tables.low

    def locate(self, values: NDArray[Any]) -> None:
        """Find the rows of ``(rows, features)`` values; NaN gives shares of NaN."""
        low, scale, first_points = self._tables.constants
        bins = self._tables.bins
        position, point, shares, points = self._position, self._point, self._shares, self._points
        _copy_columns(values, self._tables.columns, position[: len(values)])
        grouped = position.reshape(-1, low.size)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(grouped, low, out=grouped)
            np.multiply(grouped, scale, out=grouped)
            # below the last point, so that its left neighbour is the last but one
            np.clip(position, 0, np.nextafter(bins, 0), out=position)
            np.copyto(point, position, casting="unsafe")
        # NaN is cast to a negative number, which must not lead out of the tables
        np.maximum(point, 0, out=point)
        np.subtract(position, point, out=shares[..., 1], casting="same_kind")
        np.subtract(1.0, shares[..., 1], out=shares[..., 0])
        grouped_point = point.reshape(-1, first_points.size)
        np.add(grouped_point, first_points, out=grouped_point)
        np.copyto(points[..., 0], point)
        np.add(point, 1, out=points[..., 1])

    def write_log_joint(self, log_weights: NDArray[Any], out: NDArray[Any]) -> None:
        """Interpolate at the located rows, add up the views and ``(components, 1)`` log weights.

        Parameters
        ----------
        log_weights : (components, 1) array
        out : (components, rows) array
            Of the dtype of the weights.
        """
        for part, matrix in self._matrices:
            log_density = np.asarray(matrix @ self._tables.flat_tables)
            np.add(log_density.T, log_weights, out=out[:, part])


def _copy_columns(values: NDArray[Any], columns: tuple[int, ...], out: NDArray[np.float64]) -> None:
    """Copy columns, in one step when they are neighbours."""
    first, last = columns[0], columns[-1]
    if columns == tuple(range(first, last + 1)):
        np.copyto(out, values[:, first : last + 1])
        return
    for position, column in enumerate(columns):
        np.copyto(out[:, position], values[:, column])
