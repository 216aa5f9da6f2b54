"""Posterior probabilities of the latent states of every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.statistics.base import CompleteColumns, RowFunction, RowOutput, Workspace
from bigtensor.statistics.tensor_train.log_densities import TrainTables
from bigtensor.statistics.tensor_train.messages import message_buffers, messages_of

POSTERIOR = "posterior"
"""Name of the output."""


@dataclass(frozen=True, eq=False)
class StatePosteriors(RowFunction):
    """Probability of every train, and of the state at every link of its nodes, given a row.

    Parameters
    ----------
    trains : TrainTables
        With the same nodes, more than one.
    """

    trains: TrainTables

    block_rows: ClassVar[int] = 256

    @property
    def complete(self) -> CompleteColumns:
        """Columns that are rotated."""
        return self.trains.rows.complete

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """Probabilities that sum to one over trains and states at every link."""
        first = self.trains.trains[0]
        dims = {
            "train": len(self.trains.trains),
            "link": len(first.nodes) - 1,
            "state": max(train.points.shape[1] for train in self.trains.trains),
        }
        return (RowOutput(POSTERIOR, "float64", dims),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the probabilities of the rows of ``block``; NaN of rows that have no density."""
        located = self.trains.rows.located(block, work)
        messages = messages_of(self.trains, located, work)
        posterior = out[POSTERIOR]
        posterior[:] = 0
        # what is below the first node is the density of the row
        of_train = softmax([one.logs[:, 0, 0] + one.log_share for one in messages], axis=0)
        for k, one in enumerate(messages):
            r = one.below.shape[2]
            both = posterior[:, k, :, :r]
            np.multiply(one.below[:, 1:], one.above[:, 1:], out=both)
            both *= (of_train[k][:, None] / both.sum(axis=2))[:, :, None]
        posterior[np.isnan(located.log_slope)] = np.nan

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        messages = buffers_nbytes(message_buffers(self.trains, rows))
        (output,) = self.outputs
        sums = 2 * 8 * rows * output.dims["train"] * (output.dims["link"] + 2)
        return messages + sums + buffers_nbytes(self.trains.buffers(rows))
