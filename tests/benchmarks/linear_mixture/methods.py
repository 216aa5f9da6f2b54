"""Methods of a linear mixture beside each other: error, processor time and price."""

from __future__ import annotations

import time

import numpy as np

from bigtensor import LinearMixture
from tests.benchmarks.linear_mixture.accuracy import SEED
from tests.benchmarks.linear_mixture.columns import Drawn, column_errors
from tests.benchmarks.tables import Report, Row

METHODS = ("sample", "compressed", "explicit")

SIZES = (
    # features of a view, components, rows
    (20, 5, 50_000),
    (20, 30, 200_000),
    (50, 12, 50_000),
    (50, 100, 100_000),
    (50, 200, 400_000),
    (100, 25, 100_000),
    (100, 60, 200_000),
    (200, 10, 50_000),
)

MOST_ENTRIES = 2_200_000
"""Entries of the largest tensor that is formed here."""

MOST_TIME, MOST_SECONDS = 1.6, 2.0
"""Largest processor time of the method that is taken, over the fastest and more than the fastest:
a search in a sample is taken unless another saves clearly more."""

MOST_ERROR = 1.02
"""Largest error of the method that is taken, over the smallest."""


def add_methods(report: Report, models: int, *, small: bool = False) -> None:
    """Add a row for every size: errors before EM iterations, and times."""
    sizes = ((10, 8, 20_000),) if small else SIZES
    warm_up()
    rows = [method_row(*size, models) for size in sizes]
    notes = ("errors over those of the label oracle, without EM iterations; processor seconds",)
    report.add("methods with full precision", rows, notes)


def method_row(n_features: int, k: int, rows: int, models: int) -> Row:
    """Return errors and times of all methods, and which is taken."""
    ratios: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    taken = ""
    for seed in range(models):
        drawn = Drawn.of(n_features, k, rows, 1.0, SEED + seed)
        best, _ = column_errors(drawn.truth, drawn.oracle())
        plan = LinearMixture(k, views=drawn.views, max_iter=0).plan(drawn.values)
        taken = next(other.value for other in plan.alternatives if other.is_taken)
        for method in METHODS:
            if method == "compressed" and k > n_features:
                continue
            if method == "explicit" and (n_features + 1) ** 3 > MOST_ENTRIES:
                continue
            begun = time.process_time()
            model = LinearMixture(
                k, views=drawn.views, method=method, max_iter=0, random_state=seed
            ).fit(drawn.values)
            seconds.setdefault(method, []).append(time.process_time() - begun)
            columns = [of.to_numpy() for of in model.components_.values()]
            ratios.setdefault(method, []).append(column_errors(drawn.truth, columns)[0] / best)
    row: Row = {"features": n_features, "components": k, "rows": rows, "taken": taken}
    for method in METHODS:
        row[method] = round(float(np.mean(ratios[method])), 3) if method in ratios else "-"
    for method in METHODS:
        known = method in seconds
        row[f"{method} s"] = round(float(np.mean(seconds[method])), 2) if known else "-"
    errors = {method: np.mean(of) for method, of in ratios.items()}
    times = {method: np.mean(of) for method, of in seconds.items()}
    fastest = min(times.values())
    row["holds"] = bool(
        errors[taken] <= MOST_ERROR * min(errors.values())
        and times[taken] <= max(MOST_TIME * fastest, fastest + MOST_SECONDS)
    )
    return row


def warm_up() -> None:
    """Compile the kernels before anything is timed."""
    drawn = Drawn.of(5, 3, 2000, 1.0, 0)
    for method in METHODS:
        LinearMixture(3, views=drawn.views, method=method).fit(drawn.values)
