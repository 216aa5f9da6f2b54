"""Mean of all columns, and covariances within groups of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace, positive_weight

Columns = tuple[tuple[int, int], ...]
"""First column, and column after the last, of every group."""


@dataclass(frozen=True)
class CovariancesResult:
    """Moments of columns.

    Attributes
    ----------
    mean : (d,) float64 array
        Weighted mean of the columns.
    covariance : (d, d) float64 array
        About the mean, divided by the weight; zero between groups.
    weight : float
        Sum of the weights of the rows.
    """

    mean: FloatArray
    covariance: FloatArray
    weight: float


@dataclass(frozen=True, eq=False)
class Covariances(SumStatistic[CovariancesResult]):
    """Weighted sums of columns and of their products within groups, about a point.

    Parameters
    ----------
    columns : tuple of (start, stop)
        Groups side by side, from column 0 on: all columns belong to one of them.
    point : (d,) float64 array
        Near the mean. It is subtracted before the values are rounded to ``dtype``.
    dtype : str, default "float64"
        Of the products of one block; their sums are float64.
    scales : (d,) float64 array, optional
        Units in which products are taken, so that they neither vanish nor overflow in float32.
    """

    columns: Columns
    point: FloatArray
    dtype: str = "float64"
    scales: FloatArray | None = None

    def __post_init__(self) -> None:
        assert all(before[1] == after[0] for before, after in pairwise(self.columns))

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        groups = enumerate(self.columns)
        products = {f"products_{g}": ((b - a, b - a), "float64") for g, (a, b) in groups}
        d = len(self.point)
        return {"sums": ((d,), "float64"), **products, "weight": ((), "float64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        rows = block.rows
        rows_of, weighted, weight, products = work.take_all(self._buffers(rows))
        block.write_weight(weight)
        for group, (start, stop) in enumerate(self.columns):
            size = stop - start
            centred = rows_of[: rows * size].reshape(rows, size)
            np.subtract(
                block.dense_values[:rows, start:stop],
                self.point[start:stop],
                out=centred,
                casting="same_kind",
            )
            if self.scales is not None:
                np.divide(centred, self.scales[start:stop], out=centred, casting="same_kind")
            scaled = weighted[: rows * size].reshape(rows, size)
            np.multiply(centred, weight[:, None], out=scaled)
            product = products[: size * size].reshape(size, size)
            np.matmul(scaled.T, centred, out=product)
            state[f"products_{group}"] += product
            state["sums"][start:stop] += scaled.sum(axis=0, dtype=np.float64)
        state["weight"] += block.total_weight()

    def finalize(self, state: State) -> CovariancesResult:
        """Divide by the weight.

        Raises
        ------
        DataError
            When the weight is not positive.
        """
        weight = positive_weight(state["weight"], "covariances")
        scales = np.ones(len(self.point)) if self.scales is None else self.scales
        shift = state["sums"] / weight * scales
        covariance = np.zeros((len(shift), len(shift)))
        for group, (start, stop) in enumerate(self.columns):
            units = np.outer(scales[start:stop], scales[start:stop])
            second = state[f"products_{group}"] / weight * units
            part = second - np.outer(shift[start:stop], shift[start:stop])
            covariance[start:stop, start:stop] = (part + part.T) / 2
        return CovariancesResult(self.point + shift, covariance, weight)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(self._buffers(rows))

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a block."""
        widest = max(stop - start for start, stop in self.columns)
        return {
            "covariances.centred": ((rows * widest,), self.dtype),
            "covariances.weighted": ((rows * widest,), self.dtype),
            "covariances.weight": ((rows,), self.dtype),
            "covariances.products": ((widest * widest,), self.dtype),
        }
