"""Contributions of the variables to the log-density of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.tensor_train.log_densities import TrainTables

CONTRIBUTION = "contribution"
"""Name of the output."""


@dataclass(frozen=True, eq=False)
class Contributions(RowFunction):
    """Log-density of every entry given the entries before it along the train.

    Parameters
    ----------
    trains : TrainTables
        In coordinates without axes.
    order : (d,) int64 array
        Variables, in which they are added.
    """

    trains: TrainTables
    order: IntArray

    block_rows: ClassVar[int] = 1024

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """Contributions in nats, whose sum is the log-density; zero of a missing entry."""
        return (RowOutput(CONTRIBUTION, "float64", {"feature": len(self.order)}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the contributions of the rows of ``block``."""
        so_far = work.take("contributions.so_far", (2, block.rows), "float64")
        so_far[:] = 0
        variables = np.zeros(len(self.order), np.bool_)
        for j in self.order:
            variables[j] = True
            self.trains.write_log_densities_of(block, variables, so_far[1], work)
            np.subtract(so_far[1], so_far[0], out=out[CONTRIBUTION][:, j])
            so_far[0] = so_far[1]

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return self.trains.work_nbytes(rows) + 16 * rows
