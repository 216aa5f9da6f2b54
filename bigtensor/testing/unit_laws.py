"""Laws of units, origins and precision: they change no answer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bigtensor.data.rows.data_like import DataLike
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.column_laws import LEAST_RTOL
from bigtensor.testing.comparison import require
from bigtensor.testing.model_runs import model_law

UNIT = 3.0
"""Factor that is no power of two, so that it rounds every value."""

ORIGIN = 0.7
"""Shift of every feature, in units of the largest deviation of a value from the mean."""

UNITS_OF_ONE = (1e-3, 1e3)
"""Factors of one feature."""

DECIMAL = 1.1
"""Factor that makes numbers of values that float32 holds: others are rounded."""

ROUNDING_RTOL = 1e-4
"""Tolerance of answers, relative to the largest: float32 rounds by 6e-8, and fits iterate."""

MOST_LABELS = 0.01
"""Largest share of rows with another label: rows that lie between two components."""


@model_law
def the_unit_does_not_matter(case: ModelCase) -> None:
    """Assert that answers are equal for values in another unit.

    All features have one unit, because features that are compared with each other need one. Log
    densities differ by one number for all rows. The law concerns cases with ``any_unit``.
    """
    if case.samples.kind == "measured" and case.any_unit:
        what = f"for values times {UNIT:g}; a model of values with one unit has any_unit=False"
        _require_same_answers(case, case.data * UNIT, what)


@model_law
def the_unit_of_one_feature_does_not_matter(case: ModelCase) -> None:
    """Assert that answers and the verdict are equal for one feature in another unit.

    The law concerns cases with ``any_unit`` and ``own_units``.
    """
    if case.samples.kind != "measured" or not (case.any_unit and case.own_units):
        return
    factors = np.ones(case.data.shape[1])
    for unit in UNITS_OF_ONE:
        factors[-1] = unit
        what = (
            f"for one feature times {unit:g}; a model that compares features with each other has "
            "own_units=False"
        )
        _require_same_answers(case, case.data * factors, what)


@model_law
def the_origin_does_not_matter(case: ModelCase) -> None:
    """Assert that answers are equal for values from another origin.

    The law concerns cases with ``any_origin``.
    """
    if case.samples.kind == "measured" and case.any_origin:
        values = np.asarray(case.data)
        origin = ORIGIN * np.abs(values - values.mean(axis=0)).max()
        what = (
            f"for values plus {origin:.3g}; a model of values with a natural zero has "
            "any_origin=False"
        )
        _require_same_answers(case, case.data + origin, what)


@model_law
def float32_values_give_the_same_answers(case: ModelCase) -> None:
    """Assert that a fit of values in float32 answers as a fit of the same values in float64."""
    if case.samples.kind != "measured":
        return
    # values with one unit may be whole numbers, which stay as they are
    data = case.data.astype(np.float64) * (DECIMAL if case.any_unit else 1)
    expected_answers = case.answers_of(fitted(case.make(), data), data)
    answers = case.answers_of(fitted(case.make(), data.astype(np.float32)), data)
    for name, expected in expected_answers.items():
        if expected.dtype.kind != "f":
            share = float(np.mean(answers[name] != expected))
            require(share <= MOST_LABELS, f"{name} of {share:.0%} of the rows differs")
            continue
        largest = float(np.abs(answers[name] - expected).max())
        tolerance = ROUNDING_RTOL * float(np.abs(expected).max())
        require(largest <= tolerance, f"{name} differs by {largest:.2g}")


UNIT_LAWS: tuple[Callable[[ModelCase], None], ...] = (
    the_unit_does_not_matter,
    the_unit_of_one_feature_does_not_matter,
    the_origin_does_not_matter,
    float32_values_give_the_same_answers,
)


def _require_same_answers(case: ModelCase, moved: DataLike, what: str) -> None:
    """Raise an AssertionError unless a fit of moved values answers as the fit of the case.

    If the data are good, the moved data are, too.
    """
    model = fitted(case.make(), moved)
    verdicts = [each.diagnostics_.get("verdict", {}) for each in (model, case.fitted)]
    good, expected_good = (verdict.get("good") for verdict in verdicts)
    require(good == expected_good, f"the verdict is {verdicts[0]}, not {verdicts[1]}, {what}")
    answers = case.answers_of(model, moved)
    for name, expected in case.fitted_answers.items():
        if expected.dtype.kind != "f":
            differ = int(np.count_nonzero(answers[name] != expected))
            require(not differ, f"{name} of {differ:,} rows differs {what}")
            continue
        change = answers[name] - expected
        if name == "score_samples":
            change = change - np.median(change)
        largest = float(np.abs(change).max() / np.abs(expected).max())
        tolerance = max(case.tolerance(expected), LEAST_RTOL)
        require(
            largest <= tolerance, f"{name} differs by {largest:.2g} of the largest entry {what}"
        )
