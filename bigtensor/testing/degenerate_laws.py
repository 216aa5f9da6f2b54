"""Laws of degenerate data: a model gives finite answers or raises an error of the package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.errors import BigtensorError, BigtensorWarning
from bigtensor.models.contract.estimator import Estimator
from bigtensor.testing.cases import ModelCase
from bigtensor.testing.comparison import law, require
from bigtensor.testing.model_runs import fitted_arrays

Answers = dict[str, NDArray[Any]]

SCALES = (1e-300, 1e-200, 1e-160, 1e-100, 1e100, 1e160, 1e300)
"""Units of measured float64 values. Squares or third powers of most have no normal number."""

SINGLE_SCALES = (1e-30, 1e30)
"""Units of measured float32 values, whose squares have no normal float32 number."""

ROWS = 50
"""Rows of degenerate data, except where there are fewer."""

MANY_EQUAL, OTHERS = 995, 5
"""Rows that are equal, and rows before them that are not."""

WIDE = 500
"""Features of wide data."""

MANY_COMPONENTS = 12
"""Number of components for data with fewer rows."""

SAME_LABELS = 0.99
"""Share of the rows whose label does not depend on the unit of the data."""


@law
def equal_rows_are_answered_or_refused(case: ModelCase) -> None:
    """Assert that equal rows get equal answers or are refused."""
    data = _with_values(case, np.repeat(_values(case)[:1], ROWS, axis=0))
    answers = _answers_or_none(case, case.make(), data)
    if answers is None or case.in_order:
        return
    for name, answer in answers.items():
        require(bool((answer == answer[:1]).all()), f"{name} differs between equal rows")


@law
def rows_that_are_almost_all_equal_are_answered_or_refused(case: ModelCase) -> None:
    """Assert that a few rows before many equal ones are answered or refused."""
    values = _values(case)[: OTHERS + 1]
    _answers_or_none(
        case,
        case.make(),
        _with_values(case, np.vstack([values, np.repeat(values[-1:], MANY_EQUAL - 1, axis=0)])),
        f"{OTHERS} rows before {MANY_EQUAL} equal ones",
    )


@law
def few_rows_are_answered_or_refused(case: ModelCase) -> None:
    """Assert that one row, two rows, and fewer rows than components are answered or refused."""
    for rows in (1, 2):
        _answers_or_none(case, case.make(), case.data[:rows])
    model = case.make()
    if "n_components" in model.get_params():
        model.set_params(n_components=MANY_COMPONENTS)
        _answers_or_none(case, model, case.data[: MANY_COMPONENTS - 4])


@law
def constant_features_are_answered_or_refused(case: ModelCase) -> None:
    """Assert that one constant feature, and features that are all zero, are answered or refused."""
    values = _values(case)
    constant = values.copy()
    constant[:, 0] = constant[0, 0]
    only = np.zeros_like(values)
    only[:, 0] = values[:, 0]
    for changed in (constant, only, np.zeros_like(values)):
        _answers_or_none(case, case.make(), _with_values(case, changed))


@law
def any_unit_is_answered_or_refused(case: ModelCase) -> None:
    """Assert that values near 1e-300 or 1e300 have the labels of other units, or are refused.

    Labels are compared in cases with ``any_unit``.
    """
    if case.samples.kind != "measured":
        return
    labels = case.fitted_answers.get("predict") if case.any_unit else None
    scaled = [(scale, "float64") for scale in SCALES]
    for scale, dtype in [*scaled, *((scale, "float32") for scale in SINGLE_SCALES)]:
        data = (case.data.astype("float64") * scale).astype(dtype)
        answers = _answers_or_none(case, case.make(), data, f"values times {scale:g} in {dtype}")
        if answers is not None and labels is not None:
            share = float(np.mean(answers["predict"] == labels))
            require(
                share >= SAME_LABELS,
                f"values times {scale:g} in {dtype}: {share:.1%} of the labels are those of values "
                "in ordinary units",
            )


@law
def weights_of_zero_are_answered_or_refused(case: ModelCase) -> None:
    """Assert that weights of zero for all rows, or for all but one, are answered or refused."""
    data, weight = case.data[:ROWS], np.zeros(ROWS)
    for positive in (0, 1):
        weight[:positive] = 1
        _answers_or_none(
            case, case.make(), data, f"{positive} rows of positive weight", sample_weight=weight
        )


@law
def wide_data_are_answered_or_refused(case: ModelCase) -> None:
    """Assert that many more features than rows are answered or refused."""
    rng = np.random.default_rng(0)
    measured = case.samples.kind == "measured"
    shape = (ROWS, WIDE)
    values = rng.normal(size=shape) if measured else rng.integers(0, 2, shape)
    _answers_or_none(case, case.make(), _with_values(case, values))


def _answers_or_none(
    case: ModelCase,
    model: Estimator,
    data: xr.DataArray | sp.csr_array,
    what: str = "",
    sample_weight: FloatArray | None = None,
) -> Answers | None:
    """Return the answers of a model for the rows of its fit; None if it refuses them.

    ``model`` is unfitted, and ``what`` names the data in messages.

    Raises
    ------
    AssertionError
        If the fit or an answer raises an error or a warning of another library, or ends with
        numbers that are not finite, probabilities that do not sum to one, or labels out of range.
    """
    what = what or f"{data.shape[0]} x {data.shape[1]}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", BigtensorWarning)
        try:
            answers = case.answers_of(model.fit(data, sample_weight=sample_weight), data)
        except BigtensorError:
            return None
        except Exception as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    for name, array in {**fitted_arrays(model), **answers}.items():
        finite = np.isfinite(array) if array.dtype.kind == "f" else np.ones(array.shape, bool)
        require(bool(finite.all()), f"{what}: {name} has {int((~finite).sum())} numbers not finite")
    if "predict_proba" in answers:
        probability = answers["predict_proba"]
        away = float(np.abs(probability.sum(axis=1) - 1).max())
        require(away < 1e-5, f"{what}: probabilities of a row sum to one within {away:.3g} only")
        if "predict" in answers:
            label = answers["predict"]
            require(
                bool(((label >= 0) & (label < probability.shape[1])).all()),
                f"{what}: labels from {label.min()} to {label.max()} of {probability.shape[1]} "
                "components",
            )
    return answers


def _values(case: ModelCase) -> NDArray[Any]:
    """Return the first rows of a case as a dense array."""
    rows = case.data[:ROWS]
    return np.array(rows.toarray() if hasattr(rows, "toarray") else rows)


def _with_values(case: ModelCase, values: NDArray[Any]) -> Any:
    """Return rows of other values as data of the kind of a case.

    Codes in ``values`` are those of the first feature of the case.
    """
    data = case.data
    values = values.astype(data.dtype)
    if sp.issparse(data):
        return sp.csr_array(values)
    if not case.is_labelled:
        return values
    rows, features = data.dims
    names = [f"feature {number}" for number in range(values.shape[1])]
    if values.shape[1] == data.shape[1]:
        names = data[features].to_numpy().tolist()
    attrs = dict(data.attrs)
    if ATTRIBUTE in attrs:
        categories = next(iter(attrs[ATTRIBUTE].values()))
        attrs[ATTRIBUTE] = dict.fromkeys(names, categories)
    return xr.DataArray(values, {features: names}, (rows, features), data.name, attrs)


DEGENERATE_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    equal_rows_are_answered_or_refused,
    rows_that_are_almost_all_equal_are_answered_or_refused,
    few_rows_are_answered_or_refused,
    constant_features_are_answered_or_refused,
    any_unit_is_answered_or_refused,
    weights_of_zero_are_answered_or_refused,
    wide_data_are_answered_or_refused,
)
