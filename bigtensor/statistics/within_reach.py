"""A statistic of the rows that are not far from a point: outliers are left out and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import State, Statistic, Workspace

_Result = TypeVar("_Result", covariant=True)
_COUNT = "within_reach.left_out"


@dataclass(frozen=True)
class Reach:
    """Points of groups of columns, and the largest distances of a row from them.

    Attributes
    ----------
    columns : tuple of (start, stop)
        Columns of a block that every group is of.
    points : tuple of (d_g,) float64 arrays
        Point of every group, in the units of the data.
    scales : tuple of (d_g,) float64 arrays
        Units of the columns; infinite for a column that is ignored.
    distances : tuple of float
        Positive; in units of the scales.
    """

    columns: tuple[tuple[int, int], ...]
    points: tuple[FloatArray, ...]
    scales: tuple[FloatArray, ...]
    distances: tuple[float, ...]

    @classmethod
    def unbounded(cls, columns: tuple[tuple[int, int], ...]) -> Reach:
        """Return a reach that holds all rows.

        Parameters
        ----------
        columns : tuple of (start, stop)
            Columns of every group.
        """
        sizes = [stop - start for start, stop in columns]
        zeros = tuple(np.zeros(size) for size in sizes)
        ones = tuple(np.ones(size) for size in sizes)
        return cls(columns, zeros, ones, (np.inf,) * len(sizes))

    def of_columns(self, positions: IndexArray) -> Reach:
        """Return the reach of columns in another order, all of which are one group.

        Parameters
        ----------
        positions : (d,) integer array
            Position of every column in the present order.
        """
        (point,), (scale,) = self.points, self.scales
        return Reach(self.columns, (point[positions],), (scale[positions],), self.distances)

    def holds(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return True for every row that is within reach in all groups of columns.

        Parameters
        ----------
        rows : (n, d) array
            Rows in the units of the data.
        """
        near = np.ones(len(rows), bool)
        self.mark(rows, near)
        return near

    def mark(self, rows: NDArray[Any], near: NDArray[np.bool_]) -> None:
        """Set the entries of rows out of reach to False.

        Parameters
        ----------
        rows : (n, d) array
            Rows in the units of the data.
        near : (n,) bool array
            Changed in place.
        """
        groups = zip(self.columns, self.points, self.scales, self.distances, strict=True)
        for (start, stop), point, scale, distance in groups:
            _mark_near(rows[:, start:stop], point, 1 / scale, distance**2, near)


@dataclass(frozen=True)
class ResultWithin(Generic[_Result]):
    """Result of a statistic, and the number of rows that it has not seen.

    Attributes
    ----------
    result : object
        Result of the statistic.
    left_out : int
        Number of rows out of reach, without rows of weight zero.
    """

    result: _Result
    left_out: int


@dataclass(frozen=True, eq=False)
class WithinReach(Statistic[ResultWithin[_Result]]):
    """A statistic of the rows within reach in every group of columns.

    One row of a size of 1e6 would make up a third moment alone. Groups of columns that are
    independent of each other given a component stay so.

    Parameters
    ----------
    statistic : Statistic
        Of rows; without a halo.
    reach : Reach
        Points and distances of the groups.
    """

    statistic: Statistic[_Result]
    reach: Reach

    def __post_init__(self) -> None:
        object.__setattr__(self, "block_rows", self.statistic.block_rows)

    def init(self) -> State:
        """Return the state of zero rows."""
        return {**self.statistic.init(), _COUNT: np.zeros((), np.int64)}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add the rows within reach."""
        near = work.take("within_reach.near", block.dense_values.shape[:1], "bool")
        near[: block.rows], near[block.rows :] = True, False
        self.reach.mark(block.dense_values[: block.rows], near)
        far = ~near[: block.rows]
        is_whole = not far.any()
        if block.weight is not None:
            # a row of weight zero is no row
            far &= block.weight[: block.rows] != 0
        state[_COUNT] += np.count_nonzero(far)
        inner = {name: array for name, array in state.items() if name != _COUNT}
        self.statistic.update(inner, block if is_whole else block.keep(near), work)
        state.update(inner)

    def combine(self, left: State, right: State) -> State:
        """Combine the states of the statistic, and add the counts."""
        halves = (
            {name: array for name, array in state.items() if name != _COUNT}
            for state in (left, right)
        )
        return {
            **self.statistic.combine(*halves),
            _COUNT: np.asarray(left[_COUNT] + right[_COUNT]),
        }

    def finalize(self, state: State) -> ResultWithin[_Result]:
        """Return the result of the statistic and the count."""
        inner = {name: array for name, array in state.items() if name != _COUNT}
        return ResultWithin(self.statistic.finalize(inner), int(state[_COUNT]))

    def state_nbytes(self) -> int:
        """Return the bytes of the state of the statistic and of the count."""
        return self.statistic.state_nbytes() + 8

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the statistic's workspace, the marks, and a copy of the rows."""
        columns = sum(stop - start for start, stop in self.reach.columns)
        return self.statistic.work_nbytes(rows) + rows * (3 + 8 * (columns + 4))


@row_loop
def _mark_near(
    rows: NDArray[Any],
    point: FloatArray,
    inverse_scales: FloatArray,
    most: float,
    near: NDArray[np.bool_],
) -> None:
    """Unmark rows with a larger squared distance. Missing entries have the distance zero."""
    for row in range(rows.shape[0]):
        total = 0.0
        for i in range(rows.shape[1]):
            difference = (np.float64(rows[row, i]) - point[i]) * inverse_scales[i]
            if not np.isnan(difference):
                total += difference * difference
        if total > most:
            near[row] = False
