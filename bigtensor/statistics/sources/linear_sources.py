"""Linear functions of every row, such as sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace

SOURCE = "source"
"""Name of the output."""


@dataclass(frozen=True, eq=False)
class LinearSources(RowFunction):
    """Sources of every row: the centred row times a matrix.

    Parameters
    ----------
    unmixing : (d, k) float64 array
        Matrix that centred rows are multiplied by.
    mean : (d,) float64 array
        Point that is subtracted from the rows.
    dtype : str
        Of the sources.
    """

    unmixing: FloatArray
    mean: FloatArray
    dtype: str

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The sources, one a component."""
        return (RowOutput(SOURCE, self.dtype, {"component": self.unmixing.shape[1]}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the sources of the rows of ``block``."""
        centred, sources = work.take_all(self._buffers(block.rows))
        np.subtract(block.dense_values[: block.rows], self.mean, out=centred)
        np.matmul(centred, self.unmixing, out=sources)
        np.copyto(out[SOURCE], sources, casting="same_kind")

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return buffers_nbytes(self._buffers(rows))

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a block."""
        d, k = self.unmixing.shape
        return {
            "sources.centred": ((rows, d), "float64"),
            "sources.product": ((rows, k), "float64"),
        }
