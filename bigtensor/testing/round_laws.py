"""Laws of fits in rounds: prepare, accumulate, merge, solve, partial_fit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from bigtensor.errors import StatisticsError
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.statistics_file import Statistics, merge
from bigtensor.store import read_group
from bigtensor.testing.cases import ModelCase
from bigtensor.testing.comparison import expected_error, require, require_close
from bigtensor.testing.model_runs import model_law, require_close_answers, temporary_folder

MOST_COPIES = 0.02
"""Largest share of the rows that a preparation may hold. Kernel ICA holds up to 3 of 900."""


@model_law
def rounds_are_equal_for_any_split_of_the_rows(case: ModelCase) -> None:
    """Assert that merged sums of sites give the model of the sums of all rows, in every round.

    Rows in order have one site: a sequence ends where a site does.
    """
    model = _prepared(case)
    edges = [0, case.rows // 4, case.rows // 2, case.rows]
    if case.in_order:
        edges = [0, case.rows]
    for number in range(1, case.rounds + 1):
        if model.next_pass is None:
            return
        together = model.accumulate(case.data)
        if number == 1:
            _require_own_statistics(case, model, together.preparation)
        sites = [_sent(model).accumulate(case.data[first:last]) for first, last in pairwise(edges)]
        merged = merge(sites)
        require(merged.rows == case.rows, f"merged statistics are of {merged.rows} rows")
        sums = f"merged sums of {together.pass_name!r}"
        require_close(merged.state, together.state, case.rtol, sums)
        solved = _solved_from_a_file(_sent(model), merged)
        _require_close_if_solved(case, solved, model.solve(together), f"model of round {number}")


@model_law
def batches_add_up(case: ModelCase) -> None:
    """Assert that ``partial_fit`` of batches gives what one round gives for all rows.

    Rows in order are one batch.
    """
    at_once, in_batches = _prepared(case), _prepared(case)
    at_once.solve(at_once.accumulate(case.data))
    half = case.rows if case.in_order else case.rows // 2
    for batch in (case.data[:half], case.data[half:]):
        if not batch.shape[0]:
            continue
        in_batches.partial_fit(batch)
    rows = in_batches.statistics_.rows
    require(rows == case.rows, f"statistics_ are of {rows} rows of {case.rows}")
    _require_close_if_solved(case, in_batches, at_once, "model of two batches")


@model_law
def a_preparation_is_no_copy_of_the_rows(case: ModelCase) -> None:
    """Assert that a prepared model, which is sent to other sites, does not hold the rows.

    A few rows may be there: by default, the landmark of a cluster of one row is this row. Codes
    and counts are not looked at, because equal rows of them are frequent.
    """
    if case.samples.kind != "measured":
        return
    rows, arrays = np.asarray(case.data), _prepared(case).to_contents().arrays
    for precision in ("f4", "f8"):
        entries = {row.tobytes() for row in rows.astype(precision)}
        for name, values in arrays.items():
            table = np.asarray(values)
            if table.ndim != 2 or rows.shape[1] not in table.shape:
                continue
            table = table if table.shape[1] == rows.shape[1] else table.T
            copies = sum(row.tobytes() in entries for row in table.astype(precision, order="C"))
            share = copies / len(rows)
            require(share <= MOST_COPIES, f"{name} holds {copies} of {len(rows)} rows")


ROUND_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    rounds_are_equal_for_any_split_of_the_rows,
    batches_add_up,
    a_preparation_is_no_copy_of_the_rows,
)


def _prepared(case: ModelCase) -> Estimator:
    """Return a model that all rows prepared."""
    return case.make().prepare(case.data)


def _require_own_statistics(case: ModelCase, model: Estimator, preparation: str) -> None:
    """Raise an AssertionError unless statistics of another preparation are refused."""
    other = case.make().prepare(case.data[: case.rows // 2])
    if other.next_pass is None:
        return
    sums = other.accumulate(case.data)
    if sums.preparation == preparation:
        return
    with expected_error(StatisticsError, "solve with statistics of another preparation"):
        model.solve(sums)


def _sent(model: Estimator) -> Estimator:
    """Return a model as a site loads it."""
    with temporary_folder() as folder:
        return type(model).from_contents(read_group(model.save(folder / "prepared.zarr")))


def _solved_from_a_file(model: Estimator, sums: Statistics) -> Estimator:
    """Return the model after it was given statistics that were saved."""
    with temporary_folder() as folder:
        return model.solve(sums.save(folder / "statistics.zarr"))


def _require_close_if_solved(
    case: ModelCase, model: Estimator, reference: Estimator, what: str
) -> None:
    """Compare answers, of models that have a solution after this round."""
    one, other = _answers_if_solved(case, model), _answers_if_solved(case, reference)
    require(
        (one is None) == (other is None), f"{what}: one model has a solution, the other has none"
    )
    if one is not None and other is not None:
        require_close_answers(one, other, case, what)


def _answers_if_solved(case: ModelCase, model: Estimator) -> dict[str, Any] | None:
    """Return the answers of a model for every row, or None before it has a solution."""
    try:
        return case.answers_of(model, case.data)
    except NotFittedError:
        return None
