"""One labelled row a component, with more components than could be found without."""

from __future__ import annotations

import numpy as np

from bigtensor import LinearMixture
from tests.benchmarks.linear_mixture.accuracy import SEED
from tests.benchmarks.linear_mixture.columns import Drawn, column_errors
from tests.benchmarks.tables import Report, Row

MOST_RATIO = 1.2
"""Largest ratio to the error of all labels, with d^1.25 components of d >= 50 features."""

MOST_SMALL = 1.4


def add_labels(report: Report, models: int, *, small: bool = False) -> None:
    """Add the error of moments that start from labels, over that of all labels."""
    sizes: tuple[tuple[int, int, int], ...]
    sizes, bar = ((50, 133, 200_000), (100, 316, 200_000)), MOST_RATIO
    if small:
        sizes, bar = ((20, 42, 60_000),), MOST_SMALL
    rows = [label_row(*size, models, bar) for size in sizes]
    report.add("one labelled row a component, moments alone", rows)


def label_row(n_features: int, k: int, rows: int, models: int, bar: float) -> Row:
    """Return the ratios over some seeds."""
    ratios, shares = [], []
    for seed in range(models):
        drawn = Drawn.of(n_features, k, rows, 1.0, SEED + seed)
        labels = np.full(rows, -1)
        first = np.unique(drawn.label, return_index=True)[1]
        labels[first] = drawn.label[first]
        model = LinearMixture(k, views=drawn.views, max_iter=0, random_state=seed)
        model.fit(drawn.values, labels)
        columns = [of.to_numpy() for of in model.components_.values()]
        error, found = column_errors(drawn.truth, columns)
        ratios.append(error / column_errors(drawn.truth, drawn.oracle())[0])
        shares.append(found)
    return {
        "features": n_features,
        "components": k,
        "rows": rows,
        "ratio": round(float(np.mean(ratios)), 3),
        "worst": round(max(ratios), 3),
        "found, worst": round(min(shares), 3),
        "bar": bar,
        "holds": bool(max(ratios) <= bar and min(shares) == 1),
    }
