"""The ways of clustering that are compared; the settings are the same for all data sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bigtensor import KernelMixture
from bigtensor.errors import RefinementWarning
from tests.benchmarks.cytometry.cells import Labels
from tests.benchmarks.preparations import doubtful_starts_allowed

POPULATIONS = "bigtensor, populations"
KMEANS_START = "bigtensor, kmeans"
SPECTRAL_START = "bigtensor, spectral"
FLOWSOM = "FlowSOM"
GMM_FULL = "GMM, full"
GMM_DIAGONAL = "GMM, diagonal"
KMEANS = "k-means"

Count = int | str
"""A number of clusters, or ``"auto"``."""


def kernel_mixture(seed: int, **options: Any) -> KernelMixture:
    """Return a model with its defaults, except for the options; all markers have one scale."""
    return KernelMixture(units="common", random_state=seed, **options)


def fitted_kernel_mixture(data: Any, seed: int, **options: Any) -> KernelMixture:
    """Fit such a model to all cells."""
    with unsettled_fits_allowed():
        return kernel_mixture(seed, **options).fit(data)


def kernel_mixture_labels(data: Any, seed: int, **options: Any) -> Labels:
    """Fit such a model to all cells and label them."""
    return np.asarray(fitted_kernel_mixture(data, seed, **options).predict(data))


@contextmanager
def unsettled_fits_allowed() -> Iterator[None]:
    """Silence what a fit says of its start and its end: how good it is shows in the figures."""
    with warnings.catch_warnings(), doubtful_starts_allowed():
        warnings.simplefilter("ignore", RefinementWarning)
        yield
