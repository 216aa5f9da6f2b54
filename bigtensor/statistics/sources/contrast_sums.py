"""Sums of the fixed-point iteration of independent component analysis, with tanh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace, positive_weight


@dataclass(frozen=True)
class ContrastSumsResult:
    """Moments of sources y and of their hyperbolic tangents.

    Attributes
    ----------
    rows_by_tanh : (d, k) float64 array
        Mean of the centred row times tanh(y).
    tanh : (k,) float64 array
        Mean of tanh(y).
    slope : (k,) float64 array
        Mean of the derivative, 1 - tanh(y)^2.
    second, fourth : (k,) float64 arrays
        Mean of y^2 and of y^4.
    weight : float
        Sum of the weights of the rows.
    """

    rows_by_tanh: FloatArray
    tanh: FloatArray
    slope: FloatArray
    second: FloatArray
    fourth: FloatArray
    weight: float

    @property
    def kurtosis(self) -> FloatArray:
        """Excess kurtosis of the sources, if the point of the rows is their mean."""
        return np.asarray(self.fourth / np.square(self.second) - 3)

    def about(self, shift: FloatArray) -> ContrastSumsResult:
        """Return the sums with rows about a shifted point, and sources as they are.

        Parameters
        ----------
        shift : (d,) float64 array
            New point less the old one.
        """
        return replace(self, rows_by_tanh=self.rows_by_tanh - np.outer(shift, self.tanh))


@dataclass(frozen=True, eq=False)
class ContrastSums(SumStatistic[ContrastSumsResult]):
    """Sums over rows of the fixed-point iteration with the contrast log cosh.

    The iteration is of Hyvarinen, *Fast and robust fixed-point algorithms for independent component
    analysis*, IEEE Transactions on Neural Networks 1999, eq. 20.

    Parameters
    ----------
    unmixing : (d, k) float64 array
        Sources are y = (x - point) @ unmixing.
    point : (d,) float64 array
        Mean of the rows, or near it.
    dtype : str, default "float32"
        Of the products of one block. Their sums are float64.
    """

    unmixing: FloatArray
    point: FloatArray
    dtype: str = "float32"

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        d, k = self.unmixing.shape
        of_sources = ("tanh", "slope", "second", "fourth")
        return {
            "rows_by_tanh": ((d, k), "f8"),
            **dict.fromkeys(of_sources, ((k,), "f8")),
            "weight": ((), "f8"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        unmixing, centred, sources, tanh, weight, product = work.take_all(self._buffers(block.rows))
        unmixing[:] = self.unmixing
        block.write_weight(weight)
        values = block.dense_values[: block.rows]
        np.subtract(values, self.point, out=centred, casting="same_kind")
        np.matmul(centred, unmixing, out=sources)
        np.tanh(sources, out=tanh)
        _add_moments(
            sources,
            tanh,
            weight,
            state["tanh"],
            state["slope"],
            state["second"],
            state["fourth"],
        )
        np.matmul(centred.T, tanh, out=product)
        state["rows_by_tanh"] += product
        state["weight"] += block.total_weight()

    def finalize(self, state: State) -> ContrastSumsResult:
        """Divide by the weight.

        Raises
        ------
        DataError
            When the weight is not positive.
        """
        weight = positive_weight(state["weight"], "sources")
        means = {name: array / weight for name, array in state.items() if name != "weight"}
        return ContrastSumsResult(**means, weight=weight)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(self._buffers(rows))

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a block."""
        d, k = self.unmixing.shape
        return {
            "contrast.unmixing": ((d, k), self.dtype),
            "contrast.centred": ((rows, d), self.dtype),
            "contrast.sources": ((rows, k), self.dtype),
            "contrast.tanh": ((rows, k), self.dtype),
            "contrast.weight": ((rows,), "float64"),
            "contrast.product": ((d, k), self.dtype),
        }


@row_loop
def _add_moments(
    sources: NDArray[np.floating],
    tanh: NDArray[np.floating],
    weight: FloatArray,
    first: FloatArray,
    slope: FloatArray,
    second: FloatArray,
    fourth: FloatArray,
) -> None:
    """Add the moments of every source, and multiply the tangents by the weights."""
    for row in range(sources.shape[0]):
        share = weight[row]
        for j in range(sources.shape[1]):
            tangent = np.float64(tanh[row, j])
            square = np.float64(sources[row, j]) * np.float64(sources[row, j])
            first[j] += share * tangent
            slope[j] += share * (1 - tangent * tangent)
            second[j] += share * square
            fourth[j] += share * square * square
            tanh[row, j] = share * tangent
