"""Laws of fits: plan, parts of the rows, workers, checkpoints, files, missing rows."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from bigtensor.data.rows.data_like import DataLike
from bigtensor.errors import MissingValueError, MissingValueWarning, ParameterError
from bigtensor.models.contract.estimator import Estimator
from bigtensor.models.contract.run import run_script
from bigtensor.models.contract.script import PlannedPass, Script
from bigtensor.statistics.base import Pass
from bigtensor.store import read_group
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import expected_error, require
from bigtensor.testing.model_runs import (
    fitted_arrays,
    model_law,
    require_close_model,
    require_same_model,
    temporary_folder,
)


@model_law
def the_plan_covers_the_passes(case: ModelCase) -> None:
    """Assert that every pass of a fit is planned, as often and as large as it runs."""
    model = case.make()
    opened = model.open(case.data)
    samples, planned, ran = opened.samples, opened.passes, []

    def watched(script: Script) -> Script:
        result = None
        while True:
            try:
                item = script.send(result)
            except StopIteration as end:
                return end.value
            if isinstance(item, Pass):
                ran.append(item)
            result = yield item

    script = watched(model.script(opened.settings))
    run_script(samples, script, opened.plan_on, model.missing, takes=model.takes)
    for pass_ in ran:
        own = [entry for entry in planned if _is_planned(pass_.name, entry)]
        require(
            bool(own),
            f"the pass {pass_.name!r} is not planned; a pass that is asked for as 'NAME' or as "
            "'NAME number' is planned as 'NAME', and the plan has "
            f"{[entry.largest.name for entry in planned]}",
        )
        size = PlannedPass(pass_).size(samples.rows)
        for what in ("rows", "state_nbytes", "work_nbytes"):
            most = max(getattr(entry.size(samples.rows), what) for entry in own)
            amount = getattr(size, what)
            require(amount <= most, f"{what} of the pass {pass_.name!r}: {amount:,} of {most:,}")
        times = sum(any(_is_planned(other.name, entry) for entry in own) for other in ran)
        most = sum(entry.times for entry in own)
        require(
            times <= most,
            f"passes like {pass_.name!r} ran {times} times of {most}; plan the most that a fit may "
            "ask for with PlannedPass(..., times)",
        )
    plan = case.make().plan(case.data, scheduler="threads", workers=1)
    require(
        [size.name for size in plan.passes] == [entry.largest.name for entry in planned],
        f"plan() tells the passes {[size.name for size in plan.passes]}",
    )


@model_law
def any_parts_give_the_same(case: ModelCase) -> None:
    """Assert that rows in several data sets, or in chunks, give the model of the rows in one.

    Rows in order are cut into chunks alone: a data set ends a sequence.
    """
    cuts = ([case.rows // 2], [case.rows // 5, case.rows // 5 + 1, 4 * case.rows // 5])
    for cut in () if case.in_order else cuts:
        edges = [0, *cut, case.rows]
        pieces = [case.data[first:last] for first, last in pairwise(edges)]
        model = case.make().fit(pieces)
        require_close_model(model, case.fitted, case, f"fit of {len(pieces)} data sets")
    if case.is_labelled:
        chunked = case.data.chunk({case.data.dims[0]: max(1, case.rows // 3)})
        require_close_model(case.make().fit(chunked), case.fitted, case, "fit of chunks")


@model_law
def any_number_of_workers_gives_the_same_bits(case: ModelCase) -> None:
    """Assert that workers share the parts of a pass, and change no bit of the sum."""
    thirds = [0, case.rows // 3, 2 * case.rows // 3, case.rows]
    pieces = [case.data[first:last] for first, last in pairwise(thirds)]
    one, more = (
        case.make().fit(pieces, scheduler="threads", workers=workers) for workers in (1, 3)
    )
    require_same_model(more, one, case, "fit by three workers against one")


@model_law
def a_checkpoint_is_used_again(case: ModelCase) -> None:
    """Assert that the same fit reads every part from its checkpoint, and has the same bits."""
    with temporary_folder() as folder:
        models = [case.make().fit(case.data, checkpoint=folder / "parts") for _ in range(2)]
    for entry in models[1].diagnostics_["passes"]:
        require(
            entry["reused_parts"] == entry["parts"],
            f"the pass {entry['name']!r} used {entry['reused_parts']} of {entry['parts']} parts",
        )
    for model in models:
        require_same_model(model, case.fitted, case, "fit with a checkpoint")


@model_law
def a_saved_model_is_the_same(case: ModelCase) -> None:
    """Assert that a loaded model has the parameters, answers and diagnostics of the saved one."""
    with temporary_folder() as folder:
        path = case.fitted.save(folder / "model.zarr")
        loaded = type(case.fitted).from_contents(read_group(path))
    require_same_model(loaded, case.fitted, case, "saved model")
    actual, expected = fitted_arrays(loaded), fitted_arrays(case.fitted)
    require(
        set(actual) == set(expected), f"attributes {sorted(actual)}, expected {sorted(expected)}"
    )
    for name in ("diagnostics_", "views_"):
        one, other = getattr(loaded, name), getattr(case.fitted, name)
        require(one == other, f"{name} is {one}, expected {other}")
    parameters = [repr(model.get_params()) for model in (loaded, case.fitted)]
    require(parameters[0] == parameters[1], f"parameters are {parameters[0]}")


@model_law
def missing_rows_are_refused_or_left_out(case: ModelCase) -> None:
    """Assert that ``missing="raise"`` names the row, and ``missing="omit"`` counts it."""
    row = 5
    gaps = with_missing(case.data, row)
    with expected_error(MissingValueError, "fit with a missing value"):
        _fit(case, gaps, "raise")
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        model = _fit(case, gaps, "omit")
        answers = case.answers_of(model, gaps)
    require(
        any(issubclass(entry.category, MissingValueWarning) for entry in records),
        "missing='omit' warned of no missing value",
    )
    left_out = model.diagnostics_["rows_left_out"]
    require(left_out == 1, f"diagnostics tell {left_out} rows left out, expected 1")
    for name, answer in answers.items():
        empty = np.isnan(answer[row]) if answer.dtype.kind == "f" else answer[row] == -1
        require(bool(np.all(empty)), f"{name} of the row with a missing value is {answer[row]!r}")
        others = np.delete(answer, row, 0)
        bad = np.isnan(others) if answer.dtype.kind == "f" else others < 0
        require(not bad.any(), f"{name} lacks {int(bad.sum())} rows without a missing value")


@model_law
def complete_rows_do_not_see_the_rule_for_missing_ones(case: ModelCase) -> None:
    """Assert that complete rows give the same bits with ``missing="marginalise"``.

    The law concerns models that can sum over missing entries.
    """
    if not case.make().takes.marginalises:
        return
    try:
        model = _fit(case, case.data, "marginalise")
    except ParameterError:
        # such as densities of measured rows beside probabilities of categories
        return
    strict = _fit(case, case.data, "raise")
    require_same_model(model, strict, case, "fit that would sum over missing entries")


FIT_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    the_plan_covers_the_passes,
    any_parts_give_the_same,
    any_number_of_workers_gives_the_same_bits,
    a_checkpoint_is_used_again,
    a_saved_model_is_the_same,
    missing_rows_are_refused_or_left_out,
    complete_rows_do_not_see_the_rule_for_missing_ones,
)


_Data = TypeVar("_Data", xr.DataArray, csr_array)


def with_missing(data: _Data, row: int) -> _Data:
    """Return data of which one row has a missing value: NaN, or the code -1."""
    gaps = copy.deepcopy(data)
    if isinstance(gaps, csr_array):
        start, stop = gaps.indptr[row : row + 2]
        require(start < stop, f"row {row} of the data is empty; give data where it is not")
        gaps.data[start] = np.nan
    else:
        gaps[row, 0] = np.nan if gaps.dtype.kind == "f" else -1
    return gaps


def _fit(case: ModelCase, data: DataLike, missing: str) -> Estimator:
    """Fit a new model with a rule for missing values."""
    model = case.make()
    model.set_params(missing=missing)
    return fitted(model, data)


def _is_planned(name: str, entry: PlannedPass) -> bool:
    """Return True for a pass that is asked for as NAME or as "NAME number", planned as NAME."""
    planned = [entry.largest.name, *([entry.instead.name] if entry.instead else [])]
    return any(re.fullmatch(re.escape(other) + r"( \d+)?", name) for other in planned)
