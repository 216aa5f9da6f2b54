"""Table of the occupancy of the states by patient, file or other group of rows."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import xarray as xr

from bigtensor.models.answers.group_table import require_some_group
from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.hidden_markov.sequence_iterations import operators_of
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.group_occupancy import GroupOccupancy, GroupOccupancyResult
from bigtensor.statistics.sequences.transfer import Boundaries

TAKEN = ("state", "weight", "rows")
"""Names of the dimension and the variables of the table."""


def occupancy_passes(
    chain: HiddenChain, rows: int, n_groups: int, variable: str
) -> Generator[Pass[Any], Any, GroupOccupancyResult]:
    """Ask for the messages between blocks, and for the occupancy of every group.

    Parameters
    ----------
    chain : HiddenChain
        Hidden Markov chain with its emissions.
    rows : int
        Number of rows of the data.
    n_groups : int
        Number of groups.
    variable : str
        Names the second pass.
    """
    boundaries = yield Pass("messages", operators_of(chain, rows))
    occupancy: GroupOccupancyResult = yield Pass(
        f"occupancy by {variable}", GroupOccupancy(chain, boundaries, n_groups)
    )
    return occupancy


def planned_occupancy_passes(
    chain: HiddenChain, rows: int, n_groups: int, variable: str
) -> list[PlannedPass]:
    """Return upper bounds of the passes of `occupancy_passes`."""
    operators = operators_of(chain, rows)
    blocks = operators.most_entries
    nothing = np.zeros((blocks, chain.n_states))
    blank = Boundaries(np.arange(blocks), np.zeros(blocks, np.int8), nothing, nothing, 0)
    occupancy = Pass(f"occupancy by {variable}", GroupOccupancy(chain, blank, n_groups))
    return [
        PlannedPass(Pass("messages", operators), driver_nbytes=2 * operators.state_nbytes()),
        PlannedPass(occupancy, driver_nbytes=2 * nothing.nbytes),
    ]


def occupancy_table(
    occupancy: GroupOccupancyResult, variable: str, names: tuple[str, ...], attrs: dict[str, Any]
) -> xr.Dataset:
    """Return the shares of the groups that have rows of a positive weight.

    Parameters
    ----------
    occupancy : GroupOccupancyResult
        Sums of the smoothing probabilities over the rows of every group.
    variable : str
        Name of the variable that groups the rows.
    names : tuple of str
        Of the groups.
    attrs : dict
        Further attributes of the table.

    Raises
    ------
    DataError
        When there is no such group.
    """
    total = occupancy.mass.sum(axis=1)
    kept = total > 0
    require_some_group(kept, variable)
    return xr.Dataset(
        {
            "weight": ((variable, "state"), occupancy.mass[kept] / total[kept, None]),
            "rows": ((variable,), occupancy.rows[kept]),
        },
        {variable: np.array(names, dtype=str)[kept]},
        {
            **attrs,
            "method": "smoothing probabilities of the states",
            "rows_without": occupancy.rows_without,
        },
    )
