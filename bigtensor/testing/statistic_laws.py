"""Laws of statistics."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from bigtensor.data.rows.block import Block
from bigtensor.data.rows.data_like import DataLike
from bigtensor.engine.checkpoint import content_key
from bigtensor.statistics.base import State, Statistic, Workspace
from bigtensor.testing.cases import StatisticCase, cut_blocks
from bigtensor.testing.comparison import law, require, require_close, require_same

COMBINED_RTOL = 1e-10
"""Tolerance of states that were combined in another order: sums are float64."""


@law
def the_initial_state_is_the_identity(case: StatisticCase) -> None:
    """Assert that ``init()`` is the state of zero rows: combining with it changes nothing."""
    state = summed(case.statistic, [case.block])
    for combined in (
        case.statistic.combine(case.statistic.init(), state),
        case.statistic.combine(state, case.statistic.init()),
    ):
        require_same(case.ordered(combined), case.ordered(state), "state combined with init()")


@law
def combine_is_associative(case: StatisticCase) -> None:
    """Assert that states may be combined in any order of the brackets."""
    a, b, c = _thirds(case)
    combine = case.statistic.combine
    left, right = combine(combine(a, b), c), combine(a, combine(b, c))
    rtol = min(case.rtol, COMBINED_RTOL)
    require_close(case.ordered(left), case.ordered(right), rtol, "(a + b) + c against a + (b + c)")


@law
def combine_is_pure(case: StatisticCase) -> None:
    """Assert that ``combine`` leaves both states alone, also when its result is added to."""
    parts = _thirds(case)
    before = copy.deepcopy(parts)
    combined = case.statistic.combine(parts[0], parts[1])
    combined = case.statistic.combine(combined, parts[2])
    case.statistic.update(combined, case.block, Workspace())
    for part, old in zip(parts, before, strict=True):
        require_same(part, old, "state after it was combined")


@law
def any_cut_gives_the_same(case: StatisticCase) -> None:
    """Assert that any cut of the rows into blocks, in one task or several, gives the same state."""
    blocks = cut_blocks(case.block, case.cut, case.statistic.halo)
    whole = case.ordered(summed(case.statistic, [case.block]))
    in_one_task = summed(case.statistic, blocks)
    require_close(case.ordered(in_one_task), whole, case.rtol, "state of several blocks")
    state = case.statistic.init()
    for block in blocks:
        state = case.statistic.combine(state, summed(case.statistic, [block]))
    require_close(case.ordered(state), whole, case.rtol, "combined states of several blocks")


@law
def an_empty_block_changes_nothing(case: StatisticCase) -> None:
    """Assert that a block without a row, with or without a halo, changes no bit of a state."""
    state = summed(case.statistic, [case.block])
    before = copy.deepcopy(state)
    for halo in {0, case.statistic.halo}:
        case.statistic.update(state, case.block.window(0, 0, halo), Workspace())
    require_same(state, before, "state after an empty block")


@law
def blocks_are_not_modified(case: StatisticCase) -> None:
    """Assert that ``update`` writes into the state only."""
    block = copy.deepcopy(case.block)
    summed(case.statistic, cut_blocks(block, case.cut, case.statistic.halo))
    require_same(_arrays(block), _arrays(case.block), "block after update")


@law
def the_state_keeps_no_window_on_a_block(case: StatisticCase) -> None:
    """Assert that the next block is read into the same buffer, and the workspace is used again."""
    block, work = copy.deepcopy(case.block), Workspace()
    state = summed(case.statistic, [block], work)
    before = copy.deepcopy(state)
    for name in {"values", "data", "weight"} & {*_arrays(block)}:
        array = _arrays(block)[name]
        array[...] = array[::-1].copy()
    summed(case.statistic, [block], work)
    require_same(state, before, "state after the buffers of its block were filled again")


@law
def only_the_rows_of_a_block_count(case: StatisticCase) -> None:
    """Assert that what lies after the rows of a block is a halo, which adds nothing by itself."""
    if case.statistic.halo:
        return
    half = case.block.rows // 2
    alone = summed(case.statistic, [case.block.window(0, half)])
    shown = summed(case.statistic, [case.block.window(0, half, case.block.rows)])
    require_close(
        case.ordered(shown), case.ordered(alone), case.rtol, "state of a block that shows more rows"
    )


@law
def a_pickled_copy_gives_the_same_bits(case: StatisticCase) -> None:
    """Assert that the statistic can be pickled, and its copy has the same name in a checkpoint."""
    copied = pickle.loads(pickle.dumps(case.statistic))
    require(
        (copied.block_rows, copied.halo) == (case.statistic.block_rows, case.statistic.halo),
        f"the copy wants blocks of {copied.block_rows} rows with a halo of {copied.halo}",
    )
    if case.in_checkpoints:
        require(
            content_key(copied) == content_key(case.statistic),
            "the digest of the copy is another one, so that no checkpoint would be found again",
        )
    blocks = cut_blocks(case.block, case.cut, case.statistic.halo)
    require_same(summed(copied, blocks), summed(case.statistic, blocks), "state of the copy")


@law
def declared_sizes_hold(case: StatisticCase) -> None:
    """Assert that the plan is computed from ``state_nbytes()`` and ``work_nbytes(rows)``."""
    work, borders = Workspace(), case.cut
    state = summed(case.statistic, cut_blocks(case.block, borders, case.statistic.halo), work)
    held, declared = sum(array.nbytes for array in state.values()), case.statistic.state_nbytes()
    require(held <= declared, f"the state holds {held:,} bytes, state_nbytes() is {declared:,}")
    largest = int(np.diff(borders).max())
    declared = case.statistic.work_nbytes(largest)
    require(
        work.nbytes <= declared,
        f"the workspace holds {work.nbytes:,} bytes, work_nbytes({largest}) is {declared:,}",
    )


@law
def a_weight_of_two_is_a_row_twice(case: StatisticCase) -> None:
    """Assert that weights count rows, unless the case says that they do not."""
    # rows that are repeated in place give other windows
    if case.unweighted is None or case.statistic.halo:
        return
    block, rows = case.block, case.block.rows
    once = block.window(0, rows)
    heavy = replace(once, weight=np.full(rows, 2.0))
    twice = np.repeat(np.arange(rows), 2)
    repeated = replace(
        once,
        values=once.values[twice],
        rows=2 * rows,
        weight=None,
        sequence=None if once.sequence is None else once.sequence[twice],
        group=None if once.group is None else once.group[twice],
        index=None,
    )
    counted = [
        {name: array for name, array in state.items() if not name.endswith(case.unweighted)}
        for state in (summed(case.statistic, [part]) for part in (heavy, repeated))
    ]
    what = "state of rows of weight two against repeated rows"
    require_close(counted[0], counted[1], case.rtol, what)


STATISTIC_LAWS: tuple[Callable[[StatisticCase], None], ...] = (
    the_initial_state_is_the_identity,
    combine_is_associative,
    combine_is_pure,
    any_cut_gives_the_same,
    an_empty_block_changes_nothing,
    blocks_are_not_modified,
    the_state_keeps_no_window_on_a_block,
    only_the_rows_of_a_block_count,
    a_pickled_copy_gives_the_same_bits,
    declared_sizes_hold,
    a_weight_of_two_is_a_row_twice,
)
"""Laws of statistics: functions of a `StatisticCase`. A law that does not concern a case holds."""


def check_statistic(statistic: Statistic[Any], rows: Block | DataLike, **settings: Any) -> None:
    """Hold a statistic to all laws.

    Parameters
    ----------
    statistic : Statistic
        Statistic under test.
    rows : Block, or whatever `bigtensor.open_samples` takes
        A few hundred rows.
    **settings
        Further attributes of `StatisticCase`.

    Raises
    ------
    AssertionError
        With the name of the first law that is broken, and the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtensor.statistics.moments.covariances import Covariances
    >>> from bigtensor.testing import check_statistic
    >>> rows = np.random.default_rng(0).normal(size=(300, 2))
    >>> check_statistic(Covariances(((0, 2),), np.zeros(2), "float64"), rows)
    """
    case = StatisticCase(statistic, rows, **settings)
    for holds in STATISTIC_LAWS:
        holds(case)


def summed(
    statistic: Statistic[Any], blocks: Iterable[Block], work: Workspace | None = None
) -> State:
    """Return the state of consecutive blocks in one task."""
    state, work = statistic.init(), work or Workspace()
    for block in blocks:
        statistic.update(state, block, work)
    return state


def _thirds(case: StatisticCase) -> list[State]:
    """Return the states of three parts of the rows."""
    rows = case.block.rows
    blocks = cut_blocks(case.block, [0, rows // 4, 2 * rows // 3, rows], case.statistic.halo)
    return [summed(case.statistic, [block]) for block in blocks]


def _arrays(block: Block) -> dict[str, Any]:
    """Return the arrays that a block is a window on."""
    values = block.values
    parts = {name: getattr(block, name) for name in ("weight", "sequence", "group", "index")}
    if hasattr(values, "indptr"):
        parts |= {name: getattr(values, name) for name in ("data", "indices", "indptr")}
    else:
        parts["values"] = values
    return {name: array for name, array in parts.items() if array is not None}
