"""Error of the columns against means of true labels, over sizes, noise and seeds."""

from __future__ import annotations

import time

import numpy as np

from bigtensor import LinearMixture
from tests.benchmarks.linear_mixture.columns import Drawn, column_errors
from tests.benchmarks.tables import Report, Row

SIZES = (
    # features of a view, components, rows, noise, largest ratio to the oracle
    (50, 25, 50_000, 1.0, 1.25),
    (50, 50, 50_000, 1.0, 1.25),
    (50, 100, 100_000, 1.0, 1.25),
    (100, 100, 100_000, 1.0, 1.25),
    (100, 200, 100_000, 1.0, 1.25),
    (50, 200, 400_000, 1.0, 1.35),
)

HARDER = (
    (50, 300, 400_000, 1.0, None),
    (50, 50, 100_000, 2.0, None),
    (50, 50, 100_000, 3.0, None),
    (10, 15, 50_000, 1.0, None),
    (5, 4, 20_000, 1.0, None),
)
"""Sizes without a bar: the limits of what is found."""

SEED = 700
"""Other seeds than those that constants were chosen with."""


def add_accuracy(report: Report, models: int, *, small: bool = False) -> None:
    """Add the tables of errors."""
    sizes = ((20, 30, 30_000, 1.0, 1.25),) if small else SIZES
    report.add("columns: error over that of the label oracle", rows_of(sizes, models))
    if not small:
        report.add("limits", rows_of(HARDER, models))


def rows_of(sizes: tuple[tuple[int, int, int, float, float | None], ...], models: int) -> list[Row]:
    """Return a row for every size."""
    return [_row(*size, models) for size in sizes]


def _row(n_features: int, k: int, rows: int, noise: float, bar: float | None, models: int) -> Row:
    """Return errors by moments alone, and with EM iterations, over some seeds."""
    found = {"oracle": [], "moments": [], "default": []}
    recovered, seconds = [], []
    for seed in range(models):
        drawn = Drawn.of(n_features, k, rows, noise, SEED + seed)
        found["oracle"].append(column_errors(drawn.truth, drawn.oracle())[0])
        for name, iterations in (("moments", 0), ("default", None)):
            begun = time.process_time()
            model = LinearMixture(k, views=drawn.views, max_iter=iterations, random_state=seed).fit(
                drawn.values
            )
            seconds.append(time.process_time() - begun)
            columns = [of.to_numpy() for of in model.components_.values()]
            error, share = column_errors(drawn.truth, columns)
            found[name].append(error)
            recovered.append(share)
    ratio = {
        name: np.array(found[name]) / np.array(found["oracle"]) for name in ("moments", "default")
    }
    row: Row = {
        "features": n_features,
        "components": k,
        "rows": rows,
        "noise": noise,
        "oracle": round(float(np.mean(found["oracle"])), 4),
        "moments": round(float(np.mean(found["moments"])), 4),
        "ratio": round(float(ratio["moments"].mean()), 3),
        "worst": round(float(ratio["moments"].max()), 3),
        "default, worst": round(float(ratio["default"].max()), 3),
        "found, worst": round(min(recovered), 3),
        "seconds": round(float(np.mean(seconds)), 1),
    }
    if bar is not None:
        row["bar"] = bar
        row["holds"] = bool(ratio["moments"].max() <= bar and min(recovered) == 1)
    return row
