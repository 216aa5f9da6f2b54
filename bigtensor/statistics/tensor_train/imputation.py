"""Missing entries of rows, and one variable of every row, from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.features.modes import Mode, Nodes
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.row_keys import block_keys
from bigtensor.statistics.tensor_train.conditional_curves import (
    ConditionalCurves,
    ConditionalDensity,
)
from bigtensor.statistics.tensor_train.log_densities import TrainTables
from bigtensor.statistics.tensor_train.messages import message_buffers, messages_of

METHODS = ("mean", "median", "sample")

IMPUTED = "imputed"
"""Name of the output of `ImputedRows`."""

PREDICTION = "prediction"
"""Name of the output of `PredictedVariable`."""

PREDICTED = ("mean", "median", "lower", "upper")
"""Its numbers."""

_UNIFORM = 2.0**-64
"""Turns a key into a number between zero and one."""


@dataclass(frozen=True, eq=False)
class ImputedRows(RowFunction):
    """Rows whose missing entries are replaced by what the others say of them.

    Parameters
    ----------
    trains : TrainTables
        Mixture of tensor trains, in coordinates without axes.
    modes : tuple of Nodes or Symbols
        Of all variables.
    method : {"mean", "median", "sample"}
        Draws are of all missing entries of a row together, and depend on its index alone. A
        categorical variable has its most probable symbol in place of a mean or median.
    random_state : int
        Seed of the draws.
    """

    trains: TrainTables
    modes: tuple[Mode, ...]
    method: str
    random_state: int = 0

    block_rows: ClassVar[int] = 256

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The rows, in the order of the views."""
        return (RowOutput(IMPUTED, "float64", {"feature": len(self.modes)}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the rows of ``block`` without missing entries."""
        values = np.array(block.dense_values[: block.rows], np.float64)
        if block.dense_values.dtype.kind != "f":
            values[values < 0] = np.nan
        imputed = out[IMPUTED]
        np.copyto(imputed, values)
        for j, mode in enumerate(self.modes):
            rows = np.flatnonzero(np.isnan(values[:, j]))
            if not rows.size:
                continue
            # draws of later entries are given those of earlier ones
            evidence = imputed if self.method == "sample" else values
            shown = replace(
                block.keep(np.isin(np.arange(len(block.dense_values)), rows)), values=evidence[rows]
            )
            of_variable = ConditionalCurves(self.trains, j, mode)
            located = self.trains.rows.located(shown, work)
            messages = messages_of(self.trains, located, work)
            density = of_variable.write(messages, located, work)
            imputed[rows, j] = self._values(of_variable, density, shown)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        curves = max(
            buffers_nbytes(ConditionalCurves(self.trains, j, mode).buffers(rows))
            for j, mode in enumerate(self.modes)
        )
        copies = 8 * rows * (3 * len(self.modes) + 8)
        messages = buffers_nbytes(message_buffers(self.trains, rows))
        return curves + messages + copies + buffers_nbytes(self.trains.buffers(rows))

    def _values(
        self, of_variable: ConditionalCurves, density: ConditionalDensity, rows: Block
    ) -> FloatArray:
        """Return the entries that stand for missing ones of one variable."""
        if self.method == "sample":
            keys = block_keys(self.random_state, f"impute{of_variable.variable}", rows)
            return of_variable.quantiles(density, (keys.astype(np.float64) + 0.5) * _UNIFORM)
        if not isinstance(of_variable.mode, Nodes):
            return of_variable.most_probable(density)
        if self.method == "mean":
            return of_variable.means(density)
        return of_variable.quantiles(density, np.full(rows.rows, 0.5))


@dataclass(frozen=True, eq=False)
class PredictedVariable(RowFunction):
    """One variable of every row from the others, with an interval.

    Parameters
    ----------
    curves : ConditionalCurves
        Conditional density of the variable.
    interval : float
        Probability between the lower and the upper bound.
    """

    curves: ConditionalCurves
    interval: float

    block_rows: ClassVar[int] = 256

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """Mean (of a categorical variable the most probable symbol), median, and bounds."""
        return (RowOutput(PREDICTION, "float64", {"number": len(PREDICTED)}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the answers for the rows of ``block``."""
        trains = self.curves.trains
        located = trains.rows.located(block, work)
        density = self.curves.write(messages_of(trains, located, work), located, work)
        is_measured = isinstance(self.curves.mode, Nodes)
        numbers = out[PREDICTION]
        numbers[:, 0] = (
            self.curves.means(density) if is_measured else self.curves.most_probable(density)
        )
        below = (1 - self.interval) / 2
        for place, level in enumerate((0.5, below, 1 - below), 1):
            numbers[:, place] = self.curves.quantiles(density, np.full(block.rows, level))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        trains = self.curves.trains
        own = buffers_nbytes({**self.curves.buffers(rows), **message_buffers(trains, rows)})
        return own + buffers_nbytes(trains.rows.buffers(rows)) + 8 * 8 * rows
