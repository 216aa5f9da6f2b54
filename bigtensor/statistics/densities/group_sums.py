"""Sums of posterior probabilities by group of rows: the mixing weights of patients and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.joint_densities import BLOCK_ROWS
from bigtensor.statistics.densities.tile_posterior import write_labels


@dataclass(frozen=True)
class GroupSumsResult:
    """Sums over the rows of every group, with row weight w and posterior probability r.

    Attributes
    ----------
    mass : (groups, classes) float64 array
        ``sum w r``.
    labelled : (groups, classes) float64 array
        Weight of the rows whose most probable class it is.
    certainty : (groups,) float64 array
        ``sum w max r``.
    squared_weight : (groups,) float64 array
        ``sum w^2``.
    log_density, squared_log_density : (groups,) float64 arrays
        ``sum w log p`` and ``sum w (log p)^2`` of densities p of the mixture, which are relative to
        its volume.
    rows : (groups,) int64 array
        Rows of every group.
    rows_without : int
        Rows without a group.
    """

    mass: FloatArray
    labelled: FloatArray
    certainty: FloatArray
    squared_weight: FloatArray
    log_density: FloatArray
    squared_log_density: FloatArray
    rows: IntArray
    rows_without: int


@dataclass(frozen=True, eq=False)
class GroupSums(SumStatistic[GroupSumsResult]):
    """Posterior probabilities and labels of the classes, summed over the rows of every group.

    `Block.group` holds the group of every row, from 0, and -1 for none.

    Parameters
    ----------
    classes : ClassDensities
        Densities of the classes.
    n_groups : int
        Number of groups.
    """

    classes: ClassDensities
    n_groups: int

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state; their last entry is for rows without a group."""
        groups, m = self.n_groups + 1, self.classes.n_classes
        return {
            "mass": ((groups, m), "float64"),
            "labelled": ((groups, m), "float64"),
            "certainty": ((groups,), "float64"),
            "squared_weight": ((groups,), "float64"),
            "log_density": ((groups,), "float64"),
            "squared_log_density": ((groups,), "float64"),
            "rows": ((groups,), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        group = block.row_groups()
        for window, tile in self.classes.mixture.tiles(block, work):
            posterior, log_density = self.classes.posterior(tile, work)
            label, groups, weight = work.take_all(self._buffers(tile.rows))
            tile.block.write_weight(weight)
            np.copyto(groups, group[window], casting="same_kind")
            write_labels(posterior, label)
            add_to_groups(
                groups,
                weight,
                label,
                posterior,
                log_density,
                state["mass"],
                state["labelled"],
                state["certainty"],
                state["squared_weight"],
                state["log_density"],
                state["squared_log_density"],
                state["rows"],
            )

    def finalize(self, state: State) -> GroupSumsResult:
        """Take apart the rows with and without a group."""
        sums = {name: array[:-1] for name, array in state.items()}
        return GroupSumsResult(**sums, rows_without=int(state["rows"][-1]))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        tile = min(rows, self.classes.mixture.tile_rows)
        return self.classes.work_nbytes(tile) + buffers_nbytes(self._buffers(tile))

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        return {
            "groups.label": ((rows,), np.intp),
            "groups.code": ((rows,), "int64"),
            "groups.weight": ((rows,), "float64"),
        }


@row_loop
def add_to_groups(
    groups: IntArray,
    weight: FloatArray,
    label: IndexArray,
    posterior: NDArray[Any],
    log_density: FloatArray,
    mass: FloatArray,
    labelled: FloatArray,
    certainty: FloatArray,
    squared_weight: FloatArray,
    total_log_density: FloatArray,
    squared_log_density: FloatArray,
    rows: IntArray,
) -> None:
    """Add every row to the sums of its group; the last group is for rows without one.

    Parameters
    ----------
    groups : (n,) int64 array
        -1 for none.
    weight : (n,) float64 array
        Weights of the rows.
    label : (n,) intp array
        Most probable class of every row.
    posterior : (n, classes) array
        Posterior probabilities of the classes, without the weights.
    log_density : (n,) float64 array
        Log-densities of the rows.
    mass, labelled : (groups, classes) float64 arrays
        Sums as in `GroupSumsResult`. Added to.
    certainty, squared_weight, total_log_density, squared_log_density : (groups,) float64 arrays
        Sums as in `GroupSumsResult`. Added to.
    rows : (groups,) int64 array
        Number of rows. Added to.
    """
    for row in range(groups.size):
        group = groups[row] if groups[row] >= 0 else mass.shape[0] - 1
        w, of_row, of_group = weight[row], posterior[row], mass[group]
        for h in range(of_row.size):
            of_group[h] += w * of_row[h]
        labelled[group, label[row]] += w
        certainty[group] += w * of_row[label[row]]
        squared_weight[group] += w * w
        total_log_density[group] += w * log_density[row]
        squared_log_density[group] += w * log_density[row] ** 2
        rows[group] += 1
