"""Missing values: rows with them are counted and left out in the pass that uses the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.rows.block import UNKNOWN_CODE, Block
from bigtensor.statistics.base import AroundStatistic, State, Statistic, Workspace

_Result = TypeVar("_Result", covariant=True)

LARGEST_VALUE = 1e150
"""Largest usable value. Sums of squares of larger values overflow."""

LARGEST_WEIGHT = 1e100
"""Sums over rows of squared weights stay finite below it."""

_NEVER = np.iinfo(np.int64).max
"""Stands in a state for the index of a row that was not met."""

_PREFIX = "validity/"

_COUNTS = ("rows", "dropped", "bad_weights", "cuts")

_FIRSTS = ("first_row", "first_bad_weight")

NamedFeatures: TypeAlias = Sequence[tuple[str, Sequence[str]]]
"""Name of every view with the names of its features."""

_OF_FIRST_ROW = ("first_column", "first_code")
"""Entries of the state for the first row that cannot be used. The code 0 stands for no code."""


@dataclass(frozen=True)
class Validity:
    """Counts of invalid rows, and the first of them.

    Attributes
    ----------
    rows : int
        Rows that were read.
    dropped : int
        Rows that were left out, for a value or for a weight.
    first_row : int, optional
        Global index of the first row with a value that is not finite or above `LARGEST_VALUE`; None
        when there is none.
    first_column : int, optional
        Position of the first such value in that row, over the features of all views.
    first_code : int, optional
        That value, which is negative, where the values are codes; None for other values.
    bad_weights : int
        Rows whose weight is negative, not finite or above `LARGEST_WEIGHT`.
    first_bad_weight : int, optional
        Global index of the first of them; None when there is none.
    cuts : int, default 0
        Places where a row that was left out follows a row of its sequence that was not. Counted for
        statistics that look at the rows after their own.
    """

    rows: int
    dropped: int
    first_row: int | None
    first_column: int | None
    bad_weights: int
    first_bad_weight: int | None
    cuts: int = 0
    first_code: int | None = None


@dataclass(frozen=True)
class Checked(AroundStatistic[tuple[Validity, _Result]], Generic[_Result]):
    """Shows another statistic the valid rows only, and counts the others.

    A row is valid when its values are finite and not above `LARGEST_VALUE`, and its weight is
    neither negative nor above `LARGEST_WEIGHT`. Dense integers are codes, and negative ones are
    missing, except that `UNKNOWN_CODE` is valid: statistics sum over it. Rows of a halo are left
    out likewise, and counted by the block that they belong to: `Block.window_starts` then leaves
    out every window that touches one.

    Parameters
    ----------
    statistic : Statistic
        Statistic that is shown the valid rows.
    marginalised : bool, default False
        Show missing codes and NaN to the statistic, which sums over them. NaN in columns that it
        needs complete are not shown.
    weighted : bool, default True
        False for a statistic of the rows alone: no weight makes a row invalid.
    """

    statistic: Statistic[_Result]
    marginalised: bool = False
    weighted: bool = True

    def init(self) -> State:
        """Return the inner state of zero rows with counts of zero."""
        state = {_PREFIX + name: np.zeros((), np.int64) for name in (*_COUNTS, *_OF_FIRST_ROW)}
        state.update({_PREFIX + name: np.array(_NEVER, np.int64) for name in _FIRSTS})
        return state | self.statistic.init()

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Count the rows that are not valid and add the others."""
        names = (*_COUNTS, *_OF_FIRST_ROW, *_FIRSTS)
        counts = {name: np.array(state.pop(_PREFIX + name)) for name in names}
        counts["rows"] += block.rows
        columns = self.complete.columns
        finite = usable_rows(block, work, marginalised=self.marginalised, complete=columns)
        weighted = _valid_weights(block, work) if self.weighted else None
        if finite is not None:
            _note_value(counts, block, finite, self.marginalised, columns)
        if weighted is not None:
            counts["bad_weights"] += np.count_nonzero(~weighted[: block.rows])
            _note_first(counts["first_bad_weight"], block, weighted)
        valid = finite if weighted is None else weighted
        if finite is not None and weighted is not None:
            valid = finite & weighted
        if valid is not None:
            counts["dropped"] += block.rows - np.count_nonzero(valid[: block.rows])
            # only a statistic that looks along sequences is shown what follows a block
            counts["cuts"] += _cuts(block, valid) if self.halo else 0
            block = block.keep(valid)
        self.statistic.update(state, block, work)
        state.update({_PREFIX + name: array for name, array in counts.items()})

    def combine(self, left: State, right: State) -> State:
        """Add the counts, keep the first rows, and combine the inner states."""
        state: State = {}
        for names, together in ((_COUNTS, np.add), (_FIRSTS, np.minimum)):
            for name in names:
                both = left[_PREFIX + name], right[_PREFIX + name]
                state[_PREFIX + name] = np.asarray(together(*both))
        earlier = left if left[_PREFIX + "first_row"] <= right[_PREFIX + "first_row"] else right
        for name in _OF_FIRST_ROW:
            state[_PREFIX + name] = np.array(earlier[_PREFIX + name])
        return state | self.statistic.combine(_inner(left), _inner(right))

    def finalize(self, state: State) -> tuple[Validity, _Result]:
        """Return the counts of missing values and the result of the valid rows."""
        names = (*_COUNTS, *_OF_FIRST_ROW, *_FIRSTS)
        number = {name: int(state[_PREFIX + name]) for name in names}
        has_invalid_value = number["first_row"] != _NEVER
        validity = Validity(
            rows=number["rows"],
            dropped=number["dropped"],
            first_row=number["first_row"] if has_invalid_value else None,
            first_column=number["first_column"] if has_invalid_value else None,
            bad_weights=number["bad_weights"],
            first_bad_weight=(
                None if number["first_bad_weight"] == _NEVER else number["first_bad_weight"]
            ),
            cuts=number["cuts"],
            first_code=number["first_code"] or None,
        )
        return validity, self.statistic.finalize(_inner(state))

    def state_nbytes(self) -> int:
        """Return the bytes of the inner state and of eight numbers."""
        return self.statistic.state_nbytes() + 8 * 8

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the inner workspace and of three masks."""
        return self.statistic.work_nbytes(rows) + 3 * (rows + self.statistic.halo)


def usable_rows(
    block: Block, work: Workspace, *, marginalised: bool, complete: Sequence[int] = ()
) -> NDArray[np.bool_] | None:
    """Return the rows and halo that can be used; None when all can.

    Parameters
    ----------
    block : Block
        Rows with a halo, if they have one.
    work : Workspace
        Buffers that are reused from block to block.
    marginalised : bool
        Rows with missing codes or NaN can be used.
    complete : sequence of int, optional
        Columns in which rows with NaN cannot be used.

    Returns
    -------
    (rows + halo,) bool array, optional
        A buffer of the workspace.
    """
    codes = isinstance(block.values, np.ndarray) and block.values.dtype.kind in "iu"
    if marginalised and codes:
        return None
    return finite_rows(block, work, marginalised=marginalised, complete=complete)


def finite_rows(
    block: Block, work: Workspace, *, marginalised: bool = False, complete: Sequence[int] = ()
) -> NDArray[np.bool_] | None:
    """Return the rows and halo whose values are finite and not too large; None if all are.

    Parameters
    ----------
    block : Block
        Dense or CSR values. Dense integers are codes, of which negative ones are missing. Integers
        in CSR values are counts.
    work : Workspace
        Buffers that are reused from block to block.
    marginalised : bool, default False
        NaN is usable.
    complete : sequence of int, optional
        Columns in which NaN is not.

    Returns
    -------
    (rows + halo,) bool array, optional
        A buffer of the workspace.
    """
    values = block.values
    shown = (int(values.shape[0]),)
    dense = isinstance(values, np.ndarray)
    numbers: NDArray[Any] = values if isinstance(values, np.ndarray) else values.data
    if _surely_usable(numbers, codes=dense):
        return None
    mask = work.take("validity.finite", shown, np.bool_)
    mask.fill(True)
    if isinstance(values, np.ndarray):
        column_mask = work.take("validity.column", shown, np.bool_)
        for column in range(values.shape[1]):
            usable = marginalised and column not in complete
            _usable(values[:, column], marginalised=usable, out=column_mask)
            np.logical_and(mask, column_mask, out=mask)
    else:
        bad = np.flatnonzero(~_usable(numbers, marginalised=marginalised))
        mask[np.searchsorted(values.indptr, bad, side="right") - 1] = False
    return None if mask.all() else mask


def _usable(
    numbers: NDArray[Any], *, marginalised: bool, out: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """Return True for codes that are not missing, and for numbers that are not too large."""
    if numbers.dtype.kind != "f":
        usable = np.asarray(np.greater_equal(numbers, 0, out=out))
        usable |= numbers == UNKNOWN_CODE
        return usable
    largest = min(LARGEST_VALUE, float(np.finfo(numbers.dtype).max))
    # every comparison with NaN is false
    if marginalised:
        return np.asarray(np.logical_not(np.abs(numbers) > largest, out=out))
    return np.asarray(np.less_equal(np.abs(numbers), largest, out=out))


def _surely_usable(numbers: NDArray[Any], *, codes: bool) -> bool:
    """Return True if the sum of squares shows that every number can be used."""
    if numbers.dtype.kind != "f":
        return not codes or numbers.dtype.kind != "i" or not numbers.size or numbers.min() >= 0
    with np.errstate(all="ignore"):
        if numbers.flags.c_contiguous:
            flat = numbers.reshape(-1)
            return float(np.dot(flat, flat)) <= LARGEST_VALUE**2
        return float(np.einsum("ij,ij", numbers, numbers)) <= LARGEST_VALUE**2


def _cuts(block: Block, valid: NDArray[np.bool_]) -> int:
    """Return how often a row that is left out follows a row of its sequence that is not."""
    last = min(block.rows, len(valid) - 1)
    cut = valid[:last] & ~valid[1 : last + 1]
    if block.sequence is not None:
        cut &= block.sequence[1 : last + 1] == block.sequence[:last]
    return int(np.count_nonzero(cut))


def _valid_weights(block: Block, work: Workspace) -> NDArray[np.bool_] | None:
    """Return the rows and halo whose weight can be used; None when all have one."""
    weight = block.weight
    if weight is None or not len(weight):
        return None
    # NaN makes the first comparison false
    if weight.min() >= 0 and weight.max() <= LARGEST_WEIGHT:
        return None
    mask = work.take("validity.weight", weight.shape, np.bool_)
    np.less_equal(weight, LARGEST_WEIGHT, out=mask)
    mask[weight < 0] = False
    return mask


def _note_first(first: IntArray, block: Block, mask: NDArray[np.bool_]) -> int:
    """Lower the index of the first invalid row; return that row's position in the block."""
    position = int(np.argmin(mask))
    if mask[position] or position >= block.rows:
        # only rows of the halo are invalid, which belong to another block
        return position
    first[...] = min(int(first), int(block.row_index()[position]))
    return position


