"""Laws of the order of columns: in the data of a fit, and in rows that are drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from bigtensor.array_types import IndexArray
from bigtensor.data.rows.data_like import DataLike
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.data.values.missing_values import MARGINALISE
from bigtensor.errors import BigtensorError, DataError, ParameterError
from bigtensor.models.contract.estimator import Estimator
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import expected_error, require, require_close
from bigtensor.testing.model_runs import fitted_arrays, model_law

LEAST_RTOL = 1e-6
"""Tolerance of answers: sums over features in another order differ in their last digits."""

IN_THEIR_OWN_ORDER = ("landmarks_", "dual_coef_", "precisions_cholesky_")
"""Fitted attributes that are not compared.

Landmarks are in the order of their selection. Triangular factors depend on the order of columns.
"""

SHARES_TOLERANCE = 1e-4
"""Tolerance of shares of topics, whose iterations in a document end at a small step."""

FAR_APART = 1000.0
"""Distance between the means of features, many of their standard deviations."""

CONSTANT = 3.0
"""Value of a constant column, for models of counts as well.

A value of the data replaces it in cases without ``any_unit`` or ``any_origin``.
"""


@model_law
def the_order_of_columns_does_not_matter(case: ModelCase) -> None:
    """Assert that answers are equal for permuted columns, and fitted parameters are permuted."""
    order = np.roll(np.arange(case.data.shape[1]), 1)
    if len(order) < 2:
        return
    moved = case.data[:, order]
    _require_same_fit(case, fitted(case.make(), moved), moved, case.fitted, order)
    if case.is_labelled and case.samples.kind == "measured" and case.make().views is None:
        values = case.data.to_numpy()
        moved = np.ascontiguousarray(values[:, order])
        model = fitted(case.make(), values)
        _require_same_fit(case, fitted(case.make(), moved), moved, model, order)


@model_law
def a_constant_column_changes_no_label(case: ModelCase) -> None:
    """Assert that labels and the number of components are equal with a column of equal values.

    A model of a certain number of columns may refuse the column, with any error of
    `bigtensor.errors`, if it refuses a varying column as well. A model without labels is not held
    to the law.
    """
    data, labels = case.data, case.fitted_answers.get("predict")
    if labels is None or not case.is_labelled:
        return
    value: Any = 0
    if case.samples.kind == "measured":
        movable = case.any_unit and case.any_origin
        value = CONSTANT if movable else data[0, 0].item()
    wider = _with_column(data, "constant", value, ["only category"])
    try:
        model = fitted(case.make(), wider)
    except BigtensorError as error:
        require(
            _refuses_a_varying_column(case),
            f"a constant column is refused, and a varying one is not: {type(error).__name__}: "
            f"{error}",
        )
        return
    answers = case.answers_of(model, wider)
    agreement = adjusted_rand_score(labels, answers["predict"])
    require(agreement == 1, f"labels with a constant column have a Rand index of {agreement:.4f}")
    if "predict_proba" in answers:
        shapes = [each["predict_proba"].shape for each in (answers, case.fitted_answers)]
        require(
            shapes[0] == shapes[1],
            f"probabilities with a constant column have the shape {shapes[0]}, expected "
            f"{shapes[1]}",
        )


@model_law
def a_column_without_entries_changes_no_answer(case: ModelCase) -> None:
    """Assert that answers are equal with a column of missing entries, or that it is refused.

    The law concerns models that can sum over missing entries. Values of ``transform`` are not
    compared, because there may be one for every column.
    """
    if not case.is_labelled or not case.make().takes.can_marginalise(case.samples):
        return
    value = np.nan if case.samples.kind == "measured" else -1
    wider = _with_column(case.data, "without entries", value, ["one", "another"])
    model = case.make()
    model.set_params(missing=MARGINALISE)
    try:
        fitted(model, wider)
    except DataError:
        return
    except ParameterError:
        # other parameters may exclude missing entries, in data without any too
        with expected_error(ParameterError, "fit of complete rows"):
            fitted(model, case.data)
        return
    answers = case.answers_of(model, wider)
    for name, answer in case.fitted_answers.items():
        if name != "transform":
            tolerance = max(case.tolerance(answer), LEAST_RTOL)
            require_close({name: answers[name]}, {name: answer}, tolerance, "with the column")


@model_law
def draws_have_the_columns_of_the_data(case: ModelCase) -> None:
    """Assert that drawn rows have their features in the order of the data, not of the views.

    The law concerns cases with ``any_origin``, because it moves the features apart.
    """
    model = case.make()
    if not hasattr(model, "sample") or not case.is_labelled or case.samples.kind != "measured":
        return
    if not case.any_origin:
        return
    names = list(case.samples.features)
    views = {name: [name] for name in names} if model.views is None else dict(model.views)
    model.set_params(views=dict(reversed(views.items())))
    apart = case.data + FAR_APART * np.arange(len(names))
    drawn = fitted(model, apart).sample(50, random_state=0)
    rows = drawn[0] if isinstance(drawn, tuple) else drawn
    places = np.rint(rows.mean(axis=0) / FAR_APART)
    require(
        np.array_equal(places, np.arange(len(names))),
        f"columns of draws are those of the features {places}, in another order than in the data",
    )


COLUMN_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    the_order_of_columns_does_not_matter,
    a_constant_column_changes_no_label,
    a_column_without_entries_changes_no_answer,
    draws_have_the_columns_of_the_data,
)


def _refuses_a_varying_column(case: ModelCase) -> bool:
    """Return True if a fit refuses one more column, with the values of the first in other rows."""
    data = case.data
    names = dict(data.attrs.get(ATTRIBUTE, {})).get(data[data.dims[1]].to_numpy()[0], [])
    values = np.roll(data[:, :1].to_numpy(), 1, axis=0)
    try:
        fitted(case.make(), _with_column(data, "varying", values, list(names)))
    except BigtensorError:
        return True
    return False


def _with_column(
    data: xr.DataArray, name: str, values: npt.ArrayLike, categories: list[str]
) -> xr.DataArray:
    """Return data with a column of some values, or of equal ones, behind the first one."""
    rows, features = data.dims
    column = data[:, :1].copy(data=np.broadcast_to(values, (len(data), 1)).astype(data.dtype))
    named = column.assign_coords({features: [name]})
    wider = xr.concat([data[:, :1], named, data[:, 1:]], dim=features).transpose(rows, features)
    if ATTRIBUTE not in data.attrs:
        return wider
    return wider.assign_attrs({ATTRIBUTE: {**data.attrs[ATTRIBUTE], name: categories}})


def _require_same_fit(
    case: ModelCase,
    model: Estimator,
    moved: DataLike,
    expected: Estimator,
    order: IndexArray,
) -> None:
    """Raise an AssertionError unless a model of permuted columns is the expected one."""
    answers = case.answers_of(model, moved)
    if "predict" in answers:
        agreement = adjusted_rand_score(case.fitted_answers["predict"], answers["predict"])
        require(agreement == 1, f"labels of permuted columns have a Rand index of {agreement:.4f}")
    for name, answer in case.fitted_answers.items():
        if answer.dtype.kind == "f":
            of_words = case.samples.kind == "counts"
            least = SHARES_TOLERANCE if of_words else LEAST_RTOL
            tolerance = max(case.tolerance(answer), least)
            _require_permuted(name, answers[name], answer, order, tolerance)
    arrays, tolerance = fitted_arrays(model), max(case.rtol, LEAST_RTOL)
    for name, array in fitted_arrays(expected).items():
        if name not in IN_THEIR_OWN_ORDER:
            _require_permuted(name, arrays[name], array, order, tolerance)


def _require_permuted(
    name: str,
    actual: NDArray[Any],
    expected: NDArray[Any],
    order: IndexArray,
    tolerance: float,
) -> None:
    """Raise an AssertionError unless an array is the expected one with its features permuted."""
    most = tolerance * float(np.abs(expected).max(initial=0.0))
    equal = any(
        np.allclose(actual, permuted, rtol=0.0, atol=most)
        for permuted in _permuted(expected, order)
    )
    require(equal, f"{name} of permuted columns is {actual}, expected {expected} permuted")


def _permuted(array: NDArray[Any], order: IndexArray) -> list[NDArray[Any]]:
    """Return an array with features permuted along every choice of axes of their length."""
    axes = [axis for axis, length in enumerate(array.shape) if length == len(order)]
    choices = [chosen for count in range(len(axes) + 1) for chosen in combinations(axes, count)]
    permuted = []
    for chosen in choices:
        moved = array
        for axis in chosen:
            moved = np.take(moved, order, axis)
        permuted.append(moved)
    return permuted
