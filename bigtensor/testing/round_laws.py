"""Laws of fits in rounds: prepare, accumulate, merge, solve, partial_fit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from sklearn.exceptions import NotFittedError

from bigtensor.errors import StatisticsError
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.statistics_file import Statistics, merge
from bigtensor.store import read_group
from bigtensor.testing.cases import ModelCase
from bigtensor.testing.comparison import expected_error, require, require_close
from bigtensor.testing.model_runs import model_law, require_close_answers, temporary_folder


@model_law
def rounds_are_equal_for_any_split_of_the_rows(case: ModelCase) -> None:
    """Assert that merged sums of sites give the model of the sums of all rows, in every round.

    Rows in order have one site: a sequence ends where a site does.
    """
    model = _prepared(case)
    _require_own_statistics(case, model)
    edges = [0, case.rows // 4, case.rows // 2, case.rows]
    if case.in_order:
        edges = [0, case.rows]
    for number in range(1, case.rounds + 1):
        if model._rounds is None or model._rounds.next_pass is None:
            return
        together = model.accumulate(case.data)
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


ROUND_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    rounds_are_equal_for_any_split_of_the_rows,
    batches_add_up,
)


def _prepared(case: ModelCase) -> Estimator:
    """Return a model that all rows prepared."""
    return case.make().prepare(case.data)


def _require_own_statistics(case: ModelCase, model: Estimator) -> None:
    """Raise an AssertionError unless statistics of another preparation are refused."""
    other = case.make().prepare(case.data[: case.rows // 2])
    assert other._rounds is not None
    assert model._rounds is not None
    if other._rounds.digest == model._rounds.digest:
        return
    with expected_error(StatisticsError, "solve with statistics of another preparation"):
        model.solve(other.accumulate(case.data))


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
