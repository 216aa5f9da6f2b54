"""Law of precision: values that are rounded to float32 change answers by no more than that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import require
from bigtensor.testing.model_runs import model_law

ROUNDING_RTOL = 1e-4
"""Tolerance of answers, relative to the largest: float32 rounds by 6e-8, and fits iterate."""

MOST_LABELS = 0.01
"""Largest share of rows with another label: rows that lie between two components."""


@model_law
def float32_values_give_the_same_answers(case: ModelCase) -> None:
    """Assert that a fit of values in float32 answers as a fit of the same values in float64."""
    if case.samples.kind != "measured" or case.data.dtype != np.float64:
        return
    model = fitted(case.make(), case.data.astype(np.float32))
    answers = case.answers_of(model, case.data)
    for name, expected in case.fitted_answers.items():
        if expected.dtype.kind != "f":
            share = float(np.mean(answers[name] != expected))
            require(share <= MOST_LABELS, f"{name} of {share:.0%} of the rows differs")
            continue
        largest = float(np.abs(answers[name] - expected).max() / np.abs(expected).max())
        require(largest <= ROUNDING_RTOL, f"{name} differs by {largest:.2g}")


PRECISION_LAWS: tuple[Callable[[ModelCase], None], ...] = (float32_values_give_the_same_answers,)
