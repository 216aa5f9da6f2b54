"""Handwritten digits in six views of many raw features: populations outside cytometry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from bigtensor import KernelMixture
from tests.benchmarks.baselines import gaussian_mixture_labels
from tests.benchmarks.cytometry.cells import Labels, random_rows
from tests.benchmarks.cytometry.methods import (
    GMM_DIAGONAL,
    KMEANS,
    POPULATIONS,
    unsettled_fits_allowed,
)
from tests.benchmarks.matching import match_clusters
from tests.benchmarks.tables import Report, Row, bars

LEAST_ACCURACY = 0.92
DIGITS = 10
RESTARTS = 10
"""Of the peers."""


@dataclass(frozen=True)
class Digits:
    """Rows (rows, features), the columns of every view, and the digit of every row."""

    values: NDArray[np.float64]
    views: dict[str, list[int]]
    classes: Labels


def load_digits_in_views(path: Path, rows: int) -> Digits:
    """Load all rows, or so many at random."""
    with np.load(path, allow_pickle=False) as stored:
        names = sorted(set(stored) - {"labels"})
        chosen = random_rows(len(stored["labels"]), rows)
        parts = [stored[name][chosen].astype(np.float64) for name in names]
        classes = stored["labels"][chosen].astype(np.intp)
    edges = np.cumsum([0, *(part.shape[1] for part in parts)])
    views = {name: list(range(edges[t], edges[t + 1])) for t, name in enumerate(names)}
    return Digits(np.hstack(parts), views, classes)


def add_digits(report: Report, digits: Digits, seeds: int) -> None:
    """Print the accuracy of every method, and the bar on the populations."""
    sizes = ", ".join(f"{name} {len(columns)}" for name, columns in digits.views.items())
    notes = [
        f"{len(digits.classes):,} rows; features by view: {sizes}; {DIGITS} clusters",
        "accuracy and F1: clusters matched one to one with digits",
        f"peers: all features standardised, the best of {RESTARTS} restarts; ours: features as "
        "they are",
    ]
    report.add("Digits in six views", digit_rows(digits, seeds), notes)


def digit_rows(digits: Digits, seeds: int) -> list[Row]:
    """Return a row for every method."""
    standardised = StandardScaler().fit_transform(digits.values)
    table = []
    for method in (POPULATIONS, KMEANS, GMM_DIAGONAL):
        matches = [
            match_clusters(_labels(method, digits, standardised, seed), digits.classes)
            for seed in range(seeds)
        ]
        accuracies = [match.accuracy for match in matches]
        row: Row = {
            "method": method,
            "seeds": seeds,
            "accuracy": float(np.mean(accuracies)),
            "lowest": min(accuracies),
            "mean F1": float(np.mean([match.mean_f1 for match in matches])),
        }
        if method == POPULATIONS:
            row |= bars({f"accuracy >= {LEAST_ACCURACY:g}": row["accuracy"] >= LEAST_ACCURACY})
        table.append(row)
    return table


def _labels(method: str, digits: Digits, standardised: NDArray[Any], seed: int) -> Labels:
    """Cluster the rows with one method and seed."""
    if method == KMEANS:
        labels = KMeans(DIGITS, n_init=RESTARTS, random_state=seed).fit_predict(standardised)
    elif method == GMM_DIAGONAL:
        labels = gaussian_mixture_labels(
            standardised, DIGITS, RESTARTS, covariance="diag", seed=seed
        )
    else:
        model = KernelMixture(n_populations=DIGITS, views=digits.views, random_state=seed)
        with unsettled_fits_allowed():
            labels = model.fit(digits.values).predict(digits.values)
    return np.asarray(labels)
