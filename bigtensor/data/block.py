"""The rows that a statistic or a row function is given at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = Any
"""A dense ``(rows, features)`` float array, or a SciPy CSR array of the same shape for counts."""


@dataclass(frozen=True)
class Block:
    """Consecutive rows of all views, as they are read.

    A block is a window on rows that are read, or on the caller's own array: a statistic copies what
    it wants to keep and never writes into it.

    Attributes
    ----------
    values : (rows + halo, features) float32 or float64 array, or CSR array
        The features of all views, one view beside the other.
    slices : mapping of str to slice
        The columns of ``values`` that make each view, in the order of the views.
    start : int
        Global index of the first row.
    rows : int
        Rows that belong to this block. Later rows of ``values`` are the halo: they may be looked
        at (a window of consecutive rows starts in this block), and belong to another block.
    weight : (rows + halo,) float64 array, optional
        Sample weights; None stands for ones.
    sequence : (rows + halo,) integer array, optional
        The sequence of every row; a window never crosses a change of it.
    index : (rows,) int64 array, optional
        Global index of every row when rows were left out; None when they are consecutive.
    """

    values: Values
    slices: Mapping[str, slice]
    start: int
    rows: int
    weight: NDArray[np.float64] | None = None
    sequence: NDArray[Any] | None = None
    index: NDArray[np.int64] | None = None

    def view(self, name: str) -> Values:
        """Return the columns of one view: ``(rows + halo, d)``, not a copy."""
        return self.values[:, self.slices[name]]

    def row_index(self) -> NDArray[np.int64]:
        """Return the global index of every row: ``(rows,)`` int64."""
        if self.index is not None:
            return self.index
        return np.arange(self.start, self.start + self.rows, dtype=np.int64)

    def total_weight(self) -> float:
        """Return the sum of the weights of the rows of this block, halo excluded."""
        return float(self.rows) if self.weight is None else float(self.weight[: self.rows].sum())

    def keep(self, mask: NDArray[np.bool_]) -> Block:
        """Return a copy of the rows where ``mask`` holds; a block with a halo cannot lose rows.

        Parameters
        ----------
        mask : (rows,) bool array

        Returns
        -------
        Block
        """
        return replace(
            self,
            values=self.values[: self.rows][mask],
            rows=int(np.count_nonzero(mask)),
            weight=None if self.weight is None else self.weight[: self.rows][mask],
            sequence=None if self.sequence is None else self.sequence[: self.rows][mask],
            index=self.row_index()[mask],
        )
