"""Laws of sample weights: weights of zero and one, counts and repeated rows, relative weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.errors import ParameterError
from bigtensor.models.contract.estimator import Estimator
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import require, require_close
from bigtensor.testing.model_runs import model_law, require_close_model, require_same_model

CRITERIA = ("aic", "bic")
"""Scores that a model may refuse, such as one of densities without parameters to count."""

SCORES = ("score", *CRITERIA)
"""Methods that return one number for weighted rows. Not every model has all of them."""

SEQUENCES = 12
"""Sequences that rows in order are cut into, because weights and orders are of whole sequences."""


@model_law
def weights_of_one_change_nothing(case: ModelCase) -> None:
    """Assert that a fit with sample weights of one is the fit without weights."""
    model = case.make().fit(case.data, sample_weight=np.ones(case.rows))
    require_close_model(model, case.fitted, case, "fit with weights of one")


@model_law
def a_weight_of_two_fits_as_a_row_twice(case: ModelCase) -> None:
    """Assert that counts repeat rows, or sequences, in the fit and in every score."""
    weight, group = _counts(case)
    weighted: dict[str, Any] = {"sample_weight": weight.astype(float)}
    repeated: dict[str, Any] = {}
    order = np.repeat(np.arange(case.rows), weight)
    if case.in_order:
        weighted["sequence"] = group
        order, repeated["sequence"] = _repeated_sequences(weight, group)
    heavy = fitted(case.make(), case.data, **weighted)
    twice = fitted(case.make(), case.data[order], **repeated)
    require_close_model(heavy, twice, case, "fit of weights of two against repeated rows")
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

    Positions of rows must not matter: a split into even and odd rows has an empty half.
    """
    _, group = _counts(case)
    kept = group % 2 == 0
    options: dict[str, Any] = {"sequence": group} if case.in_order else {}
    weighted = fitted(case.make(), case.data, sample_weight=kept.astype(float), **options)
    options = {"sequence": group[kept]} if case.in_order else {}
    fewer = fitted(case.make(), case.data[np.flatnonzero(kept)], **options)
    require_close_model(weighted, fewer, case, "fit of weights of zero against rows left out")


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
    relative_weights_have_no_unit,
)
