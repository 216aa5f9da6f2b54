"""A statistic of rows that the driver holds, without the engine."""

from __future__ import annotations

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Result, Statistic, Workspace
from bigtensor.statistics.sub_blocks import sub_blocks


def sum_in_memory(statistic: Statistic[Result], rows: Block) -> Result:
    """Return the result of a statistic over a few rows, such as a pilot sample.

    Parameters
    ----------
    statistic : Statistic
        Statistic to compute.
    rows : Block
        All rows, as one block.
    """
    state, work = statistic.init(), Workspace()
    for _, block in sub_blocks(rows, statistic.block_rows, statistic.halo):
        statistic.update(state, block, work)
    return statistic.finalize(state)
