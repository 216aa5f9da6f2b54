"""Tensor trains by their matrices at all points, as the loops over rows read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.features.buffers import Buffers
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.tensor_train.located_rows import LocatedRows
from bigtensor.statistics.tensor_train.train_loops import add_counts, write_above, write_below

_ROWS = 512
"""Rows that are taken from leaf to root at once, which fit into the cache."""


@dataclass(frozen=True, eq=False)
class TabulatedTrain:
    """Matrices of one train.

    Attributes
    ----------
    nodes : (m, 3) int64 array
        Variable of every node, or ``-1 - b`` for branching b, and its children, or -1. A node comes
        before its children.
    points : (points + 1, r, r) float64 array
        From state to state at every point of every variable.
    branches : (branchings, r, r, r) float64 array
        From state to the states of both children.
    """

    nodes: IntArray
    points: FloatArray
    branches: FloatArray

    def write_log_densities(
        self, rows: LocatedRows, log_density: FloatArray, work: Workspace
    ) -> None:
        """Write the logarithm of the density of every row, by its coordinates.

        Parameters
        ----------
        rows : LocatedRows
            Rows at their points.
        log_density : (n,) float64 array
            Receives the logarithms.
        work : Workspace
            Buffers that are reused from block to block.
        """
        for window in self._windows(rows):
            self._below(rows.take(window), log_density[window], work)

    def add_counts(
        self,
        rows: LocatedRows,
        weight: FloatArray,
        sums: tuple[FloatArray, FloatArray],
        log_density: FloatArray,
        work: Workspace,
    ) -> None:
        """Add the expected moves between states, and write logarithms of densities.

        Parameters
        ----------
        rows : LocatedRows
            Rows at their points.
        weight : (n,) float64 array
            Weights of the rows.
        sums : ((points + 1, r, r), (branchings, r, r, r)) float64 arrays
            Products of the states before and the messages after, divided by the density, at every
            point and branching. Added to.
        log_density : (n,) float64 array
            Receives the logarithms.
        work : Workspace
            Buffers that are reused from block to block.
        """
        for window in self._windows(rows):
            part = rows.take(window)
            below, scales = self._below(part, log_density[window], work)
            add_counts(
                part.point,
                part.left,
                part.right,
                weight[window],
                self.nodes,
                self.points,
                self.branches,
                below,
                scales,
                sums[0],
                sums[1],
            )

    def write_above(
        self,
        rows: LocatedRows,
        below: FloatArray,
        above: FloatArray,
        logs: FloatArray,
        work: Workspace,
    ) -> None:
        """Write the densities below and above every node, by the state that enters it.

        Parameters
        ----------
        rows : LocatedRows
            Rows at their points.
        below, above : (n, m, r) float64 arrays
            With sums of one.
        logs : (n, m, 2) float64 array
            Logarithms of what they were divided by.
        work : Workspace
            Buffers that are reused from block to block.
        """
        log_density = work.take("train.log_density", (_ROWS,), "float64")
        for window in self._windows(rows):
            part = rows.take(window)
            part_below, scales = self._below(part, log_density[: len(part.point)], work)
            below[window] = part_below
            write_above(
                part.point,
                part.left,
                part.right,
                self.nodes,
                self.points,
                self.branches,
                part_below,
                scales,
                above[window],
                logs[window],
            )

    def node_of(self, variable: int) -> int:
        """Return the number of the node of a variable."""
        return int(np.flatnonzero(self.nodes[:, 0] == variable)[0])

    @property
    def buffers(self) -> Buffers:
        """Buffers of every answer, for any number of rows."""
        m, r = len(self.nodes), self.points.shape[1]
        dtype = self.points.dtype
        return {
            "train.below": ((_ROWS, m, r), dtype),
            "train.scales": ((_ROWS, m), dtype),
            "train.log_density": ((_ROWS,), "float64"),
        }

    def _windows(self, rows: LocatedRows) -> Iterator[slice]:
        """Yield rows that are taken from leaf to root at once."""
        n = len(rows.point)
        for start in range(0, n, _ROWS):
            yield slice(start, min(start + _ROWS, n))

    def _below(
        self, rows: LocatedRows, log_density: FloatArray, work: Workspace
    ) -> tuple[FloatArray, FloatArray]:
        """Write log-densities; return what is below every node, with its scales."""
        n = len(rows.point)
        below, scales = (
            work.take(name, *self.buffers[name])[:n] for name in ("train.below", "train.scales")
        )
        write_below(
            rows.point,
            rows.left,
            rows.right,
            self.nodes,
            self.points,
            self.branches,
            below,
            scales,
            log_density,
        )
        return below, scales
