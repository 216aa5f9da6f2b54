"""Calibration and weights of the samples of GvHD, each fitted by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bigtensor import KernelMixture
from tests.benchmarks.baselines import fitted_gaussian_mixture
from tests.benchmarks.calibration import Reliability
from tests.benchmarks.cytometry.cells import Labels, Sample
from tests.benchmarks.cytometry.methods import (
    GMM_FULL,
    KMEANS_START,
    POPULATIONS,
    Count,
    fitted_kernel_mixture,
    unsettled_fits_allowed,
)
from tests.benchmarks.cytometry.reliability import Curves, add_calibration
from tests.benchmarks.cytometry.weights import (
    OTHER_PARTS,
    PARTS,
    Distances,
    distances,
    tilted,
    weight_row,
)
from tests.benchmarks.tables import Report

LARGEST_ERROR = 0.05
"""Of the expected calibration error of populations, mean over samples and seeds."""

CLASSES = "classes"
"""As many populations or components as the sample has classes."""

WHOLE = "whole samples"

Name = tuple[Count, str]
"""Number of clusters asked for, and method."""

MODELS: dict[Name, Callable[[int], dict[str, Any]]] = {
    (CLASSES, POPULATIONS): lambda k: {"n_populations": k},
    ("auto", POPULATIONS): lambda _: {"n_populations": "auto"},
    (CLASSES, KMEANS_START): lambda k: {"n_components": k, "init": "kmeans"},
}
"""Models of the library, and their parameters for so many classes."""


def add_gvhd_probabilities(report: Report, samples: Sequence[Sample], seeds: int) -> None:
    """Print calibration errors, reliability curves, and distances of weights."""
    curves: Curves = {}
    weights: dict[tuple[Name, str], list[Distances]] = {}
    for seed in range(seeds):
        for sample in samples:
            models = {
                name: fitted_kernel_mixture(sample.values, seed, **options(sample.n_classes))
                for name, options in MODELS.items()
            }
            for name, curve in reliabilities(models, sample, seed).items():
                curves.setdefault(name, []).append(curve)
            for name, model in models.items():
                for kind, distance in weight_distances(model, sample, seed).items():
                    weights.setdefault((name, kind), []).append(distance)
    add_calibration(report, "GvHD", curves, LARGEST_ERROR)
    rows = [
        weight_row(found, k=asked, method=method, groups=kind)
        for ((asked, method), kind), found in weights.items()
    ]
    note = "distance of shares of classes from gated shares (total variation), mean over samples"
    report.add("GvHD: weights", rows, [note])


def reliabilities(
    models: Mapping[Name, KernelMixture], sample: Sample, seed: int
) -> dict[Name, Reliability]:
    """Return the calibration of models of one sample, and of a full Gaussian mixture."""
    probabilities = {
        name: np.asarray(model.predict_proba(sample.values)) for name, model in models.items()
    }
    peer = fitted_gaussian_mixture(sample.values, sample.n_classes, 1, seed=seed)
    probabilities[CLASSES, GMM_FULL] = peer.predict_proba(sample.values)
    classes = _codes(sample)
    return {
        name: Reliability.of_populations(found, classes) for name, found in probabilities.items()
    }


def weight_distances(model: KernelMixture, sample: Sample, seed: int) -> dict[str, Distances]:
    """Return the distances of weights of the sample, and of parts of other composition."""
    classes, label = _codes(sample), np.asarray(model.predict(sample.values))
    parts = tilted(classes, PARTS, np.random.default_rng((seed, sample.number)))
    groups = {WHOLE: np.zeros(len(label), np.intp), OTHER_PARTS: parts}
    with unsettled_fits_allowed():
        return {
            kind: distances(model, sample.values, classes, group, label)
            for kind, group in groups.items()
        }


def _codes(sample: Sample) -> Labels:
    """Return the classes as numbers from 0."""
    return np.unique(sample.classes, return_inverse=True)[1]
