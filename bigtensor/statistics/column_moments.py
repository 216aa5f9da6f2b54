"""Mean and variance of every column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace


@dataclass(frozen=True)
class ColumnMomentsResult:
    """Moments of every column of all views.

    Attributes
    ----------
    mean : (d,) float64 array
    variances : (d,) float64 array
        About the mean, divided by the weight.
    weight : float
    """

    mean: NDArray[np.float64]
    variances: NDArray[np.float64]
    weight: float


@dataclass(frozen=True, eq=False)
class ColumnMoments(SumStatistic[ColumnMomentsResult]):
    """Weighted sums of every column and of its square about a point.

    Parameters
    ----------
    point : (d,) float64 array
        Near the mean: squares about a far point lose the digits of the variance.
    """

    point: NDArray[np.float64]

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        d = len(self.point)
        return {"first": ((d,), "f8"), "second": ((d,), "f8"), "weight": ((), "f8")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        weight = block.weight
        if weight is None:
            weight = work.take("column_moments.ones", (block.rows,), "float64")
            weight[:] = 1
        _add(block.values[: block.rows], weight, self.point, state["first"], state["second"])
        state["weight"] += block.total_weight()

    def finalize(self, state: State) -> ColumnMomentsResult:
        """Return the mean, and the variances about it."""
        weight = float(state["weight"])
        shift = state["first"] / weight
        variances = np.maximum(state["second"] / weight - shift**2, 0.0)
        return ColumnMomentsResult(self.point + shift, variances, weight)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of weights of one."""
        return 8 * rows


@row_loop
def _add(
    rows: NDArray[Any],
    weight: NDArray[np.float64],
    point: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> None:
    """Add the differences of rows from a point, and their squares."""
    for row in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            difference = np.float64(rows[row, i]) - point[i]
            first[i] += weight[row] * difference
            second[i] += weight[row] * difference * difference
