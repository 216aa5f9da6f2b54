"""Laws of units, origins and precision: they change no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.column_laws import LEAST_RTOL
from bigtensor.testing.comparison import require
from bigtensor.testing.model_runs import model_law

UNIT = 3.0
"""Factor that is no power of two, so that it rounds every value."""

ORIGIN = 0.7
"""Shift of every feature, in units of the largest deviation of a value from the mean."""

DECIMAL = 1.1
"""Factor that makes numbers of values that float32 holds: others are rounded."""

ROUNDING_RTOL = 1e-4
"""Tolerance of answers, relative to the largest: float32 rounds by 6e-8, and fits iterate."""

MOST_LABELS = 0.01
"""Largest share of rows with another label: rows that lie between two components."""


@model_law
def the_unit_and_the_origin_do_not_matter(case: ModelCase) -> None:
    """Assert that answers are equal for values in another unit and from another origin.

    All features have one unit, because features that are compared with each other need one. Log
    densities differ by one number for all rows.
    """
    if case.samples.kind != "measured":
        return
    values = np.asarray(case.data)
    origin = ORIGIN * np.abs(values - values.mean(axis=0)).max()
    moved = (case.data + origin) * UNIT
    answers = case.answers_of(fitted(case.make(), moved), moved)
    for name, expected in case.fitted_answers.items():
        tolerance = max(case.tolerance(expected), LEAST_RTOL)
        _require_equal(name, answers[name], expected, tolerance)


@model_law
def float32_values_give_the_same_answers(case: ModelCase) -> None:
    """Assert that a fit of values in float32 answers as a fit of the same values in float64."""
    if case.samples.kind != "measured":
        return
    data = case.data.astype(np.float64) * DECIMAL
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
    the_unit_and_the_origin_do_not_matter,
    float32_values_give_the_same_answers,
)


def _require_equal(
    name: str, answer: NDArray[Any], expected: NDArray[Any], tolerance: float
) -> None:
    """Raise an AssertionError unless an answer is the expected one in another unit."""
    if expected.dtype.kind != "f":
        differ = int(np.count_nonzero(answer != expected))
        require(not differ, f"{name} of {differ:,} rows differs in another unit")
        return
    change = answer - expected
    if name == "score_samples":
        change = change - np.median(change)
    largest = float(np.abs(change).max() / np.abs(expected).max())
    require(largest <= tolerance, f"{name} differs by {largest:.2g} in another unit")
