"""Third moment across three views, of projected rows, formed in one read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes, padded_width
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace, positive_weight
from bigtensor.statistics.moments.covariances import Columns
from bigtensor.statistics.moments.tensor_contractions import subtract_reference
from bigtensor.statistics.moments.triple_products import add_triple_products, products_shape


@dataclass(frozen=True)
class ProjectedMomentResult:
    """Third moment of projected rows.

    Attributes
    ----------
    moment : (q1, q2, q3) float64 array
        ``E[p_1 (x) p_2 (x) p_3]``.
    weight : float
        The sum of the sample weights.
    """

    moment: FloatArray
    weight: float


@dataclass(frozen=True, eq=False)
class ProjectedMoment(SumStatistic[ProjectedMomentResult]):
    """Sums for the third moment of rows that are projected, ``p_v = (x_v - m_v) F_v + o_v``.

    References are subtracted in float64 before rows are rounded to ``dtype``. Sums over blocks are
    taken in float64.

    Parameters
    ----------
    columns : tuple of three (start, stop)
        Columns of a block that every view is of.
    references : tuple of three (d_v,) float64 arrays
        Points m_v, in the units of the data.
    factors : tuple of three (d_v, q_v) float64 arrays
        Projections F_v.
    offsets : tuple of three (q_v,) float64 arrays
        Constants o_v that are added to the projections.
    dtype : {"float32", "float64"}, default "float32"
        Precision of the products of one block.

    Raises
    ------
    ParameterError
        If there are not three views, or shapes do not fit together.
    """

    columns: Columns
    references: tuple[FloatArray, ...]
    factors: tuple[FloatArray, ...]
    offsets: tuple[FloatArray, ...]
    dtype: str = "float32"

    block_rows: ClassVar[int] = 2048

    def __post_init__(self) -> None:
        parts = (self.columns, self.references, self.factors, self.offsets)
        if any(len(part) != 3 for part in parts):
            raise ParameterError(
                "a third moment needs three views, got "
                + ", ".join(
                    f"{len(part)} {name}"
                    for name, part in zip(
                        ("groups of columns", "references", "factors", "offsets"),
                        parts,
                        strict=True,
                    )
                )
            )
        for (start, stop), reference, factor, offset in zip(*parts, strict=True):
            if factor.shape != (stop - start, len(offset)) or len(reference) != stop - start:
                raise ParameterError(
                    f"columns {start} to {stop - 1} have a reference of shape {reference.shape}, "
                    f"a factor of shape {factor.shape} and an offset of shape {offset.shape}; a "
                    "factor needs one row for every feature and one column for every offset"
                )

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {
            "moment": (self._sizes, "float64"),
            "weight": ((), "float64"),
            "rows": ((), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        rows = block.rows
        if not rows:
            return
        room, centred, weight, products, sums, exact = work.take_all(self._buffers(rows))
        stops = np.cumsum(self._sizes).tolist()
        projected = room[: stops[0]], room[stops[0] : stops[1]], room[stops[1] :]
        room[:, rows:] = 0
        views = zip(
            self.columns, self.references, self.factors, self.offsets, projected, strict=True
        )
        for (start, stop), reference, factor, offset, out in views:
            view = centred[: rows * (stop - start)].reshape(rows, stop - start)
            subtract_reference(block.dense_values[:rows, start:stop], reference, view)
            np.matmul(factor.T.astype(self.dtype), view.T, out=out[:, :rows])
            out[:, :rows] += offset.astype(self.dtype)[:, None]
        if block.weight is not None:
            np.copyto(weight, block.weight[:rows], casting="same_kind")
            projected[0][:, :rows] *= weight
        add_triple_products(state["moment"], *projected, products, sums, exact)
        state["weight"] += block.total_weight()
        state["rows"] += rows

    def finalize(self, state: State) -> ProjectedMomentResult:
        """Divide by the total weight.

        Raises
        ------
        DataError
            If the total weight is not positive.
        """
        weight = positive_weight(state["weight"], "moments")
        return ProjectedMomentResult(state["moment"] / weight, weight)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(self._buffers(rows))

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """Directions of every view."""
        first, second, third = (len(offset) for offset in self.offsets)
        return first, second, third

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a block, with one column a row of data where they are projected."""
        sizes, entries = self._sizes, math.prod(self._sizes)
        largest = max(stop - start for start, stop in self.columns)
        name = f"projected_moment.{self.dtype}"
        buffers: dict[str, Any] = {
            f"{name}.projected": ((sum(sizes), padded_width(rows)), self.dtype),
            f"{name}.centred": ((rows * largest,), self.dtype),
            f"{name}.weight": ((rows,), self.dtype),
            f"{name}.products": (products_shape(sizes, rows, self.dtype), self.dtype),
            f"{name}.sums": ((entries,), self.dtype),
            "projected_moment.exact": ((entries,), "float64"),
        }
        return buffers
