"""What the report counts in: components, or the populations that they were merged into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.summary import population_of_component
from bigtensor.report.merged import merged_profiles, population_overlaps
from bigtensor.report.profiles import (
    FeatureProfile,
    feature_profiles,
    overlaps,
    standardised_means,
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Level:
    """Components, or populations: what labels stand for, with densities of every feature.

    Attributes
    ----------
    name : {"component", "population"}
    weights : (m,) float64 array
        Descending.
    profiles : tuple of FeatureProfile
        With m densities each.
    standardised : (features, m) float64 array
        See `bigtensor.report.profiles.standardised_means`.
    overlap : (m, m) float64 array
        How much any two resemble each other, from 0 (apart) to 1 (the same).
    """

    name: str
    weights: FloatArray
    profiles: tuple[FeatureProfile, ...]
    standardised: FloatArray
    overlap: FloatArray

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        return [profile.feature for profile in self.profiles]

    @property
    def count(self) -> int:
        """The number of components, or of populations."""
        return len(self.weights)


@dataclass(frozen=True, eq=False)
class Levels:
    """What the report shows first, and what populations are made of.

    Attributes
    ----------
    shown : Level
        Populations where the model has any, else components.
    of_component : (k,) integer array or None
        The population of every component.
    component_weights : (k,) float64 array
    component_means : (features, k) float64 array
        Standardised.
    """

    shown: Level
    of_component: NDArray[np.intp] | None
    component_weights: FloatArray
    component_means: FloatArray


def levels_of(model: Any) -> Levels:
    """Describe a fitted model at the level of its labels.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    Levels
    """
    weights = np.asarray(model.weights_, np.float64)
    profiles = feature_profiles(model)
    means = standardised_means(profiles, weights)
    of_component = population_of_component(model)
    if of_component is None:
        shown = Level("component", weights, profiles, means, overlaps(model, profiles))
        return Levels(shown, None, weights, means)
    merged = merged_profiles(profiles, weights, of_component)
    population_weights = np.asarray(model.population_weights_, np.float64)
    shown = Level(
        "population",
        population_weights,
        merged,
        standardised_means(merged, population_weights),
        population_overlaps(model),
    )
    return Levels(shown, of_component, weights, means)
