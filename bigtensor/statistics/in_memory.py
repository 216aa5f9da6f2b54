"""Statistics and functions of rows that the driver holds, without the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Result, RowFunction, Statistic, Workspace
from bigtensor.statistics.sub_blocks import sub_blocks


def sum_in_memory(
    statistic: Statistic[Result], rows: Block, work: Workspace | None = None
) -> Result:
    """Return the result of a statistic over a few rows, such as a pilot sample.

    Parameters
    ----------
    statistic : Statistic
        Statistic to compute.
    rows : Block
        All rows, as one block.
    work : Workspace, optional
        Buffers of the caller, who computes the statistic again and again.
    """
    state = statistic.init()
    work = Workspace() if work is None else work
    for _, block in sub_blocks(rows, statistic.block_rows, statistic.halo):
        statistic.update(state, block, work)
    return statistic.finalize(state)


def outputs_in_memory(function: RowFunction, rows: Block) -> dict[str, NDArray[Any]]:
    """Return the outputs of a function for a few rows, by name: ``(rows, ...)`` each.

    Parameters
    ----------
    function : RowFunction
        Function of the rows.
    rows : Block
        All rows, as one block.
    """
    arrays = {
        output.name: np.empty((rows.rows, *output.dims.values()), output.dtype)
        for output in function.outputs
    }
    work = Workspace()
    for window, block in sub_blocks(rows, function.block_rows):
        function.evaluate(block, {name: array[window] for name, array in arrays.items()}, work)
    return arrays
