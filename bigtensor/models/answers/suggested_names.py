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

_QUANTILES, _ALL_QUANTILES = 1_000, 100_000
"""Quantiles of every component, and about as many of all components together at most."""

_FEWEST_QUANTILES = 200
"""Quantiles of every component at least."""

_DEPTH_DIGITS = 2
"""Decimals of depths that are compared. Rounding decides further ones of modes that are apart."""

_SEPARATION_DIGITS = 9
"""Decimals of shares of variance that are compared."""


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

    Quantiles of the components stand for rows, so that no data are read and the order and the units
    of the features change no name. Categories are left out, because they have no order.

    Parameters
    ----------
    fitted : fitted mixture
        Mixture whose populations are named.
    of_component : (k,) integer array
        Population of every component.
    features : sequence of str
        Names of the features in the order of the views.
    """
    weights = np.asarray(fitted.mixture().weights, np.float64)
    of_population = np.bincount(of_component, weights).astype(np.float64)
    markers = _markers(fitted, weights, of_component, of_population, features)
    thresholds = {one.name: one.threshold for one in markers if one.threshold is not None}
    if not thresholds:
        return SuggestedNames(("",) * len(of_population), {})
    shares = np.array([one.positive for one in markers if one.threshold is not None])
    depths = [round(threshold.depth, _DEPTH_DIGITS) for threshold in thresholds.values()]
    names = names_by_markers(marker_signs(shares), depths, list(thresholds))
    means = np.array([one.means for one in markers])
    names = numbered(with_relative_levels(names, means, [one.name for one in markers]))
    return SuggestedNames(names, {name: one.value for name, one in thresholds.items()})


@dataclass(frozen=True, eq=False)
class _Marker:
    """Distribution of a feature in the populations.

    Attributes
    ----------
    name : str
        Name of the feature.
    means : (populations,) float64 array
        Means less the overall mean, in overall standard deviations.
    threshold : Threshold or None
        None for one mode.
    positive : (populations,) float64 array
        Share of every population above the threshold; zero without one.
    """

    name: str
    means: FloatArray
    threshold: Threshold | None
    positive: FloatArray


def _markers(
    fitted: FittedMixture,
    weights: FloatArray,
    of_component: NDArray[np.intp],
    of_population: FloatArray,
    features: Sequence[str],
) -> list[_Marker]:
    """Return the features with an order, those that separate the populations best first.

    Their positions then decide nothing: the first of several features that serve a name equally
    well is the one that separates best.
    """
    count = int(np.clip(_ALL_QUANTILES // len(weights), _FEWEST_QUANTILES, _QUANTILES))
    levels = (np.arange(count) + 0.5) / count
    within = weights / of_population[of_component]
    # the root of the weights, so that rare populations are modes too
    weight = np.repeat(weights / np.sqrt(of_population[of_component]), count)
    markers = []
    for column, feature in enumerate(features):
        values = fitted.feature_quantiles(column, levels)
        if values is None:
            continue
        threshold = marker_threshold(values.ravel(), weight)
        above = values > (np.inf if threshold is None else threshold.value)
        positive = np.bincount(of_component, within * above.mean(axis=1)).astype(np.float64)
        means = _standardised_means(values, weights, within, of_component)
        markers.append(_Marker(feature, means, threshold, positive))
    total = of_population / of_population.sum()

    def separation(marker: _Marker) -> tuple[float, str]:
        """Return the share of variance between populations; names decide between equal columns."""
        return -round(float(total @ marker.means**2), _SEPARATION_DIGITS), marker.name

    return sorted(markers, key=separation)


def _standardised_means(
    values: FloatArray, weights: FloatArray, within: FloatArray, of_component: NDArray[np.intp]
) -> FloatArray:
    """Return the mean of a feature by population in overall standard deviations."""
    shares = weights / weights.sum()
    # far from zero, squares of the values themselves would lose their digits
    centred = values - shares @ values.mean(axis=1)
    spread = np.sqrt(shares @ np.square(centred).mean(axis=1))
    means = np.bincount(of_component, within * centred.mean(axis=1))
    return np.asarray(means / max(spread, np.finfo(np.float64).tiny))