def _note_value(
    counts: State,
    block: Block,
    finite: NDArray[np.bool_],
    marginalised: bool,
    complete: Sequence[int],
) -> None:
    """Remember the first row and column with a value that cannot be used, and its code."""
    before = int(counts["first_row"])
    position = _note_first(counts["first_row"], block, finite)
    if int(counts["first_row"]) < before:
        row = block.values[position : position + 1]
        row = row if isinstance(row, np.ndarray) else row.toarray()
        usable = _usable(row[0], marginalised=marginalised)
        usable[list(complete)] = _usable(row[0, list(complete)], marginalised=False)
        column = int(np.argmin(usable))
        counts["first_column"][...] = column
        counts["first_code"][...] = 0 if row.dtype.kind == "f" else row[0, column]


def _inner(state: State) -> State:
    """Return the arrays that belong to the inner statistic."""
    return {name: array for name, array in state.items() if not name.startswith(_PREFIX)}


def first_invalid(
    block: Block,
    finite: NDArray[np.bool_] | None,
    *,
    marginalised: bool = False,
    complete: Sequence[int] = (),
) -> Validity:
    """Return the findings of `usable_rows` in one block, as counts that can be added up."""
    if finite is None:
        return Validity(block.rows, 0, None, None, 0, None)
    counts = {name: np.zeros((), np.int64) for name in ("first_row", *_OF_FIRST_ROW)}
    counts["first_row"][...] = _NEVER
    _note_value(counts, block, finite, marginalised, complete)
    return Validity(
        rows=block.rows,
        dropped=int(np.count_nonzero(~finite[: block.rows])),
        first_row=int(counts["first_row"]),
        first_column=int(counts["first_column"]),
        bad_weights=0,
        first_bad_weight=None,
        first_code=int(counts["first_code"]) or None,
    )


