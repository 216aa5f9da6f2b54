"""Laws of row functions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.data.rows.block import Block
from bigtensor.data.rows.data_like import DataLike
from bigtensor.statistics.base import RowFunction, Workspace
from bigtensor.testing.cases import RowFunctionCase, uneven_cut
from bigtensor.testing.comparison import law, require, require_close, require_same

SINGLE_RTOL = 1e-5
"""Least tolerance of outputs in float32."""


@law
def every_entry_is_written(case: RowFunctionCase) -> None:
    """Assert that ``evaluate`` writes all outputs of all rows."""
    borders = [0, case.block.rows]
    zeros, ones = (evaluated(case.function, case.block, borders, fill=fill) for fill in (0, 1))
    require_same(zeros, ones, "outputs in arrays of zeros against arrays of ones")


@law
def any_cut_gives_the_same_answers(case: RowFunctionCase) -> None:
    """Assert that a row has the same answer in every block."""
    whole = evaluated(case.function, case.block, [0, case.block.rows])
    parts = evaluated(case.function, case.block, uneven_cut(case.block.rows))
    for name, array in whole.items():
        rtol = max(case.rtol, SINGLE_RTOL) if array.dtype == np.float32 else case.rtol
        require_close({name: parts[name]}, {name: array}, rtol, "output of several blocks")


@law
def a_block_is_not_modified(case: RowFunctionCase) -> None:
    """Assert that ``evaluate`` writes into the outputs only."""
    block = copy.deepcopy(case.block)
    evaluated(case.function, block, uneven_cut(block.rows))
    values, original = ({"values": _dense(one.values)} for one in (block, case.block))
    require_same(values, original, "block after evaluate")


@law
def a_used_workspace_changes_nothing(case: RowFunctionCase) -> None:
    """Assert that answers do not depend on the blocks that the workspace was used for before."""
    borders, work = [0, case.block.rows], Workspace()
    first = evaluated(case.function, case.block, uneven_cut(case.block.rows), work)
    require(set(first) == {output.name for output in case.function.outputs}, "outputs are missing")
    again = evaluated(case.function, case.block, borders, work)
    fresh = evaluated(case.function, case.block, borders)
    require_same(again, fresh, "output with a workspace that was used before")


@law
def a_pickled_copy_gives_the_same_answers(case: RowFunctionCase) -> None:
    """Assert that the row function is sent to workers."""
    copied, borders = pickle.loads(pickle.dumps(case.function)), [0, case.block.rows]
    require_same(
        evaluated(copied, case.block, borders),
        evaluated(case.function, case.block, borders),
        "output of the copy",
    )


@law
def the_declared_workspace_holds(case: RowFunctionCase) -> None:
    """Assert that the plan of a prediction is computed from ``work_nbytes(rows)``."""
    work, rows = Workspace(), case.block.rows
    evaluated(case.function, case.block, [0, rows], work)
    declared = case.function.work_nbytes(rows)
    require(
        work.nbytes <= declared,
        f"the workspace holds {work.nbytes:,} bytes, work_nbytes({rows}) is {declared:,}",
    )


ROW_FUNCTION_LAWS: tuple[Callable[[RowFunctionCase], None], ...] = (
    every_entry_is_written,
    any_cut_gives_the_same_answers,
    a_block_is_not_modified,
    a_used_workspace_changes_nothing,
    a_pickled_copy_gives_the_same_answers,
    the_declared_workspace_holds,
)
"""Laws of row functions: functions of a `RowFunctionCase`."""


def check_row_function(function: RowFunction, rows: Block | DataLike, **settings: Any) -> None:
    """Hold a row function to all laws.

    Parameters
    ----------
    function : RowFunction
        Row function under test.
    rows : Block, or whatever `bigtensor.open_samples` takes
        A few hundred rows without missing values.
    **settings
        Further attributes of `RowFunctionCase`.

    Raises
    ------
    AssertionError
        With the name of the first law that is broken, and the numbers.
    """
    case = RowFunctionCase(function, rows, **settings)
    for holds in ROW_FUNCTION_LAWS:
        holds(case)


def evaluated(
    function: RowFunction,
    block: Block,
    borders: list[int],
    work: Workspace | None = None,
    fill: int = 0,
) -> dict[str, Any]:
    """Return all outputs of the rows of a block, evaluated between borders."""
    work = work or Workspace()
    out = {
        output.name: np.full((block.rows, *output.dims.values()), fill, output.dtype)
        for output in function.outputs
    }
    for first, last in pairwise(borders):
        part = {name: array[first:last] for name, array in out.items()}
        function.evaluate(block.window(first, last), part, work)
    return out


def _dense(values: NDArray[Any] | csr_array) -> NDArray[Any]:
    """Return dense values."""
    return values if isinstance(values, np.ndarray) else values.toarray()
