"""Law of outlying rows: a huge value changes no answer for other rows and is reported."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.comparison import require
from bigtensor.testing.model_runs import model_law

FAR = 1e6
"""Outlying value."""

LEAST_AGREEMENT = 0.95
"""Least adjusted Rand index of labels, and least correlation of sources."""

MOST_SHIFT = 0.1
"""Largest mean difference of log densities, in nats."""


@model_law
def a_single_outlier_is_left_out_and_reported(case: ModelCase) -> None:
    """Assert that one huge value is counted, is reported, and changes no answer for other rows.

    The law concerns models of measured data whose diagnostics count ``outlying_rows``.
    """
    if case.samples.kind != "measured" or "outlying_rows" not in case.fitted.diagnostics_:
        return
    row = case.rows // 2
    far = copy.deepcopy(case.data)
    far[row, 0] = FAR
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = fitted(case.make(), far)
        answers = case.answers_of(model, far)
    before, diagnostics = case.fitted.diagnostics_, model.diagnostics_
    require(before["outlying_rows"] == 0, f"{before['outlying_rows']} rows are outlying before")
    first = diagnostics["first_outlying_rows"]
    require(diagnostics["outlying_rows"] == 1 and first == [row], f"outlying rows are {first}")
    verdict = diagnostics["verdict"]
    is_named = any(f"row {row}" in sentence for sentence in verdict["sentences"])
    require(is_named and not verdict["good"], f"the verdict does not name row {row}: {verdict}")
    for name, differ in _COMPARISONS.items():
        if name in answers:
            differ(np.delete(answers[name], row, 0), np.delete(case.fitted_answers[name], row, 0))


OUTLIER_LAWS: tuple[Callable[[ModelCase], None], ...] = (a_single_outlier_is_left_out_and_reported,)


def _require_labels(answer: NDArray[Any], expected: NDArray[Any]) -> None:
    """Raise an AssertionError unless two sets of labels agree."""
    agreement = adjusted_rand_score(expected, answer)
    require(agreement >= LEAST_AGREEMENT, f"labels agree with a Rand index of {agreement:.3f}")


def _require_log_densities(answer: NDArray[Any], expected: NDArray[Any]) -> None:
    """Raise an AssertionError unless log densities are about equal."""
    shift = float(np.abs(answer - expected).mean())
    require(shift <= MOST_SHIFT, f"log densities differ by {shift:.3f} nats")


def _require_sources(answer: NDArray[Any], expected: NDArray[Any]) -> None:
    """Raise an AssertionError unless sources are about equal, in any order."""
    require(answer.shape == expected.shape, f"sources have the shape {answer.shape}")
    k = answer.shape[1]
    correlation = np.abs(np.corrcoef(answer.T, expected.T)[:k, k:])
    least = correlation[linear_sum_assignment(-correlation)].min()
    require(least >= LEAST_AGREEMENT, f"a source has the correlation {least:.3f}")


_COMPARISONS: dict[str, Callable[[NDArray[Any], NDArray[Any]], None]] = {
    "predict": _require_labels,
    "score_samples": _require_log_densities,
    "transform": _require_sources,
}
