"""Sums over rows of sparse codes: what the next dictionary and the sources are estimated from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace, positive_weight
from bigtensor.statistics.sources.sparse_codes import BLOCK_ROWS, SparseCoder


@dataclass(frozen=True)
class SparseCodeSumsResult:
    """Moments of rows x about the origin, in units of the scales, and of their codes c.

    Attributes
    ----------
    rows_by_codes : (d, k) float64 array
        Mean of x c'.
    products : (k, k) float64 array
        Mean of c c'.
    row_mean : (d,) float64 array
        Mean of x.
    means, third, fourth : (k,) float64 arrays
        Mean of c, c^3 and c^4.
    active : (k,) float64 array
        Share of the rows in which a code is not zero.
    residual : float
        Mean of |x - D c|^2.
    weight : float
        Sum of the weights of the rows.
    """

    rows_by_codes: FloatArray
    products: FloatArray
    row_mean: FloatArray
    means: FloatArray
    third: FloatArray
    fourth: FloatArray
    active: FloatArray
    residual: float
    weight: float

    @property
    def variances(self) -> FloatArray:
        """Variance of every code, (k,)."""
        return np.asarray(np.diag(self.products) - np.square(self.means))

    @property
    def covariances(self) -> FloatArray:
        """Covariance of every feature and every code, (d, k)."""
        return np.asarray(self.rows_by_codes - np.outer(self.row_mean, self.means))

    @property
    def kurtosis(self) -> FloatArray:
        """Excess kurtosis of every code, (k,); zero for a code that is always zero."""
        m, second = self.means, np.diag(self.products)
        fourth = self.fourth - 4 * m * self.third + 6 * np.square(m) * second - 3 * m**4
        squares = np.square(self.variances)
        varying = squares > 0
        return np.where(varying, fourth / np.where(varying, squares, 1.0) - 3, 0.0)

    @property
    def amplitudes(self) -> FloatArray:
        """Root mean square of every code where it is not zero, (k,); zero if it always is."""
        used = self.active > 0
        squares = np.diag(self.products) / np.where(used, self.active, 1.0)
        return np.where(used, np.sqrt(squares), 0.0)

    def noise(self, rank: int) -> float:
        """Return the standard deviation of the noise along an axis, in units of the scales.

        Every code that is not zero takes one dimension of a row.

        Parameters
        ----------
        rank : int
            Number of axes along which rows vary: features that are constant, or that follow from
            others, add none.
        """
        return float(np.sqrt(self.residual / max(rank - self.active.sum(), 1.0)))


@dataclass(frozen=True, eq=False)
class SparseCodeSums(SumStatistic[SparseCodeSumsResult]):
    """Sums of codes, of their products with each other and with the rows, and of what they leave.

    Parameters
    ----------
    coder : SparseCoder
        Dictionary and threshold of the codes.
    """

    coder: SparseCoder

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        d, k = self.coder.n_features, self.coder.n_components
        return {
            "rows_by_codes": ((d, k), "f8"),
            "products": ((k, k), "f8"),
            "row_mean": ((d,), "f8"),
            **dict.fromkeys(("means", "third", "fourth", "active"), ((k,), "f8")),
            "residual": ((1,), "f8"),
            "weight": ((), "f8"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        rows, codes = self.coder.encode(block, work)
        left, weighted, weight, by_codes, products = work.take_all(self._buffers(block.rows))
        block.write_weight(weight)
        np.matmul(codes, self.coder.columns.T, out=left)
        np.subtract(rows, left, out=left)
        _add_moments(
            *(left, codes, weight),
            *(state[name] for name in ("residual", "means", "third", "fourth", "active")),
        )
        state["row_mean"] += weight @ rows
        # the weight stands in one of the two arrays of every product
        np.multiply(codes, weight[:, None], out=weighted, casting="same_kind")
        np.matmul(rows.T, weighted, out=by_codes)
        np.matmul(codes.T, weighted, out=products)
        state["rows_by_codes"] += by_codes
        state["products"] += products
        state["weight"] += block.total_weight()

    def finalize(self, state: State) -> SparseCodeSumsResult:
        """Divide by the weight.

        Raises
        ------
        DataError
            When the weight is not positive.
        """
        weight = positive_weight(state["weight"], "sources")
        arrays = {
            name: array / weight
            for name, array in state.items()
            if name not in ("weight", "residual")
        }
        residual = float(state["residual"][0]) / weight
        return SparseCodeSumsResult(**arrays, residual=residual, weight=weight)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes({**self.coder.work_arrays(rows), **self._buffers(rows)})

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a block."""
        d, k, dtype = self.coder.n_features, self.coder.n_components, self.coder.dtype
        return {
            "code_sums.left": ((rows, d), dtype),
            "code_sums.weighted": ((rows, k), dtype),
            "code_sums.weight": ((rows,), "float64"),
            "code_sums.rows_by_codes": ((d, k), dtype),
            "code_sums.products": ((k, k), dtype),
        }


@row_loop
def _add_moments(
    left: NDArray[np.floating],
    codes: NDArray[np.floating],
    weight: FloatArray,
    residual: FloatArray,
    first: FloatArray,
    third: FloatArray,
    fourth: FloatArray,
    active: FloatArray,
) -> None:
    """Add the squares of what codes leave of the rows, and the moments of every code."""
    for row in range(codes.shape[0]):
        share = weight[row]
        squares = 0.0
        for i in range(left.shape[1]):
            squares += np.float64(left[row, i]) * np.float64(left[row, i])
        residual[0] += share * squares
        for j in range(codes.shape[1]):
            code = np.float64(codes[row, j])
            if code != 0:
                cube = code * code * code
                first[j] += share * code
                third[j] += share * cube
                fourth[j] += share * cube * code
                active[j] += share
