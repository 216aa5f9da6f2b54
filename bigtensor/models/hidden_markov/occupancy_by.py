"""Table of the occupancy of the states by patient, file or other group of rows."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol, Unpack

import numpy as np
import numpy.typing as npt
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.errors import ParameterError, Setting
from bigtensor.models.answers.group_table import (
    check_table_variable,
    require_some_group,
    warn_of_absent_weights,
)
from bigtensor.models.contract.opening_for_answers import KnowsFeatures, open_with_groups
from bigtensor.models.contract.run import RunOptions, RunsPasses
from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.hidden_markov.sequence_iterations import operators_of
from bigtensor.models.hidden_markov.solution import MarkovFit
from bigtensor.statistics.base import Pass
from bigtensor.statistics.sequences.chain import HiddenChain
from bigtensor.statistics.sequences.group_occupancy import GroupOccupancy, GroupOccupancyResult
from bigtensor.statistics.sequences.transfer import Boundaries

TAKEN = ("state", "weight", "rows")
"""Names of the dimension and the variables of the table."""


class TellsOccupancy(RunsPasses, KnowsFeatures, Protocol):
    """A fitted hidden Markov model."""

    diagnostics_: dict[str, Any]

    def _solution(self) -> MarkovFit:
        """Return the solution, or raise sklearn's NotFittedError."""

    def warn_of_rows(self, samples: Any) -> None:
        """Warn of ids of sequences that come back, and of dates that do not ascend."""

    def output_attrs(self) -> dict[str, Any]:
        """Return the attributes of every labelled output."""


def weights_by(
    self: TellsOccupancy,
    X: DataLike,
    by: str | RowVariableLike = "sample_id",
    *,
    sample_weight: RowVariableLike | None = None,
    level: str | None = None,
    sequence: str | RowVariableLike | None = None,
    lengths: npt.ArrayLike | None = None,
    **options: Unpack[RunOptions],
) -> xr.Dataset:
    """Return the occupancy of the states in every subject, file or other group of rows.

    The share of a state is the mean of its probabilities given all rows of a sequence, over the
    rows of the group: one pass for messages between blocks, and one for the sums. Transitions of
    the fit are used for every group, so that shares of short sequences are drawn towards the shares
    of the fit.

    Parameters
    ----------
    X : path, xarray, dask array or array-like, or a list of these
        As for `predict`.
    by : str, or (rows,) array-like, default "sample_id"
        A variable of ``X`` along the samples, such as ``"sequence"``, or a column of a table, which
        is no feature unless the fit had it as one: integer codes with the attribute
        ``categories``, or names, strings or numbers. For data in memory also the group of every
        row. Negative whole numbers, NaN and empty strings stand for none.
    sample_weight : (rows,) array-like, optional
        As for `fit`. By default the weights that are stored with the data.
    level : None
        States are not merged.
    sequence, lengths : optional
        As for `predict`.
    **options
        As for `fit`: ``client``, ``scheduler``, ``workers``, ``memory_limit``,
        ``wait_for_workers``, ``checkpoint``, ``listeners``.

    Returns
    -------
    Dataset
        ``weight`` (by, state) float64, every row of which sums to one, and ``rows`` (by,) int64,
        with the names or numbers of the groups as the coordinate ``by``. Groups without a row, or
        whose rows all have the weight zero, are left out. There are no standard errors, because
        rows of a sequence are dependent. The attribute ``rows_without`` counts rows without a
        group.

    Raises
    ------
    DataError
        When there is no such variable, it is a measurement, or no row can be used.
    ParameterError
        When a level is asked for.

    Warns
    -----
    SequenceWarning
        When ids of sequences come back after another sequence, or dates go back.
    WeightWarning
        When the rows of the fit had weights, and these rows have none.
    """
    if level is not None:
        raise ParameterError(
            "states of a HiddenMarkovModel are not merged; leave out " + Setting("level", level)
        )
    chain = self._solution().chain()
    samples = open_with_groups(self, X, by, sequence, lengths, sample_weight=sample_weight)
    assert samples.groups is not None
    warn_of_absent_weights(self, samples)
    self.warn_of_rows(samples)
    variable, groups = samples.groups.variable, len(samples.groups.names)
    check_table_variable(variable, TAKEN)
    script = occupancy_passes(chain, samples.rows, groups, variable)
    planned = planned_occupancy_passes(chain, samples.rows, groups, variable)
    occupancy = self.run_passes(samples, script, planned, **options).result
    return occupancy_table(occupancy, variable, samples.groups.labels, self.output_attrs())


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
    occupancy: GroupOccupancyResult, variable: str, labels: NDArray[Any], attrs: dict[str, Any]
) -> xr.Dataset:
    """Return the shares of the groups that have rows of a positive weight.

    Parameters
    ----------
    occupancy : GroupOccupancyResult
        Sums of the smoothing probabilities over the rows of every group.
    variable : str
        Name of the variable that groups the rows.
    labels : (groups,) array
        Names or numbers of the groups.
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
        {variable: labels[kept]},
        {
            **attrs,
            "method": "smoothing probabilities of the states",
            "rows_without": occupancy.rows_without,
        },
    )
