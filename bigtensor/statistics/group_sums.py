"""Sums of posterior probabilities by group of rows: the mixing weights of patients and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.data.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.class_densities import ClassDensities


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
    rows : (groups,) int64 array
        Rows of every group.
    rows_without : int
        Rows without a group.
    """

    mass: NDArray[np.float64]
    labelled: NDArray[np.float64]
    certainty: NDArray[np.float64]
    squared_weight: NDArray[np.float64]
    rows: NDArray[np.int64]
    rows_without: int


@dataclass(frozen=True, eq=False)
class GroupSums(SumStatistic[GroupSumsResult]):
    """Posterior probabilities and labels of the classes, summed over the rows of every group.

    `Block.sequence` holds the group of every row, from 0, and -1 for none.

    Parameters
    ----------
    classes : ClassDensities
    n_groups : int
    """

    classes: ClassDensities
    n_groups: int

    block_rows: ClassVar[int] = 15360

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state; their last entry is for rows without a group."""
        groups, m = self.n_groups + 1, self.classes.n_classes
        return {
            "mass": ((groups, m), "float64"),
            "labelled": ((groups, m), "float64"),
            "certainty": ((groups,), "float64"),
            "squared_weight": ((groups,), "float64"),
            "rows": ((groups,), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if block.sequence is None:
            raise ParameterError("the rows have no groups; open them with groups=...")
        for window, tile in self.classes.mixture.tiles(block, work):
            posterior = self.classes.posterior(tile, work)
            largest, label, by_row, groups, weight, ones = (
                work.take(name, shape, dtype)
                for name, (shape, dtype) in self._buffers(tile.rows).items()
            )
            if tile.block.weight is None:
                weight.fill(1.0)
            else:
                np.copyto(weight, tile.block.weight[: tile.rows])
            # -1 is the last entry of the state, as NumPy counts from the end
            np.copyto(groups, block.sequence[window], casting="same_kind")
            np.copyto(by_row, posterior.T)
            np.argmax(by_row, axis=1, out=label)
            np.max(by_row, axis=1, out=largest)
            np.multiply(largest, weight, out=largest)
            np.add.at(state["labelled"], (groups, label), weight)
            np.add.at(state["certainty"], groups, largest)
            if tile.block.weight is not None:
                np.multiply(by_row, weight[:, None], out=by_row, casting="same_kind")
            np.multiply(weight, weight, out=weight)
            np.add.at(state["squared_weight"], groups, weight)
            first = groups[0]
            if groups.min() == first == groups.max():
                state["mass"][first] += by_row.sum(axis=0, dtype=np.float64)
                state["rows"][first] += tile.rows
                continue
            ones.fill(1.0)
            present, place = np.unique(groups, return_inverse=True)
            members: Any = csr_array((tile.rows, len(present)))
            # set one by one, because the constructor copies slices of larger buffers
            members.indptr = np.arange(tile.rows + 1, dtype=place.dtype)
            members.indices = place
            members.data = ones
            state["mass"][present] += members.T @ by_row
            state["rows"][present] += np.bincount(place)

    def finalize(self, state: State) -> GroupSumsResult:
        """Take apart the rows with and without a group."""
        sums = {name: array[:-1] for name, array in state.items()}
        return GroupSumsResult(**sums, rows_without=int(state["rows"][-1]))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for ``rows`` rows, and of what SciPy makes of them."""
        tile = min(rows, self.classes.mixture.tile_rows)
        sums = 8 * self.classes.n_classes * min(tile, self.n_groups + 1)
        return self.classes.work_nbytes(tile) + buffers_nbytes(self._buffers(tile)) + sums

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        m, dtype = self.classes.n_classes, self.classes.mixture.dtype
        return {
            "groups.largest": ((rows,), "float64"),
            "groups.label": ((rows,), "intp"),
            "groups.by_row": ((rows, m), dtype),
            "groups.code": ((rows,), "int64"),
            "groups.weight": ((rows,), "float64"),
            "groups.ones": ((rows,), dtype),
        }
