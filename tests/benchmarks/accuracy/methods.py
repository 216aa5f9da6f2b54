"""The ways of estimating that are compared: this library's with either start, and the baselines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.data.simulate import labelled_kernel_density
from tests.benchmarks.accuracy.truth import Truth
from tests.benchmarks.baselines import (
    diagonal_mixture_densities,
    histogram_spectral_densities,
    npem_densities,
    spherical_spectral_densities,
)
from tests.benchmarks.preparations import doubtful_starts_allowed

FloatArray = NDArray[np.float64]
Estimate = Callable[[Truth], list[FloatArray] | None]
"""Component densities on the grids of a data set; None where the method does not apply."""


def kernel_mixture_densities(truth: Truth, **options: Any) -> list[FloatArray]:
    """Fit a kernel mixture with the model's defaults, except for the options."""
    model = KernelMixture(truth.n_components, random_state=0, **options)
    with doubtful_starts_allowed():
        model.fit(truth.data)
    return [
        model.component_density(feature, grid)
        for feature, grid in zip(truth.features, truth.grids, strict=True)
    ]


def labelled_densities(truth: Truth) -> list[FloatArray]:
    """Estimate kernel densities that know the label of every row: the lower reference."""
    label = truth.data["label"].to_numpy()
    return [
        labelled_kernel_density(truth.values[:, view], label, truth.n_components, grid)
        for view, grid in enumerate(truth.grids)
    ]


def from_values(
    fit: Callable[..., list[FloatArray] | None], **options: Any
) -> Callable[[Truth], list[FloatArray] | None]:
    """Return a baseline as a function of a data set."""
    return lambda truth: fit(truth.values, truth.n_components, truth.grids, **options)


SPECTRAL, KMEANS = "spectral", "kmeans"
LABELLED, EM = "labelled KDE", "EM-GMM"
NPEM_POOLED, NPEM = "npEM pooled", "npEM own"
SPHERICAL, HISTOGRAM = "Hsu-Kakade", "histogram"
KMEANS_ONCE, SPECTRAL_SIX = "kmeans, 1 pass", "spectral, 6 passes"

REPORTED_WIDTH = SpectralOptions(posterior_width=None)
"""EM iterations with the width of the reported densities."""

METHODS: dict[str, Estimate] = {
    SPECTRAL: partial(kernel_mixture_densities, init="spectral"),
    KMEANS: partial(kernel_mixture_densities, init="kmeans", spectral=REPORTED_WIDTH),
    SPECTRAL_SIX: partial(kernel_mixture_densities, init="spectral", max_iter=6),
    KMEANS_ONCE: partial(
        kernel_mixture_densities, init="kmeans", spectral=REPORTED_WIDTH, max_iter=1
    ),
    LABELLED: labelled_densities,
    EM: from_values(diagonal_mixture_densities),
    NPEM_POOLED: from_values(npem_densities, width="pooled"),
    NPEM: from_values(npem_densities, width="component"),
    SPHERICAL: from_values(spherical_spectral_densities),
    HISTOGRAM: from_values(histogram_spectral_densities),
}

OURS = (SPECTRAL, KMEANS)
BASELINES = (LABELLED, EM, NPEM_POOLED, NPEM, SPHERICAL, HISTOGRAM)
