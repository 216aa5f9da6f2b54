"""Laws of sample weights: weights of zero and one, counts and repeated rows, relative weights."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import BigtensorError, ParameterError
from bigtensor.models.contract.estimator import Estimator
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import require, require_close
from bigtensor.testing.model_runs import (
    model_law,
    reported_fit,
    require_close_model,
    require_same_model,
    require_same_report,
)
from bigtensor.testing.outlier_laws import FAR

CRITERIA = ("aic", "bic")
"""Scores that a model may refuse, such as one of densities without parameters to count."""

SCORES = ("score", *CRITERIA)
"""Methods that return one number for weighted rows. Not every model has all of them."""

SEQUENCES = 12
"""Sequences that rows in order are cut into, because weights and orders are of whole sequences."""

WILD = 1e9
"""Measured value of a row of weight zero: it has no part in a sum, and is no outlier."""

FEW = 12
"""Rows that a fit warns of, even if half of them count twice."""


@model_law
def weights_of_one_change_nothing(case: ModelCase) -> None:
    """Assert that a fit with sample weights of one is the fit without weights."""
    model = case.make().fit(case.data, sample_weight=np.ones(case.rows))
    require_close_model(model, case.fitted, case, "fit with weights of one")


@model_law
def a_weight_of_two_fits_as_a_row_twice(case: ModelCase) -> None:
    """Assert that counts repeat rows, or sequences, in the fit, its verdict and every score."""
    weight, group = _counts(case)
    weighted, order, repeated = _repeated(case, weight, group)
    heavy, of_heavy = reported_fit(case.make(), case.data, **weighted)
    twice, of_twice = reported_fit(case.make(), case.data[order], **repeated)
    require_close_model(heavy, twice, case, "fit of weights of two against repeated rows")
    require_same_report(of_heavy, of_twice, "weights of two against repeated rows")
    for name in (name for name in SCORES if hasattr(heavy, name)):
        try:
            numbers = [
                getattr(heavy, name)(case.data, **weighted),
                getattr(heavy, name)(case.data[order], **repeated),
            ]
        except ParameterError:
            require(name in CRITERIA, f"{name} was refused")
            continue
        one, other = ({name: np.asarray(number)} for number in numbers)
        require_close(one, other, case.rtol, f"{name} of weights against repeated rows")


@model_law
def a_weight_of_zero_fits_as_no_row(case: ModelCase) -> None:
    """Assert that a fit with a weight of zero for every second row is a fit without these rows.

    Positions of rows must not matter: a split into even and odd rows has an empty half. Neither do
    values, so that measured rows of weight zero lie far away.
    """
    _, group = _counts(case)
    kept = group % 2 == 0
    data = case.data
    if case.samples.kind == "measured":
        data = copy.deepcopy(data)
        data[np.flatnonzero(~kept)] = WILD
    options: dict[str, Any] = {"sequence": group} if case.in_order else {}
    weight = kept.astype(float)
    weighted, of_weighted = reported_fit(case.make(), data, sample_weight=weight, **options)
    options = {"sequence": group[kept]} if case.in_order else {}
    fewer, of_fewer = reported_fit(case.make(), case.data[np.flatnonzero(kept)], **options)
    require_close_model(weighted, fewer, case, "fit of weights of zero against rows left out")
    require_same_report(of_weighted, of_fewer, "weights of zero against rows left out")


@model_law
def faults_of_weighted_rows_are_those_of_repeated_rows(case: ModelCase) -> None:
    """Assert that weights hide no fault of the data, and make none.

    Measured rows have an outlier of weight one and a running number, or are very few. Rows of
    weight zero lie far away. The law compares warnings and verdicts.
    """
    if case.samples.kind != "measured":
        return
    weight, group = _counts(case)
    faulty = copy.deepcopy(case.data)
    faulty[:, -1] = np.arange(case.rows)
    faulty[int(np.flatnonzero(weight == 1)[0]), 0] = FAR
    _require_same_faults(case, faulty, np.where(group % 4 == 3, 0, weight), group)
    row = np.arange(case.rows)
    group = row // (FEW // 2)
    few = np.where(row < FEW, np.where(group % 3, 1, 2), 0)
    _require_same_faults(case, copy.deepcopy(case.data), few, group)


@model_law
def relative_weights_have_no_unit(case: ModelCase) -> None:
    """Assert that a model whose weights are relative has the same bits for weights in any unit."""
    if "weights" not in case.make().get_params():
        return
    weight = np.random.default_rng(5).uniform(0.2, 3.0, case.rows)
    model = _relative(case, weight)
    for unit in (2.0**-60, 2.0**60):
        other = _relative(case, unit * weight)
        require_same_model(other, model, case, f"fit of relative weights in units of {unit:.0e}")


def _relative(case: ModelCase, weight: FloatArray) -> Estimator:
    """Fit a new model to relative weights."""
    model = case.make().set_params(weights="relative")
    return fitted(model, case.data, sample_weight=weight)


def _counts(case: ModelCase) -> tuple[IndexArray, IndexArray]:
    """Return the count of every row, 1 or 2 for all rows of a sequence, and its sequence."""
    row = np.arange(case.rows)
    sequence = row * SEQUENCES // case.rows if case.in_order else row
    return np.where(sequence % 3, 1, 2), sequence


def _repeated(
    case: ModelCase, weight: IndexArray, group: IndexArray
) -> tuple[dict[str, Any], IndexArray, dict[str, Any]]:
    """Return options of a fit of weighted rows, and rows and options of a fit of repeated rows."""
    weighted: dict[str, Any] = {"sample_weight": weight.astype(float)}
    order = np.repeat(np.arange(case.rows), weight)
    if not case.in_order:
        return weighted, order, {}
    order, sequence = _repeated_sequences(weight, group)
    return {**weighted, "sequence": group}, order, {"sequence": sequence}


def _require_same_faults(case: ModelCase, data: Any, weight: IndexArray, group: IndexArray) -> None:
    """Raise an AssertionError unless weighted rows and repeated rows have the same faults.

    Rows of weight zero become `WILD`.
    """
    data[np.flatnonzero(weight == 0)] = WILD
    weighted, order, repeated = _repeated(case, weight, group)
    of_weighted = _report(case, data, **weighted)
    of_repeated = _report(case, data[order], **repeated)
    require_same_report(of_weighted, of_repeated, "weighted rows against repeated rows")


def _report(case: ModelCase, data: Any, **options: Any) -> dict[str, Any]:
    """Return the warnings and the verdict of a fit, or the class of the error that refuses it."""
    try:
        return reported_fit(case.make(), data, **options)[1]
    except BigtensorError as error:
        return {"error": type(error).__name__}


def _repeated_sequences(weight: IndexArray, sequence: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the rows of sequences that occur as often as they count, and their new sequences."""
    rows: list[IndexArray] = []
    for own in (np.flatnonzero(sequence == name) for name in np.unique(sequence)):
        rows += [own] * int(weight[own[0]])
    numbers = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    return np.concatenate(rows), numbers


WEIGHT_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    weights_of_one_change_nothing,
    a_weight_of_two_fits_as_a_row_twice,
    a_weight_of_zero_fits_as_no_row,
    faults_of_weighted_rows_are_those_of_repeated_rows,
    relative_weights_have_no_unit,
)
