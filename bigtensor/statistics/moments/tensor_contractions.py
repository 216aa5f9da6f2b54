"""Contractions of a moment tensor with the columns of factors, without the tensor, in one read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, FloatingArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace, positive_weight
from bigtensor.statistics.moments.covariances import Columns


@dataclass(frozen=True)
class Contractions:
    """Contractions of a moment tensor in all modes but one, for every column of the factors.

    Attributes
    ----------
    moments : tuple of (d_v, L) float64 arrays
        ``E[(x_v - m_v) q_v']`` of every view, where ``q_v`` is the product of the projected rows
        over all modes but one mode of view v.
    constants : (views, L) float64 array
        ``E[q_v]`` of every view.
    weight : float
        The sum of the sample weights.
    rows : int
        The number of rows.
    """

    moments: tuple[FloatArray, ...]
    constants: FloatArray
    weight: float
    rows: int


@dataclass(frozen=True, eq=False)
class TensorContractions(SumStatistic[Contractions]):
    """Sums for the contraction of a moment tensor with L columns of factors.

    The rows of view v are projected, ``P_v = (X_v - m_v) F_v + o_v``. The contraction that leaves
    out one mode of view v is ``(X_v - m_v)' W Q_v``, with ``Q_v = P_v^(p_v - 1) prod P_u^(p_u)``
    over the other views u. This is the sample form of the tensor power update, eq. (17) in
    Anandkumar, Ge and Janzamin (2015).

    References are subtracted in float64 before rows are rounded to ``dtype``. Sums over blocks are
    taken in float64. Blocks of sparse counts stay sparse.

    Parameters
    ----------
    columns : tuple of (start, stop)
        Columns of a block that every factor is of.
    orders : tuple of int
        Number of modes of the tensor that belong to each view, at least 1.
    references : tuple of (d_v,) float64 arrays
        Subtracted from the rows of every view.
    factors : tuple of (d_v, L) float64 arrays
        All with the same number of columns.
    constants : (views, L) float64 array, optional
        Added to the projected rows. A constant feature in the rows has this effect.
    dtype : {"float32", "float64"}, default "float32"
        Precision of the products of one block.

    Raises
    ------
    ParameterError
        If shapes or orders do not fit together.
    """

    columns: Columns
    orders: tuple[int, ...]
    references: tuple[FloatArray, ...]
    factors: tuple[FloatArray, ...]
    constants: FloatArray | None = None
    dtype: str = "float32"

    block_rows: ClassVar[int] = 2048

    def __post_init__(self) -> None:
        lengths = {
            "orders": len(self.orders),
            "references": len(self.references),
            "factors": len(self.factors),
        }
        if not self.columns or set(lengths.values()) != {len(self.columns)}:
            raise ParameterError(
                f"{len(self.columns)} groups of columns need as many orders, references and "
                "factors, got " + ", ".join(f"{count} {name}" for name, count in lengths.items())
            )
        if min(self.orders) < 1:
            raise ParameterError(f"orders must be at least 1, got {self.orders}")
        columns = self.factors[0].shape[1]
        groups = zip(self.columns, self.references, self.factors, strict=True)
        for (start, stop), reference, factor in groups:
            if factor.shape != (*reference.shape, columns):
                raise ParameterError(
                    f"columns {start} to {stop - 1} have a reference of shape {reference.shape} "
                    f"and a factor of shape {factor.shape}; a factor needs one row for every "
                    f"feature and {columns} columns"
                )
        if self.constants is not None and self.constants.shape != (len(self.columns), columns):
            raise ParameterError(
                f"constants of shape {self.constants.shape} do not fit {len(self.columns)} views "
                f"and {columns} columns"
            )

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        constants = (len(self.columns), self._columns)
        return {
            **{f"moment_{v}": (f.shape, "float64") for v, f in enumerate(self.factors)},
            "constants": (constants, "float64"),
            # moments of sparse rows are summed without their reference
            "uncentred": (constants, "float64"),
            "weight": ((), "float64"),
            "rows": ((), "int64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        rows = block.rows
        if not rows:
            return
        buffers = {
            name: work.take(f"contractions.{name}.{self.dtype}", shape, dtype)
            for name, (shape, dtype) in self._buffers(rows).items()
        }
        block.write_weight(buffers["weight"])
        if isinstance(block.values, sp.csr_array):
            self._add_sparse(state, block.values, rows, buffers)
        else:
            self._add_dense(state, block, buffers)
        state["weight"] += block.total_weight()
        state["rows"] += rows

    def finalize(self, state: State) -> Contractions:
        """Divide by the total weight.

        Raises
        ------
        DataError
            If the total weight is not positive.
        """
        weight = positive_weight(state["weight"], "moments")
        return Contractions(
            moments=tuple(
                (state[f"moment_{v}"] - np.outer(reference, state["uncentred"][v])) / weight
                for v, reference in enumerate(self.references)
            ),
            constants=state["constants"] / weight,
            weight=weight,
            rows=int(state["rows"]),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(self._buffers(rows))

    @property
    def _columns(self) -> int:
        """Columns of every factor."""
        return int(self.factors[0].shape[1])

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a block."""
        columns = len(self.columns), self._columns
        features = sum(len(reference) for reference in self.references)
        largest = max(len(reference) for reference in self.references)
        return {
            "centred": ((features * rows,), self.dtype),
            "factor": ((largest, self._columns), self.dtype),
            "projected": ((len(self.columns), rows, self._columns), self.dtype),
            "row": (columns, self.dtype),
            "shifts": (columns, self.dtype),
            "sums": ((largest, self._columns), self.dtype),
            "exact": ((largest, self._columns), "float64"),
            "constants": (columns, "float64"),
            "orders": ((len(self.columns),), "int64"),
            "weight": ((rows,), self.dtype),
        }

    def _multiply(self, state: State, buffers: Mapping[str, NDArray[Any]]) -> None:
        """Put products in the place of the projected rows and add their sums."""
        projected, shifts, weight, constants = (
            buffers[name] for name in ("projected", "shifts", "weight", "constants")
        )
        constants.fill(0)
        if self.orders == (1, 1, 1):
            multiply_three_projections(projected, shifts, weight, constants)
        else:
            buffers["orders"][:] = self.orders
            multiply_projections(
                projected, shifts, buffers["orders"], weight, buffers["row"], constants
            )
        state["constants"] += buffers["constants"]

    def _add_dense(self, state: State, block: Block, buffers: Mapping[str, NDArray[Any]]) -> None:
        """Add a block of dense rows."""
        rows, start = block.rows, 0
        centred: list[FloatingArray] = []
        for v, (first, last) in enumerate(self.columns):
            size = len(self.references[v])
            view = buffers["centred"][start : start + rows * size].reshape(rows, size)
            start += rows * size
            subtract_reference(block.dense_values[:rows, first:last], self.references[v], view)
            factor = buffers["factor"][:size]
            np.copyto(factor, self.factors[v], casting="same_kind")
            np.matmul(view, factor, out=buffers["projected"][v])
            centred.append(view)
        buffers["shifts"][:] = 0 if self.constants is None else self.constants
        self._multiply(state, buffers)
        for v, view in enumerate(centred):
            size = view.shape[1]
            sums, exact = buffers["sums"][:size], buffers["exact"][:size]
            np.matmul(view.T, buffers["projected"][v], out=sums)
            # a copy: NumPy allocates buffers when it adds arrays of two dtypes
            np.copyto(exact, sums)
            np.add(state[f"moment_{v}"], exact, out=state[f"moment_{v}"])

    def _add_sparse(
        self, state: State, values: sp.csr_array, count: int, buffers: Mapping[str, NDArray[Any]]
    ) -> None:
        """Add the first of sparse rows: references are subtracted from projections and sums."""
        rows = values.indptr[: count + 1], values.indices, values.data
        for v, (first, _) in enumerate(self.columns):
            project_counts(*rows, first, self.factors[v], buffers["projected"][v])
            buffers["shifts"][v] = -(self.references[v] @ self.factors[v])
        if self.constants is not None:
            buffers["shifts"][:] += self.constants
        self._multiply(state, buffers)
        state["uncentred"] += buffers["constants"]
        for v, (first, _) in enumerate(self.columns):
            add_counts(*rows, first, buffers["projected"][v], state[f"moment_{v}"])


@row_loop
def subtract_reference(values: NDArray[Any], reference: FloatArray, centred: FloatingArray) -> None:
    """Subtract a reference from rows in float64, then round.

    Parameters
    ----------
    values : (n, d) array
        Rows of one view.
    reference : (d,) float64 array
        Point that is subtracted from every row.
    centred : (n, d) array
        The result.
    """
    for row in range(centred.shape[0]):
        value, result = values[row], centred[row]
        for j in range(reference.size):
            result[j] = value[j] - reference[j]


@row_loop
def multiply_projections(
    projected: FloatingArray,
    shifts: FloatingArray,
    orders: IntArray,
    weight: FloatingArray,
    factors: FloatingArray,
    totals: FloatArray,
) -> None:
    """Multiply the projections of a row over all modes but one, for every view.

    Parameters
    ----------
    projected : (views, n, L) array
        The products, times the weights, take the place of the projections: half the memory stays
        near the processor.
    shifts : (views, L) array
        Added to the projections.
    orders : (views,) int64 array
        Modes of every view.
    weight : (n,) array
        Weights of the rows.
    factors : (views, L) array
        Room for the projections of one row.
    totals : (views, L) float64 array
        Sums of the products over rows are added.
    """
    n_views, n, length = projected.shape
    for row in range(n):
        for u in range(n_views):
            for j in range(length):
                factors[u, j] = projected[u, row, j] + shifts[u, j]
        for v in range(n_views):
            product, total = projected[v, row], totals[v]
            product[:] = weight[row]
            for u in range(n_views):
                factor = factors[u]
                for _ in range(orders[u] - (u == v)):
                    for j in range(length):
                        product[j] *= factor[j]
            for j in range(length):
                total[j] += product[j]


@row_loop
def multiply_three_projections(
    projected: FloatingArray,
    shifts: FloatingArray,
    weight: FloatingArray,
    totals: FloatArray,
) -> None:
    """Multiply the projections of a row on pairs of three views with one mode each.

    The general loop of `multiply_projections` takes three times as long.

    Parameters
    ----------
    projected : (3, n, L) array
        The products, times the weights, take the place of the projections.
    shifts : (3, L) array
        Added to the projections.
    weight : (n,) array
        Weights of the rows.
    totals : (3, L) float64 array
        Sums of the products over rows are added.
    """
    for row in range(projected.shape[1]):
        first, second, third = projected[0, row], projected[1, row], projected[2, row]
        for j in range(first.size):
            a = first[j] + shifts[0, j]
            b = second[j] + shifts[1, j]
            c = weight[row] * (third[j] + shifts[2, j])
            first[j] = b * c
            second[j] = a * c
            third[j] = weight[row] * a * b
        for v in range(3):
            product, total = projected[v, row], totals[v]
            for j in range(product.size):
                total[j] += product[j]


@row_loop
def project_counts(
    pointers: NDArray[Any],
    indices: NDArray[Any],
    counts: NDArray[Any],
    first: int,
    factor: FloatArray,
    projected: FloatingArray,
) -> None:
    """Multiply the columns of one view of sparse rows with a factor.

    Parameters
    ----------
    pointers : (n + 1,) integer array
        Where the entries of every row begin and end.
    indices, counts : (entries,) arrays
        Column and value of every entry.
    first : int
        First column of the view.
    factor : (d, L) float64 array
        Matrix that the rows of the view are multiplied by.
    projected : (n, L) array
        The result.
    """
    for row in range(projected.shape[0]):
        projection = projected[row]
        projection[:] = 0
        for entry in range(pointers[row], pointers[row + 1]):
            feature = indices[entry] - first
            if 0 <= feature < factor.shape[0]:
                for j in range(projection.size):
                    projection[j] += counts[entry] * factor[feature, j]


@row_loop
def add_counts(
    pointers: NDArray[Any],
    indices: NDArray[Any],
    counts: NDArray[Any],
    first: int,
    products: FloatingArray,
    total: FloatArray,
) -> None:
    """Add the products of the columns of one view of sparse rows with ``products``.

    Parameters
    ----------
    pointers : (n + 1,) integer array
        Where the entries of every row begin and end.
    indices, counts : (entries,) arrays
        Column and value of every entry.
    first : int
        First column of the view.
    products : (n, L) array
        Rows that the counts are multiplied with.
    total : (d, L) float64 array
        The sums are added.
    """
    for row in range(products.shape[0]):
        for entry in range(pointers[row], pointers[row + 1]):
            feature = indices[entry] - first
            if 0 <= feature < total.shape[0]:
                for j in range(products.shape[1]):
                    total[feature, j] += counts[entry] * products[row, j]
