"""Means of the rows of every label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace


@dataclass(frozen=True)
class LabelMeansResult:
    """Means by label.

    Attributes
    ----------
    weights : (labels,) float64 array
        Sums of the weights of the rows.
    means : (labels, d) float64 array
        Of the entries that are not missing; the point for a feature without any. NaN for a label
        without weight.
    """

    weights: FloatArray
    means: FloatArray


@dataclass(frozen=True, eq=False)
class LabelMeans(SumStatistic[LabelMeansResult]):
    """Weighted sums of the rows of every label, about a point.

    `Block.group` holds the label of every row, from 0, and -1 for none.

    Parameters
    ----------
    n_labels : int
        Larger labels count nowhere.
    point : (d,) float64 array
        Point that is subtracted from the rows, in the units of the data.
    """

    n_labels: int
    point: FloatArray

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        shape = (self.n_labels, len(self.point))
        return {
            "sums": (shape, "float64"),
            "entry_weights": (shape, "float64"),
            "weights": ((self.n_labels,), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        assert block.group is not None
        weight = block.weight
        if weight is None:
            weight = work.take("label_means.ones", (block.rows,), "float64")
            weight[:] = 1
        rows = block.dense_values[: block.rows]
        totals = state["sums"], state["entry_weights"], state["weights"]
        _add_rows(rows, block.group, weight, self.point, *totals)

    def finalize(self, state: State) -> LabelMeansResult:
        """Divide by the weights."""
        weights, entry_weights = state["weights"], state["entry_weights"]
        means = self.point + state["sums"] / np.where(entry_weights > 0, entry_weights, 1.0)
        means[~(weights > 0)] = np.nan
        return LabelMeansResult(weights.copy(), means)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of weights of one."""
        return 8 * rows


@row_loop
def _add_rows(
    rows: NDArray[Any],
    labels: NDArray[Any],
    weight: FloatArray,
    point: FloatArray,
    sums: FloatArray,
    entry_weights: FloatArray,
    weights: FloatArray,
) -> None:
    """Add labelled rows to the sums of their labels."""
    for row in range(rows.shape[0]):
        label = labels[row]
        if label < 0 or label >= weights.size:
            continue
        weights[label] += weight[row]
        for i in range(rows.shape[1]):
            apart = rows[row, i] - point[i]
            if not np.isnan(apart):
                sums[label, i] += weight[row] * apart
                entry_weights[label, i] += weight[row]
