"""The ways of clustering that are compared; the settings are the same for all data sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bigtensor import KernelMixture
from bigtensor.errors import RefinementWarning
from bigtensor.models.kernel_mixture.parameters import n_components_of
from tests.benchmarks.cytometry.cells import Cells, Labels
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


def kernel_mixture_labels(data: Any, seed: int, **options: Any) -> Labels:
    """Fit such a model to all cells and label them."""
    model = kernel_mixture(seed, **options)
    with unsettled_fits_allowed():
        model.fit(data)
    return np.asarray(model.predict(data))


def population_labels(
    cells: Cells, counts: Sequence[Count], seed: int
) -> Iterator[tuple[Count, int, Labels]]:
    """Yield, for every number of populations, that number, how many there are, and the labels.

    Models with equally many components differ only in where their tree is cut, and are fitted once.
    """
    fitted: dict[int, KernelMixture] = {}
    for count in counts:
        model = kernel_mixture(seed, views=cells.views, n_populations=count)
        components = n_components_of(model, len(cells.gates))
        if components not in fitted:
            with unsettled_fits_allowed():
                fitted[components] = model.fit(cells.store)
        model = fitted[components].cut_populations(count)
        yield count, len(model.population_weights_), np.asarray(model.predict(cells.store))


@contextmanager
def unsettled_fits_allowed() -> Iterator[None]:
    """Silence what a fit says of its start and its end: how good it is shows in the figures."""
    with warnings.catch_warnings(), doubtful_starts_allowed():
        warnings.simplefilter("ignore", RefinementWarning)
        yield
