"""Sparse codes of rows in a dictionary: each row is made of few of many columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.sources.linear_sources import SOURCE

BLOCK_ROWS = 4096
"""Rows that are coded at once."""

_TOLERANCE = 1e-3
"""Change of a code, relative to the threshold, that is not worth an update."""

_UPDATES = 20
"""Most updates of the codes of a row, over the features; three for each of its codes are usual."""

_SWEEPS = 30
"""Sweeps over the codes of a row that are not zero, in which nothing shrinks them."""


@dataclass(frozen=True, eq=False)
class SparseCoder:
    r"""Codes of rows in a dictionary of unit columns.

    The codes of a row x minimise :math:`|x - D c|^2 / 2 + t |c|_1`, by the coordinate that changes
    most; those that are not zero are then estimated again without the penalty, which shrinks them.

    Parameters
    ----------
    dictionary : (d, k) float64 array
        Unit columns D, in units of the scales.
    origin : (d,) float64 array
        Row without any source.
    scales : (d,) float64 array
        Units of the features.
    threshold : float
        t, in units of the scales: the least part of a row along a column that makes a code.
    dtype : str
        Of products and codes.
    """

    dictionary: FloatArray
    origin: FloatArray
    scales: FloatArray
    threshold: float
    dtype: str
    columns: NDArray[Any] = field(init=False, repr=False)
    gram: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        columns = np.ascontiguousarray(self.dictionary, self.dtype)
        gram = np.ascontiguousarray(self.dictionary.T @ self.dictionary, self.dtype)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "gram", gram)

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.dictionary)

    @property
    def n_components(self) -> int:
        """Number of columns k."""
        return int(self.dictionary.shape[1])

    def encode(self, block: Block, work: Workspace) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows about the origin in units of the scales, (rows, d), and their codes.

        Parameters
        ----------
        block : Block
            Rows of data.
        work : Workspace
            Holds both until the next block.

        Returns
        -------
        rows : (rows, d) array
            Rows less the origin, in units of the scales.
        codes : (rows, k) array
            Sparse codes of the rows.
        """
        rows, left, codes = work.take_all(self.work_arrays(block.rows))
        values = block.dense_values[: block.rows]
        np.subtract(values, self.origin, out=rows, casting="same_kind")
        np.divide(rows, self.scales, out=rows, casting="same_kind")
        np.matmul(rows, self.columns, out=left)
        most = _UPDATES * self.n_features
        _write_codes(left, self.gram, self.threshold, _TOLERANCE * self.threshold, most, codes)
        _release_codes(left, self.gram, _SWEEPS, codes)
        return rows, codes

    def work_arrays(self, rows: int) -> Buffers:
        """Return the buffers of a block of ``rows`` rows."""
        d, k = self.dictionary.shape
        return {
            "codes.rows": ((rows, d), self.dtype),
            "codes.left": ((rows, k), self.dtype),
            "codes.codes": ((rows, k), self.dtype),
        }


@dataclass(frozen=True, eq=False)
class SparseSources(RowFunction):
    """Sources of every row: its sparse codes in units of their deviations.

    Parameters
    ----------
    coder : SparseCoder
        Dictionary and threshold of the codes.
    units : (k,) float64 array
        Code of a source of one.
    """

    coder: SparseCoder
    units: FloatArray

    block_rows: ClassVar[int] = BLOCK_ROWS

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The sources, one a component."""
        return (RowOutput(SOURCE, self.coder.dtype, {"component": self.coder.n_components}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the sources of the rows of ``block``."""
        _, codes = self.coder.encode(block, work)
        np.divide(codes, self.units, out=codes, casting="same_kind")
        np.copyto(out[SOURCE], codes, casting="same_kind")

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(self.coder.work_arrays(rows))


@row_loop
def _write_codes(
    left: NDArray[np.floating],
    gram: NDArray[np.floating],
    threshold: float,
    tolerance: float,
    most: int,
    codes: NDArray[np.floating],
) -> None:
    """Write penalised codes, and take them out of the correlations of the columns with the rows."""
    k = left.shape[1]
    for row in range(left.shape[0]):
        for j in range(k):
            codes[row, j] = 0
        for _ in range(most):
            chosen, change = 0, 0.0
            for j in range(k):
                free = left[row, j] + codes[row, j]
                shrunk = 0.0
                if free > threshold:
                    shrunk = free - threshold
                elif free < -threshold:
                    shrunk = free + threshold
                step = shrunk - codes[row, j]
                if abs(step) > abs(change):
                    chosen, change = j, step
            if abs(change) <= tolerance:
                break
            codes[row, chosen] += change
            for j in range(k):
                left[row, j] -= change * gram[chosen, j]


@row_loop
def _release_codes(
    left: NDArray[np.floating],
    gram: NDArray[np.floating],
    sweeps: int,
    codes: NDArray[np.floating],
) -> None:
    """Estimate the codes that are not zero by least squares, from what is left of the rows."""
    k = left.shape[1]
    support = np.empty(k, np.int64)
    for row in range(left.shape[0]):
        count = 0
        for j in range(k):
            if codes[row, j] != 0:
                support[count] = j
                count += 1
        for _ in range(sweeps):
            for first in range(count):
                j = support[first]
                change = left[row, j]
                codes[row, j] += change
                for second in range(count):
                    left[row, support[second]] -= change * gram[j, support[second]]
