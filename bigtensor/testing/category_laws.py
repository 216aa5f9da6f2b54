"""Laws of categories: their order and categories without a row change no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from bigtensor.array_types import IndexArray
from bigtensor.data.values.categories import ATTRIBUTE
from bigtensor.data.values.sample_weight_meanings import MEANINGS
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.column_laws import LEAST_RTOL
from bigtensor.testing.comparison import require_close
from bigtensor.testing.model_runs import model_law
from bigtensor.testing.sample_weight_laws import SEQUENCES

SMALLEST_WEIGHT, LARGEST_WEIGHT = 0.2, 3.0
"""Range of the weights: fractions of a row, and more than one row."""

UNUSED = "unused category"
"""Name of a category that no row has."""

UNUSED_RTOL = 1e-5
"""Tolerance of answers with a category that no row has.

Log densities of tensor trains differ by a relative error of 2e-6.
"""


@model_law
def the_order_of_categories_does_not_matter(case: ModelCase) -> None:
    """Assert that answers are equal for permuted codes, without weights and with both meanings.

    Values of ``transform`` are not compared, because they may be numbers made of the codes.
    """
    if case.samples.kind != "codes" or not case.is_labelled:
        return
    for meaning in (None, *MEANINGS):
        options = _weights(case) if meaning else {}
        expected = _answers(case, case.data, meaning, options)
        for name, order in (("reversed", _reversed), ("rolled", _rolled)):
            actual = _answers(case, recoded(case.data, order), meaning, options)
            for method, answer in expected.items():
                require_close(
                    {method: actual[method]},
                    {method: answer},
                    max(case.tolerance(answer), LEAST_RTOL),
                    f"{name} categories, {meaning or 'no'} weights",
                )


@model_law
def categories_without_a_row_change_no_answer(case: ModelCase) -> None:
    """Assert that answers are equal if every feature names a category that no row has.

    Models of sequences are not held to the law: their pseudo-counts are of every category.
    """
    if case.samples.kind != "codes" or not case.is_labelled or case.in_order:
        return
    named = {
        feature: [UNUSED, *names] for feature, names in dict(case.data.attrs[ATTRIBUTE]).items()
    }
    # a missing code stays as it is
    values = np.where(case.data < 0, case.data, case.data + 1)
    wider = case.data.copy(data=values).assign_attrs({ATTRIBUTE: named})
    actual = _answers(case, wider, None, {})
    for method, answer in _answers(case, case.data, None, {}).items():
        require_close(
            {method: actual[method]},
            {method: answer},
            max(case.tolerance(answer), UNUSED_RTOL),
            "a category without a row",
        )


CATEGORY_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    the_order_of_categories_does_not_matter,
    categories_without_a_row_change_no_answer,
)


def recoded(data: xr.DataArray, order: Callable[[int], IndexArray]) -> xr.DataArray:
    """Return the same rows with the categories of every feature in another order.

    Parameters
    ----------
    data : (rows, features) DataArray
        Codes with the attribute ``categories``.
    order : callable
        Returns the old codes in their new order, of a number of categories.
    """
    values, named = data.to_numpy().copy(), {}
    for column, (feature, names) in enumerate(dict(data.attrs[ATTRIBUTE]).items()):
        old = order(len(names))
        # a missing code stays as it is
        values[:, column] = np.append(np.argsort(old), -1)[values[:, column]]
        named[feature] = [names[code] for code in old]
    return data.copy(data=values).assign_attrs({ATTRIBUTE: named})


def _reversed(count: int) -> IndexArray:
    """Return the codes, last one first."""
    return np.arange(count)[::-1]


def _rolled(count: int) -> IndexArray:
    """Return the codes, second one first and first one last."""
    return np.roll(np.arange(count), -1)


def _weights(case: ModelCase) -> dict[str, Any]:
    """Return weights of the rows, or of whole sequences."""
    rng = np.random.default_rng(5)
    if not case.in_order:
        return {"sample_weight": rng.uniform(SMALLEST_WEIGHT, LARGEST_WEIGHT, case.rows)}
    sequence = np.arange(case.rows) * SEQUENCES // case.rows
    weight = rng.uniform(SMALLEST_WEIGHT, LARGEST_WEIGHT, SEQUENCES)
    return {"sample_weight": weight[sequence], "sequence": sequence}


def _answers(
    case: ModelCase, data: xr.DataArray, meaning: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the answers of a new model that was fitted to some codes."""
    model = case.make()
    if meaning is not None:
        model.set_params(weights=meaning)
    answers = case.answers_of(fitted(model, data, **options), data)
    return {name: answer for name, answer in answers.items() if name != "transform"}
