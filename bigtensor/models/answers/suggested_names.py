"""Suggested names of populations, from the modes of every feature in a fitted mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.marker_names import (
    Threshold,
    marker_signs,
    marker_threshold,
    names_by_markers,
)
from bigtensor.decomposition.merging.relative_levels import numbered, with_relative_levels
from bigtensor.models.answers.fitted_mixture import FittedMixture

_ROWS, _ALL_ROWS = 1_000, 100_000
"""Rows drawn from every component, and about as many from all components together at most."""

_FEWEST_ROWS = 200
"""Rows drawn from every component at least."""

_FEW_VALUES = 20
"""Most distinct values of a feature of categories."""


@dataclass(frozen=True)
class SuggestedNames:
    """Names by markers, and the thresholds that they come from.

    Attributes
    ----------
    names : tuple of str
        One for every population; empty text if no feature has two modes.
    thresholds : mapping of str to float
        Values above which a population is positive, of the features that have a threshold.
    """

    names: tuple[str, ...]
    thresholds: dict[str, float]


def suggested_names(
    fitted: FittedMixture, of_component: NDArray[np.intp], features: Sequence[str]
) -> SuggestedNames:
    """Return names of populations by the features that they are positive and negative for.

    Rows are drawn from every component of the mixture, so that no data are read.

    Parameters
    ----------
    fitted : fitted mixture
        Mixture that rows are drawn from.
    of_component : (k,) integer array
        Population of every component.
    features : sequence of str
        Names of the features in the order of the views.
    """
    weights = np.asarray(fitted.mixture().weights, np.float64)
    each = int(np.clip(_ALL_ROWS // len(weights), _FEWEST_ROWS, _ROWS))
    label = np.repeat(np.arange(len(weights), dtype=np.int32), each)
    values = fitted.draw_rows(label, np.random.default_rng(0)).astype(np.float64)
    population = of_component[label]
    of_population = np.bincount(of_component, weights).astype(np.float64)
    # the root of the weights, so that rare populations are modes too
    weight = weights[label] / np.sqrt(of_population[population]) / each
    within = weights[label] / of_population[population] / each
    thresholds: dict[str, Threshold] = {}
    shares: list[FloatArray] = []
    for feature, column in zip(features, values.T, strict=True):
        threshold = None
        if len(np.unique(column)) > _FEW_VALUES:
            threshold = marker_threshold(column, weight)
        if threshold is not None:
            thresholds[feature] = threshold
            above = np.bincount(population, within * (column > threshold.value))
            shares.append(above.astype(np.float64))
    if not thresholds:
        return SuggestedNames(("",) * len(of_population), {})
    depths = [threshold.depth for threshold in thresholds.values()]
    names = names_by_markers(marker_signs(np.array(shares)), depths, list(thresholds))
    means = _standardised_means(values, population, within, of_population)
    names = numbered(with_relative_levels(names, means, features))
    return SuggestedNames(names, {name: one.value for name, one in thresholds.items()})


def _standardised_means(
    values: FloatArray,
    population: NDArray[np.intp],
    within: FloatArray,
    of_population: FloatArray,
) -> FloatArray:
    """Return the mean of every feature by population in overall standard deviations."""
    means = np.array([np.bincount(population, within * column) for column in values.T])
    squares = np.array([np.bincount(population, within * column**2) for column in values.T])
    weights = of_population / of_population.sum()
    overall = means @ weights
    spread = np.sqrt(np.maximum(squares @ weights - overall**2, np.finfo(np.float64).tiny))
    return np.asarray((means - overall[:, None]) / spread[:, None])
