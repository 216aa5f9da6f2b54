"""Histograms of features in one population, by group of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS


@dataclass(frozen=True, eq=False)
class PopulationHistograms(SumStatistic[FloatArray]):
    """Histograms of features, where every row counts with its probability of one population.

    `Block.group` holds the group of every row, from 0, and -1 for none. Rows without a group are
    left out. Rows without groups at all are one group.

    Parameters
    ----------
    classes : ClassDensities
        Populations of a mixture.
    population : int
        Number of the population.
    columns : tuple of int
        Column of every feature in the values of a block.
    low, step : (features,) float64 arrays
        Lower end of the first bin and width of the bins, in the units of the data. Values beyond
        the ends count in the first and the last bin.
    bins : int
        Number of bins.
    n_groups : int, default 1
        Number of groups.
    """

    classes: ClassDensities
    population: int
    columns: tuple[int, ...]
    low: FloatArray
    step: FloatArray
    bins: int
    n_groups: int = 1

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the array of the state."""
        return {"counts": ((self.n_groups, len(self.columns), self.bins), "float64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        for window, tile in self.classes.mixture.tiles(block, work):
            posterior, _ = self.classes.posterior(tile, work)
            share, group, values = work.take_all(self._buffers(tile.rows))
            np.copyto(share, posterior[:, self.population])
            if tile.block.weight is not None:
                np.multiply(share, tile.block.weight[: tile.rows], out=share)
            if block.group is None:
                group.fill(0)
            else:
                np.copyto(group, block.group[window], casting="same_kind")
            for place, column in enumerate(self.columns):
                values[:, place] = tile.block.values[: tile.rows, column]
            add_to_histograms(group, share, values, self.low, self.step, state["counts"])

    def finalize(self, state: State) -> FloatArray:
        """Return the weighted counts: ``(groups, features, bins)``."""
        return state["counts"]

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.classes.mixture.tile_rows)
        return self.classes.work_nbytes(tile) + buffers_nbytes(self._buffers(tile))

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        return {
            "histograms.share": ((rows,), "float64"),
            "histograms.group": ((rows,), "int64"),
            "histograms.values": ((rows, len(self.columns)), "float64"),
        }


@row_loop
def add_to_histograms(
    group: IntArray,
    share: FloatArray,
    values: FloatArray,
    low: FloatArray,
    step: FloatArray,
    counts: FloatArray,
) -> None:
    """Add every row to the histograms of its group.

    Parameters
    ----------
    group : (n,) int64 array
        -1 for none.
    share : (n,) float64 array
        Weight of every row.
    values : (n, features) float64 array
        Values without NaN.
    low, step : (features,) float64 arrays
        Lower end of the first bin and width of the bins.
    counts : (groups, features, bins) float64 array
        Added to.
    """
    last = counts.shape[2] - 1
    for row in range(group.size):
        if group[row] >= 0:
            for feature in range(low.size):
                place = (values[row, feature] - low[feature]) / step[feature]
                # compared as floats, because an outlier may exceed the range of integers
                bin_ = 0 if place < 0 else last if place > last else int(place)
                counts[group[row], feature, bin_] += share[row]
