"""Expected counts of latent moves along tensor trains: one step of expectation maximisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import (
    ArraySpec,
    CompleteColumns,
    State,
    SumStatistic,
    Workspace,
    positive_weight,
)
from bigtensor.statistics.folds import fold_of_block
from bigtensor.statistics.tensor_train.located_rows import RowLocator
from bigtensor.statistics.tensor_train.tabulated_train import TabulatedTrain


@dataclass(frozen=True, eq=False)
class TrainCountsResult:
    """Expected counts of every train, and mean log-densities.

    Attributes
    ----------
    sums : tuple of ((points + 1, r, r), (branchings, r, r, r)) float64 arrays
        Of the rows that are not held out, for every train: sums of latent states before a variable,
        and messages from the variables after it, over the density, at every point; and likewise at
        every branching.
    fitted, held_out : float
        Mean logarithm of the density, in nats, of the rows that count and of those held out; NaN
        without any.
    weight : float
        Of the rows that count.
    """

    sums: tuple[tuple[FloatArray, FloatArray], ...]
    fitted: float
    held_out: float
    weight: float


@dataclass(frozen=True, eq=False)
class TrainCounts(SumStatistic[TrainCountsResult]):
    """Sums over rows that the next cores of tensor trains follow from.

    Parameters
    ----------
    rows : RowLocator
        Function that locates rows at the points.
    trains : tuple of TabulatedTrain
        Matrices of every train.
    shares : (trains,) float64 array
        Weights of the trains in their mixture, whose log-density is summed.
    hold_out : int
        One in so many rows is held out, by its global index; 0 for none.
    random_state : int
        Seed of the random numbers.
    """

    rows: RowLocator
    trains: tuple[TabulatedTrain, ...]
    shares: FloatArray
    hold_out: int = 0
    random_state: int = 0

    block_rows: ClassVar[int] = 4096

    @property
    def complete(self) -> CompleteColumns:
        """Columns that are rotated."""
        return self.rows.complete

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        counts: dict[str, ArraySpec] = {}
        for k, train in enumerate(self.trains):
            counts[f"counts{k}"] = (train.points.shape, "float64")
            counts[f"branchings{k}"] = (train.branches.shape, "float64")
        return {**counts, "log_density": ((2,), "float64"), "weight": ((2,), "float64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        n = block.rows
        located = self.rows.located(block, work)
        arrays = {name: work.take(name, *spec) for name, spec in self._own(n).items()}
        weight, counted = arrays["counts.weight"], arrays["counts.counted"]
        block.write_weight(weight)
        counted[:] = weight
        if self.hold_out:
            folds = fold_of_block(block.without_halo(), self.hold_out, self.random_state)
            counted[folds == 0] = 0
        of_train, density = arrays["counts.log_density"], arrays["counts.mixture"]
        density[:] = -np.inf
        for k, (train, share) in enumerate(zip(self.trains, self.shares, strict=True)):
            sums = state[f"counts{k}"], state[f"branchings{k}"]
            train.add_counts(located, counted, sums, of_train, work)
            of_train += np.log(share)
            np.logaddexp(density, of_train, out=density)
        density += located.log_slope
        for place, part in enumerate((counted, weight - counted)):
            state["weight"][place] += part.sum()
            state["log_density"][place] += part @ np.where(part > 0, density, 0)

    def finalize(self, state: State) -> TrainCountsResult:
        """Divide the sums of log-densities by the weights.

        Raises
        ------
        DataError
            When no row has a positive weight.
        """
        weight = positive_weight(state["weight"][0], "densities")
        with np.errstate(invalid="ignore"):
            means = state["log_density"] / state["weight"]
        sums = tuple(
            (state[f"counts{k}"], state[f"branchings{k}"]) for k in range(len(self.trains))
        )
        return TrainCountsResult(sums, float(means[0]), float(means[1]), weight)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        of_train = max(buffers_nbytes(train.buffers) for train in self.trains)
        of_rows = buffers_nbytes({**self._own(rows), **self.rows.buffers(rows)})
        return of_train + of_rows + 16 * rows

    def _own(self, rows: int) -> Buffers:
        """Return the buffers of a block, without the buffers of its located rows."""
        names = ("weight", "counted", "log_density", "mixture")
        return {f"counts.{name}": ((rows,), "float64") for name in names}