def explain(validity: Validity, views: NamedFeatures) -> str:
    """Say how many rows were left out, and which row, feature or weight was the first.

    Parameters
    ----------
    validity : Validity
        Counts of a pass.
    views : sequence of (name, features)
        Views of the rows, one beside the other.
    """
    words = []
    if validity.first_row is not None and validity.first_column is not None:
        words.append(
            f"{validity.dropped:,} of {validity.rows:,} rows cannot be used; the first "
            f"{_unusable(validity.first_code)} is in row {validity.first_row:,}, "
            + _described(views, validity.first_column)
        )
    if validity.bad_weights:
        words.append(
            f"{validity.bad_weights:,} of {validity.rows:,} rows have a weight that is negative, "
            f"not finite or above {LARGEST_WEIGHT:.0e}; the first is row "
            f"{validity.first_bad_weight:,}"
        )
    return "; ".join(words)


def _described(views: NamedFeatures, position: int) -> str:
    """Describe a feature, with its place if it shares one of several views with others."""
    view, features, column = [
        (view, features, column) for view, features in views for column in range(len(features))
    ][position]
    words = f"feature {features[column]!r}"
    # one view of all features is not named by the user
    if len(features) == 1 or len(views) == 1:
        return words
    return f"{words} (column {column} of the view {view!r})"


def _unusable(code: int | None) -> str:
    """Describe a value that cannot be used. Measured values have no code."""
    if code is None:
        return f"value that is not finite (NaN, infinity or above {LARGEST_VALUE:.0e})"
    return "missing entry (no category, or a negative code)"
