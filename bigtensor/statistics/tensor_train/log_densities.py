"""Log-densities of rows under a mixture of tensor trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import CompleteColumns, RowFunction, RowOutput, Workspace
from bigtensor.statistics.tensor_train.gaussian_part import GaussianPart
from bigtensor.statistics.tensor_train.located_rows import LocatedRows, RowLocator
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain

LOG_DENSITY = "log_density"
"""Name of the output."""


@dataclass(frozen=True, eq=False)
class TrainTables:
    """Mixture of tensor trains, with the function of rows that they are looked up with.

    Attributes
    ----------
    rows : RowLocator
        Function that locates rows at the points.
    trains : tuple of TabulatedTrain
        Matrices of every train.
    shares : (trains,) float64 array
        Weights of the trains in their mixture.
    gaussian : GaussianPart, optional
        Gaussian components beside the trains.
    gaussian_share : float
        Weight of the Gaussian components, beside the one of the trains.
    """

    rows: RowLocator
    trains: tuple[TabulatedTrain, ...]
    shares: FloatArray
    gaussian: GaussianPart | None = None
    gaussian_share: float = 0.0

    def write_log_densities(self, located: LocatedRows, out: FloatArray, work: Workspace) -> None:
        """Write the log-density of located rows, in the units of the data."""
        (n,) = out.shape
        of_train = work.take("densities.of_train", (n,), "float64")
        out[:] = -np.inf
        for train, share in zip(self.trains, self.shares, strict=True):
            train.write_log_densities(located, of_train, work)
            of_train += np.log(share)
            np.logaddexp(out, of_train, out=out)
        if self.gaussian is not None:
            out += np.log1p(-self.gaussian_share)
            of_gaussian = self.gaussian.log_densities(located)
            np.logaddexp(out, of_gaussian + np.log(self.gaussian_share), out=out)
        out += located.log_slope

    def write_log_densities_of(
        self, block: Block, variables: NDArray[np.bool_], out: FloatArray, work: Workspace
    ) -> None:
        """Write the log-density of some variables of the rows of a block.

        Parameters
        ----------
        block : Block
            Rows of data.
        variables : (d,) bool array
            Variables of the density; all others are summed over.
        out : (n,) float64 array
            Receives the log-densities, in nats.
        work : Workspace
            Buffers that are reused from block to block.
        """
        if not variables.all():
            values = work.take("densities.variables", (block.rows, len(variables)), "float64")
            np.copyto(values, block.dense_values[: block.rows])
            if block.dense_values.dtype.kind != "f":
                values[values < 0] = np.nan
            values[:, ~variables] = np.nan
            block = replace(block.without_halo(), values=values)
        self.write_log_densities(self.rows.located(block, work), out, work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace of log-densities of some variables."""
        return buffers_nbytes(self.buffers(rows)) + 8 * rows * (len(self.rows.locator.first) - 1)

    def buffers(self, rows: int) -> Buffers:
        """Return the buffers of blocks of ``rows`` rows."""
        # arrays of the Gaussian components, by component and by variable
        numbers = 0
        if self.gaussian is not None:
            k, m = self.gaussian.means.shape
            numbers = 8 * (min(rows, self.gaussian.tile_rows) * k + rows * m)
        own: Buffers = {
            "densities.of_train": ((rows,), "float64"),
            "densities.gaussian": ((numbers,), "float64"),
        }
        return {**own, **self.train_buffers, **self.rows.buffers(rows)}

    @property
    def train_buffers(self) -> Buffers:
        """Buffers of the largest train, for any number of rows."""
        return max((train.buffers for train in self.trains), key=buffers_nbytes)


@dataclass(frozen=True, eq=False)
class LogDensities(RowFunction):
    """Log-density of some variables given others, in nats.

    Parameters
    ----------
    trains : TrainTables
        Mixture of tensor trains.
    variables : (d,) bool array
        Variables whose density is asked for.
    conditions : (d,) bool array
        Variables that are conditioned on; all others are summed over.
    """

    trains: TrainTables
    variables: NDArray[np.bool_]
    conditions: NDArray[np.bool_]

    block_rows: ClassVar[int] = 4096

    @property
    def complete(self) -> CompleteColumns:
        """Columns that are rotated."""
        return self.trains.rows.complete

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The log-density."""
        return (RowOutput(LOG_DENSITY, "float64"),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the log-densities of the rows of ``block``."""
        log_density = out[LOG_DENSITY]
        self.trains.write_log_densities_of(
            block, self.variables | self.conditions, log_density, work
        )
        if self.conditions.any():
            rest = work.take("densities.conditions", log_density.shape, "float64")
            self.trains.write_log_densities_of(block, self.conditions, rest, work)
            log_density -= rest

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return self.trains.work_nbytes(rows) + 8 * rows
