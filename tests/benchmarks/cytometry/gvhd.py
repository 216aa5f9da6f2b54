"""The twelve samples of GvHD: best F1 of every class, weighted by its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from tests.benchmarks.baselines import flowsom_labels, gaussian_mixture_labels
from tests.benchmarks.cytometry.cells import Labels, Sample
from tests.benchmarks.cytometry.gvhd_probabilities import add_gvhd_probabilities
from tests.benchmarks.cytometry.methods import (
    FLOWSOM,
    GMM_DIAGONAL,
    GMM_FULL,
    KMEANS,
    KMEANS_START,
    POPULATIONS,
    SPECTRAL_START,
    kernel_mixture_labels,
)
from tests.benchmarks.matching import best_f1
from tests.benchmarks.tables import Report, Row

RESTARTS = 20
"""Of Gaussian EM and of k-means."""

LEAST_MEAN = 0.91
TOLERANCE = 0.005
LEAST_SHARE = 10 / 12
"""Of the samples on which the k-means start is no worse, by more than the tolerance, than EM."""

AUTOMATIC = f"{POPULATIONS}, auto"

Method = Callable[[Sample, int], Labels]
"""Labels of the cells of a sample, from a seed."""

Scores = dict[str, NDArray[np.float64]]
"""Name of a method to its F1: (samples, seeds)."""


def library_labels(sample: Sample, seed: int, init: str) -> Labels:
    """Fit one component a class."""
    return kernel_mixture_labels(sample.values, seed, n_components=sample.n_classes, init=init)


SEEDED: dict[str, Method] = {
    KMEANS_START: partial(library_labels, init="kmeans"),
    POPULATIONS: lambda sample, seed: kernel_mixture_labels(
        sample.values, seed, n_populations=sample.n_classes
    ),
    AUTOMATIC: lambda sample, seed: kernel_mixture_labels(
        sample.values, seed, n_populations="auto"
    ),
    SPECTRAL_START: partial(library_labels, init="spectral"),
    FLOWSOM: lambda sample, seed: flowsom_labels(sample.values, sample.n_classes, seed),
}

RESTARTED: dict[str, Method] = {
    GMM_DIAGONAL: lambda sample, seed: gaussian_mixture_labels(
        sample.values, sample.n_classes, RESTARTS, covariance="diag", seed=seed
    ),
    GMM_FULL: lambda sample, seed: gaussian_mixture_labels(
        sample.values, sample.n_classes, RESTARTS, seed=seed
    ),
    KMEANS: lambda sample, seed: KMeans(
        sample.n_classes, n_init=RESTARTS, random_state=seed
    ).fit_predict(sample.values),
}


def add_gvhd(report: Report, samples: Sequence[Sample], seeds: int) -> None:
    """Print F1 of every sample and method, their means, and the bars.

    Then calibration and weights of the samples.
    """
    notes = [
        f"unlabelled cells dropped, values as stored, k = classes; {seeds} seeds of ours and "
        "FlowSOM",
        f"Gaussian mixtures and k-means: once, the best of {RESTARTS} restarts",
        f"not worse: samples with F1 of at least that of {GMM_DIAGONAL} less {TOLERANCE:g}",
    ]
    scores = measure(samples, seeds)
    report.add("GvHD", [*sample_rows(samples, scores), *summary_rows(scores)], notes)
    add_gvhd_probabilities(report, samples, seeds)


def measure(samples: Sequence[Sample], seeds: int) -> Scores:
    """Cluster every sample with every method."""
    return {
        name: np.array(
            [[score(method, sample, seed) for seed in range(runs)] for sample in samples]
        )
        for methods, runs in ((SEEDED, seeds), (RESTARTED, 1))
        for name, method in methods.items()
    }


def score(method: Method, sample: Sample, seed: int) -> float:
    """Return the F1 of one clustering."""
    return best_f1(method(sample, seed), sample.classes)


def sample_rows(samples: Sequence[Sample], scores: Scores) -> list[Row]:
    """Return one row a sample: means over the seeds."""
    return [
        {
            "sample": sample.number,
            "cells": len(sample.classes),
            "k": sample.n_classes,
            **{name: float(values[position].mean()) for name, values in scores.items()},
        }
        for position, sample in enumerate(samples)
    ]


def summary_rows(scores: Scores) -> list[Row]:
    """Return the means over the samples, how they vary with the seed, and the comparison with EM.

    The bars are on the k-means start: its mean, and the samples on which it is not worse than EM.
    """
    means = {name: float(values.mean()) for name, values in scores.items()}
    spread = {name: float(values.mean(axis=0).std()) for name, values in scores.items()}
    reference = scores[GMM_DIAGONAL].mean(axis=1) - TOLERANCE
    not_worse = {
        name: int((values.mean(axis=1) >= reference).sum()) for name, values in scores.items()
    }
    wanted = int(np.ceil(LEAST_SHARE * len(reference)))
    return [
        {
            "sample": "mean",
            **means,
            "bars": f"{KMEANS_START} >= {LEAST_MEAN:g}",
            "holds": means[KMEANS_START] >= LEAST_MEAN,
        },
        {"sample": "sd over seeds", **spread},
        {
            "sample": "not worse",
            **not_worse,
            "bars": f"{KMEANS_START} >= {wanted} of {len(reference)}",
            "holds": not_worse[KMEANS_START] >= wanted,
        },
    ]
