"""The first call on labelled sets, beside the documented options and beside peers at their best."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from bigtensor import KernelMixture
from bigtensor.decomposition.merging.component_merging import CRITERIA
from bigtensor.errors import NoPopulationsError
from tests.benchmarks.baselines import flowsom_labels_of_counts, gaussian_mixture_labels
from tests.benchmarks.cytometry.methods import FLOWSOM, GMM_FULL, KMEANS, unsettled_fits_allowed
from tests.benchmarks.cytometry.oracle import LabelledRows, labelled_sets
from tests.benchmarks.matching import f1_of_pairs, match_clusters
from tests.benchmarks.tables import Report, Row, bars

UNITS = ("common", "own")
PEER_COUNTS = (4, 6, 8, 10, 15, 20, 30)
"""Numbers of clusters of the peers, of which the best is shown."""

PEER_ROWS = 10_000
"""Rows that the full Gaussian mixture is fitted to; it labels all of them."""

BEHIND = 0.03
"""How much less the mean F1 of the first call may be than that of the best options."""

STABILITIES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
"""Limits between which populations are counted."""

AGREES = 0.5
"""F1 above which a population agrees with a class."""

Scores = dict[str, float]
StabilityAndF1 = tuple[float, float]


def add_first_calls(
    report: Report, data: Path, folder: Path, seeds: int, files: int, rows: int
) -> None:
    """Print what the call without options finds, and what the best options and peers do."""
    found: list[StabilityAndF1] = []
    table = [
        first_call_row(name, parts, seeds, found)
        for name, parts in labelled_sets(data, folder, files, rows)
    ]
    notes = [
        "mean F1 of classes, clusters matched one to one; mean over parts and seeds",
        "best options: of two units and six criteria of merging, with the number that is chosen",
        f"peers: the best number of clusters of {', '.join(map(str, PEER_COUNTS))}; features as "
        f"they are, and standardised for mfeat; {GMM_FULL} is fitted to {PEER_ROWS:,} rows",
        "spread: standard deviation of the first call over seeds",
    ]
    report.add("The first call", table, notes)
    report.add("Stability of populations of the first call", stability_rows(np.array(found)))


def stability_rows(found: NDArray[np.float64]) -> list[Row]:
    """Return how often populations agree with a class, by their stability.

    Parameters
    ----------
    found : (populations, 2) float64 array
        Stability of populations, and their F1 with the most similar class.
    """
    rows: list[Row] = []
    for low, high in pairwise(STABILITIES):
        f1 = found[(found[:, 0] >= low) & (found[:, 0] < high), 1]
        share = float((f1 > AGREES).mean()) if len(f1) else float("nan")
        mean = float(f1.mean()) if len(f1) else float("nan")
        row = {"from": low, "to": min(high, 1.0), "populations": len(f1), "mean F1": mean}
        rows.append({**row, f"F1 > {AGREES:g}": share})
    return rows


def first_call_row(
    name: str, parts: list[LabelledRows], seeds: int, found: list[StabilityAndF1]
) -> Row:
    """Return the figures of one set, and add those of its populations to the list."""
    first = np.array([[_first_call(part, seed, found) for part in parts] for seed in range(seeds)])
    chosen = float(first.mean())
    options = _means(_option_scores(part, seed) for part in parts for seed in range(seeds))
    peers = _means(_peer_scores(part, seed) for part in parts for seed in range(seeds))
    best_options = max(options, key=options.__getitem__)
    best = {
        method: max(value for key, value in peers.items() if key.startswith(f"{method}, "))
        for method in (FLOWSOM, KMEANS, GMM_FULL)
    }
    least = options[best_options] - BEHIND
    return {
        "set": name,
        "first call": chosen,
        "spread": float(first.mean(axis=1).std()),
        "best options": options[best_options],
        "these": best_options,
        **best,
        **bars(
            {
                f"first call >= {least:.3f}": chosen >= least,
                f"first call > {max(best.values()):.3f}": chosen > max(best.values()),
            }
        ),
    }


def _first_call(part: LabelledRows, seed: int, found: list[StabilityAndF1]) -> float:
    """Return the mean F1 of the call without options, and add its populations to the list."""
    model = _model(part, seed)
    labels = np.asarray(model.predict(part.values))
    with suppress(NoPopulationsError):
        stability = model.population_stability_
        f1 = f1_of_pairs(labels, part.classes).max(axis=0)
        found += zip(stability.tolist(), f1.tolist(), strict=False)
    return match_clusters(labels, part.classes).mean_f1


def _model(part: LabelledRows, seed: int, **options: Any) -> KernelMixture:
    """Fit the model with its defaults except for the views and the options."""
    views = {"views": part.options["views"]} if "views" in part.options else {}
    with unsettled_fits_allowed():
        return KernelMixture(random_state=seed, **views, **options).fit(part.values)


def _option_scores(part: LabelledRows, seed: int) -> Scores:
    """Return the mean F1 of the number of populations that is chosen, by units and criterion."""
    return {
        f"{units}, {merging}": _score(
            _model(part, seed, units=units, merging=merging, n_populations="auto").predict(
                part.values
            ),
            part,
        )
        for units, merging in product(UNITS, CRITERIA)
    }


def _peer_scores(part: LabelledRows, seed: int) -> Scores:
    """Return the mean F1 of the peers, by method and number of clusters."""
    values = np.ascontiguousarray(part.values, np.float64)
    if "views" in part.options:
        values = (values - values.mean(axis=0)) / values.std(axis=0)
    scores = {
        f"{FLOWSOM}, {count}": _score(labels, part)
        for count, labels in flowsom_labels_of_counts(values, PEER_COUNTS, seed).items()
    }
    for count in PEER_COUNTS:
        centres = KMeans(count, n_init=3, random_state=seed).fit(values)
        scores[f"{KMEANS}, {count}"] = _score(centres.labels_, part)
        labels = gaussian_mixture_labels(values, count, 1, PEER_ROWS, seed=seed)
        scores[f"{GMM_FULL}, {count}"] = _score(labels, part)
    return scores


def _score(labels: Any, part: LabelledRows) -> float:
    """Return the mean F1 of the classes."""
    return match_clusters(np.asarray(labels), part.classes).mean_f1


def _means(scores: Iterator[Scores]) -> Scores:
    """Return the mean of every entry."""
    every = list(scores)
    return {name: float(np.mean([one[name] for one in every])) for name in every[0]}
