"""The rows that a statistic or a row function is given at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.errors import ParameterError, Setting

Values: TypeAlias = "NDArray[Any] | csr_array"
"""A dense ``(rows, features)`` array of floats or integer codes, or a CSR array of counts."""

UNKNOWN_CODE = -(2**30)
"""Code of a category that did not occur in the fit. The row keeps its other entries.

It is far from -1, -9 and the smallest integer, which data may use for missing entries.
"""


@dataclass(frozen=True)
class Block:
    """Consecutive rows of all views, as they are read.

    A block is a window on rows that are read, or on the caller's own array: a statistic copies what
    it wants to keep and never writes into it.

    Attributes
    ----------
    values : (rows + halo, features) float32, float64 or integer array, or CSR array
        The features of all views, one view beside the other. Dense integers are codes. Negative
        ones are missing entries, among them `UNKNOWN_CODE`.
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
    group : (rows + halo,) integer array, optional
        The group of every row, such as its patient or file, from 0; -1 stands for none.
    index : (rows + halo,) int64 array, optional
        Global index of every row when rows were left out; None when they are consecutive.
    source_start : int, default 0
        Global index of the first row of the data set that the rows are of: several data sets may
        be read as one.
    """

    values: Values
    slices: Mapping[str, slice]
    start: int
    rows: int
    weight: FloatArray | None = None
    sequence: NDArray[Any] | None = None
    group: NDArray[Any] | None = None
    index: IntArray | None = None
    source_start: int = 0

    @property
    def dense_values(self) -> NDArray[Any]:
        """The values, for a computation that takes dense rows alone.

        Raises
        ------
        TypeError
            If the rows are sparse: the model or the statistic does not take counts.
        """
        if isinstance(self.values, csr_array):
            raise TypeError("the rows of the block are sparse; expected dense rows")
        return self.values

    def view(self, name: str) -> NDArray[Any]:
        """Return the columns of one view of dense rows: ``(rows + halo, d)``, not a copy."""
        return self.dense_values[:, self.slices[name]]

    def row_index(self) -> IntArray:
        """Return the global index of every row of this block: ``(rows,)`` int64."""
        return self._index()[: self.rows]

    def row_groups(self) -> NDArray[Any]:
        """Return the group of every row of this block: ``(rows,)`` integer, -1 for none.

        Raises
        ------
        ParameterError
            If the rows were opened without groups.
        """
        if self.group is None:
            raise ParameterError("the rows have no groups; open them with " + Setting("groups"))
        return self.group[: self.rows]

    def row_weights(self) -> FloatArray:
        """Return the weight of every row of this block: ``(rows,)`` float64, ones without any."""
        return np.ones(self.rows) if self.weight is None else self.weight[: self.rows]

    def window_starts(self, length: int) -> NDArray[np.bool_]:
        """Return True for the rows at which a window of consecutive rows starts.

        A window lies in one sequence and among the rows that are shown, and no row was left out of
        it. It belongs to the block of its first row.

        Parameters
        ----------
        length : int
            Rows of a window: at most one more than the halo that the statistic asks for.
        """
        starts = np.zeros(self.rows, np.bool_)
        count = min(self.rows, int(self.values.shape[0]) - length + 1)
        if count <= 0:
            return starts
        starts[:count] = True
        first, last = slice(count), slice(length - 1, length - 1 + count)
        if self.index is not None:
            starts[:count] &= self.index[last] - self.index[first] == length - 1
        if self.sequence is not None:
            # a sequence may come again after another one, so that equal ends are not enough
            run = np.zeros(len(self.sequence), np.int64)
            np.cumsum(self.sequence[1:] != self.sequence[:-1], out=run[1:])
            starts[:count] &= run[last] == run[first]
        return starts

    def total_weight(self) -> float:
        """Return the sum of the weights of the rows of this block, halo excluded."""
        return float(self.rows) if self.weight is None else float(self.weight[: self.rows].sum())

    def write_weight(self, out: NDArray[Any]) -> None:
        """Write the weights of the rows of this block, halo excluded; ones if there are none.

        Parameters
        ----------
        out : (rows,) float32 or float64 array
            Receives the weights.
        """
        if self.weight is None:
            out.fill(1)
        else:
            np.copyto(out, self.weight[: self.rows], casting="same_kind")

    def with_scaled_weight(self, scale: float) -> Block:
        """Return the same rows with weights times a positive factor."""
        if scale == 1:
            return self
        rows_and_halo = int(self.values.shape[0])
        weight = np.full(rows_and_halo, scale) if self.weight is None else scale * self.weight
        return replace(self, weight=weight)

    def without_halo(self) -> Block:
        """Return the rows that belong to this block alone, not copied."""
        if int(self.values.shape[0]) == self.rows:
            return self
        return self.window(0, self.rows)

    def window(self, first: int, last: int, halo: int = 0) -> Block:
        """Return consecutive rows of this block, not copied.

        Parameters
        ----------
        first, last : int
            The first row and the row after the last, counted from the first row of this block.
        halo : int, default 0
            Rows after them that may be looked at, as far as this block has them.
        """
        span = slice(first, last + halo)
        return replace(
            self,
            values=self.values[span],
            start=self.start + first,
            rows=last - first,
            weight=None if self.weight is None else self.weight[span],
            sequence=None if self.sequence is None else self.sequence[span],
            group=None if self.group is None else self.group[span],
            index=None if self.index is None else self.index[span],
        )

    def keep(self, mask: NDArray[np.bool_]) -> Block:
        """Return a copy of the rows, halo included, where ``mask`` is true.

        The rows keep their global index, by which `window_starts` knows windows with a gap.

        Parameters
        ----------
        mask : (rows + halo,) bool array
            True for the rows to keep.
        """
        return replace(
            self,
            values=self.values[mask],
            rows=int(np.count_nonzero(mask[: self.rows])),
            weight=None if self.weight is None else self.weight[mask],
            sequence=None if self.sequence is None else self.sequence[mask],
            group=None if self.group is None else self.group[mask],
            index=self._index()[mask],
        )

    def _index(self) -> IntArray:
        """Return the global index of every row that is shown."""
        if self.index is not None:
            return self.index
        return np.arange(self.start, self.start + self.values.shape[0], dtype=np.int64)
