"""The labelled sets of scikit-learn: few rows, no cells, and no tuning on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from bigtensor import KernelMixture
from bigtensor.errors import ConstantFeatureWarning
from tests.benchmarks.baselines import gaussian_mixture_labels
from tests.benchmarks.cytometry.cells import Labels, random_rows
from tests.benchmarks.cytometry.methods import GMM_FULL, KMEANS, unsettled_fits_allowed
from tests.benchmarks.tables import Report, Row, bars

LOADERS: dict[str, Callable[..., Any]] = {
    "breast cancer": load_breast_cancer,
    "wine": load_wine,
    "iris": load_iris,
    "digits": load_digits,
}

EXPLICIT: dict[str, Callable[[int], dict[str, Any]]] = {
    "KernelMixture(k)": lambda k: {"n_components": k},
    'KernelMixture(k, start="kmeans")': lambda k: {"n_components": k, "init": "kmeans"},
    "KernelMixture(n_populations=k)": lambda k: {"n_populations": k},
}
"""Calls with the number of classes, and their parameters."""

FIRST_CALL = "KernelMixture()"

LEAST_OF_PEERS = 0.95
"""Least adjusted Rand index of the best explicit call, in parts of the better peer's."""

RESTARTS = 10
"""Of the peers."""


def add_sklearn_sets(report: Report, seeds: int, rows: int) -> None:
    """Print the adjusted Rand index of every set and call, and the bar."""
    table = [set_row(name, seeds, rows) for name in LOADERS]
    notes = [
        "adjusted Rand index with the classes, mean over seeds; the bar is on the best call with k",
        f"peers: features standardised, k clusters, the best of {RESTARTS} restarts; ours: "
        "features as they are",
        f"found: populations of {FIRST_CALL}, or its components where it merged none",
    ]
    report.add("Sets of scikit-learn", table, notes)


def set_row(name: str, seeds: int, rows: int) -> Row:
    """Return the figures of one set, or of so many of its rows at random."""
    values, classes = LOADERS[name](return_X_y=True)
    chosen = random_rows(len(values), rows)
    values, classes = values[chosen], classes[chosen]
    k = len(np.unique(classes))
    explicit = {
        call: _index(classes, [_kernel_labels(values, seed, options(k)) for seed in range(seeds)])
        for call, options in EXPLICIT.items()
    }
    first = [_kernel_labels(values, seed, {}) for seed in range(seeds)]
    peers = {
        method: _index(classes, [_peer_labels(method, values, k, seed) for seed in range(seeds)])
        for method in (KMEANS, GMM_FULL)
    }
    least, best = LEAST_OF_PEERS * max(peers.values()), max(explicit.values())
    return {
        "set": name,
        "rows": len(values),
        "features": values.shape[1],
        "k": k,
        **explicit,
        FIRST_CALL: _index(classes, first),
        "found": float(np.mean([len(np.unique(labels)) for labels in first])),
        **peers,
        **bars({f"best >= {least:.3f}": best >= least}),
    }


def _kernel_labels(values: NDArray[Any], seed: int, options: dict[str, Any]) -> Labels:
    """Fit a model with its defaults except for the options, and label all rows."""
    model = KernelMixture(random_state=seed, **options)
    with unsettled_fits_allowed():
        # the corners of the digits are empty
        warnings.simplefilter("ignore", ConstantFeatureWarning)
        return np.asarray(model.fit(values).predict(values))


def _peer_labels(method: str, values: NDArray[Any], k: int, seed: int) -> Labels:
    """Cluster standardised features."""
    standardised = StandardScaler().fit_transform(values)
    if method == KMEANS:
        model = KMeans(k, n_init=RESTARTS, random_state=seed)
        return np.asarray(model.fit_predict(standardised))
    return gaussian_mixture_labels(standardised, k, RESTARTS, seed=seed)


def _index(classes: Labels, found: Sequence[Labels]) -> float:
    """Return the mean adjusted Rand index over the seeds."""
    return float(np.mean([adjusted_rand_score(classes, labels) for labels in found]))
