"""Held-out likelihood, agreement with classes and time on real rows, beside StepMix."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from bigtensor import DiscreteMixture
from bigtensor.errors import BigtensorWarning
from tests.benchmarks.baselines.latent_classes import (
    STARTS,
    STARTS_OF_CHOICE,
    chosen_latent_classes,
    fitted_latent_classes,
)
from tests.benchmarks.discrete.real_sets import RealSet
from tests.benchmarks.tables import Report, Row, bars

MISSING = 0.1
MOST_COMPONENTS = 20

OURS, OURS_PLAIN, OURS_CHOSEN = "bigtensor", "bigtensor, ridge none", "bigtensor, auto"
PEER, PEER_CHOSEN = "StepMix", "StepMix, BIC"

LEAST_DIFFERENCE = -0.05
"""Bound on the held-out log-likelihood of the default minus that of StepMix, in nats a row."""

Parts = tuple[NDArray[np.intp], NDArray[np.intp]]


def _ours(data: RealSet, parts: Parts, seed: int, **parameters: Any) -> Row:
    """Return the figures of a fit by this library."""
    learning, judging = (data.data(part) for part in parts)
    missing = "marginalise" if (data.codes < 0).any() else "raise"
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtensorWarning)
        model = DiscreteMixture(missing=missing, random_state=seed, **parameters).fit(learning)
    seconds = time.process_time() - begun
    return {
        "k": len(model.weights_),
        "learned rows": float(model.score(learning)),
        "held-out rows": float(model.score(judging)),
        "ARI": _agreement(data, parts, np.asarray(model.predict(judging))),
        "seconds": seconds,
    }


def _peer(data: RealSet, parts: Parts, seed: int, fit: Callable[..., Any], number: int) -> Row:
    """Return the figures of a fit by StepMix."""
    learning, judging = (data.floats(part) for part in parts)
    begun = time.process_time()
    model = fit(learning, number, seed)
    seconds = time.process_time() - begun
    return {
        "k": model.n_components,
        "learned rows": float(model.score(learning)),
        "held-out rows": float(model.score(judging)),
        "ARI": _agreement(data, parts, model.predict(judging)),
        "seconds": seconds,
    }


def _agreement(data: RealSet, parts: Parts, labels: NDArray[Any]) -> float:
    """Return the adjusted Rand index of labels and classes of the held-out rows."""
    return float(adjusted_rand_score(data.classes[parts[1]], labels))


def methods(data: RealSet, *, chosen: bool) -> dict[str, Callable[[Parts, int], Row]]:
    """Return the methods for a known number of components, or those that choose it."""
    k, most = data.class_count, MOST_COMPONENTS
    if chosen:
        return {
            OURS_CHOSEN: lambda parts, seed: _ours(data, parts, seed),
            PEER_CHOSEN: lambda parts, seed: _peer(data, parts, seed, chosen_latent_classes, most),
        }
    return {
        OURS: lambda parts, seed: _ours(data, parts, seed, n_components=k),
        OURS_PLAIN: lambda parts, seed: _ours(data, parts, seed, n_components=k, ridge=None),
        PEER: lambda parts, seed: _peer(data, parts, seed, fitted_latent_classes, k),
    }


def set_rows(data: RealSet, splits: int, *, chosen: bool) -> list[Row]:
    """Return the mean figures of every method over the splits of one set."""
    table = []
    for name, method in methods(data, chosen=chosen).items():
        figures = [method(data.split(seed), seed) for seed in range(splits)]
        means = {key: float(np.mean([row[key] for row in figures])) for key in figures[0]}
        table.append({"set": data.name, "method": name, **means})
    difference = table[0]["held-out rows"] - table[-1]["held-out rows"]
    for row in table:
        # differences of a hundredth count, whatever the number of views
        row |= {key: f"{row[key]:.3f}" for key in ("learned rows", "held-out rows")}
    text = f"held-out >= StepMix {LEAST_DIFFERENCE:+g}"
    table[0] |= bars({text: difference >= LEAST_DIFFERENCE})
    return table


def add_real_data(report: Report, sets: Sequence[RealSet], splits: int) -> None:
    """Print the figures of all sets, whole and with missing entries."""
    with_gaps = [data.with_missing(MISSING, 0) for data in sets]
    notes = [
        f"means over {splits} splits in seven tenths to learn from and three tenths to judge by",
        "learned and held-out rows: mean log-likelihood, nats a row; seconds of processor time",
        f"StepMix: {STARTS} random starts, {STARTS_OF_CHOICE} for every k of the BIC's choice",
    ]
    for gaps, data in (("", sets), (f", {MISSING:.0%} of the entries missing", with_gaps)):
        for chosen in (False, True):
            title = "Real rows, k chosen" if chosen else "Real rows, k = number of classes"
            rows = [row for one in data for row in set_rows(one, splits, chosen=chosen)]
            report.add(title + gaps, rows, notes)
