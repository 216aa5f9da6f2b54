"""Messages from the entries of a row to the latent states of trains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.features.buffers import Buffers
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.tensor_train.located_rows import LocatedRows
from bigtensor.statistics.tensor_train.log_densities import TrainTables
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain


@dataclass(frozen=True, eq=False)
class TrainMessages:
    """Messages of the nodes of one train, for every row.

    Attributes
    ----------
    train : TabulatedTrain
        Train that the messages belong to.
    log_share : float
        Logarithm of the weight of the train in its mixture.
    below : (n, m, r) float64 array
        Density of the variables from a node on, by the state that enters it, with a sum of one.
    above : (n, m, r) float64 array
        Density of all other variables, by the same state, with a sum of one.
    logs : (n, m, 2) float64 array
        Logarithms of what both were divided by.
    """

    train: TabulatedTrain
    log_share: float
    below: FloatArray
    above: FloatArray
    logs: FloatArray

    def around(self, node: int, out: FloatArray) -> FloatArray:
        """Write the density of the other entries of a row, by the states at a variable.

        Parameters
        ----------
        node : int
            Of a variable.
        out : (n, r, r) float64 array
            By the state that enters the variable, and the state that leaves it.

        Returns
        -------
        (n,) float64 array
            Logarithms of what `out` was divided by.
        """
        child = self.train.nodes[node, 1]
        log = self.logs[:, node, 1] + self.log_share
        if child < 0:
            out[:] = 0
            out[:, :, 0] = self.above[:, node]
            return np.asarray(log)
        np.multiply(self.above[:, node, :, None], self.below[:, child, None, :], out=out)
        return np.asarray(log + self.logs[:, child, 0])


def messages_of(
    tables: TrainTables, located: LocatedRows, work: Workspace
) -> tuple[TrainMessages, ...]:
    """Return the messages of every train, in buffers of the workspace.

    Parameters
    ----------
    tables : TrainTables
        Mixture of tensor trains.
    located : LocatedRows
        Rows at their points.
    work : Workspace
        Buffers that are reused from block to block.
    """
    buffers = message_buffers(tables, len(located.point))
    messages = []
    for k, (train, share) in enumerate(zip(tables.trains, tables.shares, strict=True)):
        below, above, logs = (
            work.take(f"messages.{name}{k}", *buffers[f"messages.{name}{k}"])
            for name in ("below", "above", "logs")
        )
        train.write_above(located, below, above, logs, work)
        messages.append(TrainMessages(train, float(np.log(share)), below, above, logs))
    return tuple(messages)


def message_buffers(tables: TrainTables, rows: int) -> Buffers:
    """Return the buffers of the messages of ``rows`` rows."""
    buffers = dict(tables.train_buffers)
    for k, train in enumerate(tables.trains):
        m, r = len(train.nodes), train.points.shape[1]
        buffers[f"messages.below{k}"] = ((rows, m, r), "float64")
        buffers[f"messages.above{k}"] = ((rows, m, r), "float64")
        buffers[f"messages.logs{k}"] = ((rows, m, 2), "float64")
    return buffers
