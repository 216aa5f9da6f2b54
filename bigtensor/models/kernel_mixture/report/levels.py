"""Profiles of components, or of the populations that they were merged into."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.models.kernel_mixture.report.described_mixture import DescribedKernelMixture
from bigtensor.models.kernel_mixture.report.feature_profiles import (
    FeatureProfile,
    feature_profiles,
    overlaps,
    standardised_means,
    to_one,
)
from bigtensor.models.words.label_level import LabelLevel, level_of
from bigtensor.models.words.sampled_rows import row_answers

DRAWN_ROWS = 10_000
"""Rows drawn from the model to see how much its populations overlap."""


@dataclass(frozen=True, eq=False)
class Level:
    """Components or populations that labels stand for, with densities of every feature.

    Attributes
    ----------
    name : {"component", "population"}
        Kind of the things that labels stand for.
    weights : (m,) float64 array
        Descending.
    profiles : tuple of FeatureProfile
        With m densities each.
    standardised : (features, m) float64 array
        See `standardised_means`.
    overlap : (m, m) float64 array
        How much any two resemble each other, from 0 (apart) to 1 (the same).
    suggested_names : tuple of str
        Names by markers; empty texts if no marker has two modes.
    """

    name: str
    weights: FloatArray
    profiles: tuple[FeatureProfile, ...]
    standardised: FloatArray
    overlap: FloatArray
    suggested_names: tuple[str, ...] = ()

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
    """Level that the report shows, and the means of its components.

    Attributes
    ----------
    shown : Level
        Populations where the model has any, else components.
    labels : LabelLevel
        Level of the labels, with the population of every component.
    component_means : (features, k) float64 array
        Standardised.
    """

    shown: Level
    labels: LabelLevel
    component_means: FloatArray


def levels_of(model: DescribedKernelMixture) -> Levels:
    """Describe a fitted model at the level of its labels."""
    labels, suggested = level_of(model), tuple(model.suggest_population_names())
    weights, profiles = labels.component_weights, feature_profiles(model)
    means = standardised_means(profiles, weights)
    if labels.of_component is None:
        overlap = overlaps(model, profiles)
        shown = Level("component", weights, profiles, means, overlap, suggested)
        return Levels(shown, labels, means)
    merged = merged_profiles(profiles, weights, labels.of_component)
    standardised = standardised_means(merged, labels.weights)
    overlap = population_overlaps(model)
    shown = Level("population", labels.weights, merged, standardised, overlap, suggested)
    return Levels(shown, labels, means)


def merged_profiles(
    profiles: tuple[FeatureProfile, ...], weights: FloatArray, of_component: NDArray[np.intp]
) -> tuple[FeatureProfile, ...]:
    """Describe every feature by population.

    The density of a population is the sum of those of its components, each times its share of the
    population; means and variances follow from the laws of total expectation and variance.

    Parameters
    ----------
    profiles : tuple of FeatureProfile
        Of the components.
    weights : (k,) array
        Mixing weights of the components.
    of_component : (k,) integer array
        The population of every component.
    """
    member = of_component[:, None] == np.arange(int(of_component.max()) + 1)
    shares = weights[:, None] * member
    shares = shares / np.maximum(shares.sum(axis=0), np.finfo(np.float64).tiny)
    return tuple(_merged(profile, shares) for profile in profiles)


def _merged(profile: FeatureProfile, shares: FloatArray) -> FeatureProfile:
    """Describe one feature. ``shares`` are the shares of components in populations."""
    mean = profile.mean @ shares
    spread = profile.sd[:, None] ** 2 + (profile.mean[:, None] - mean) ** 2
    sd = np.sqrt((shares * spread).sum(axis=0))
    return replace(profile, density=profile.density @ shares, mean=mean, sd=sd)


def population_overlaps(model: DescribedKernelMixture) -> FloatArray:
    r"""Return how much any two populations resemble each other, from 0 (apart) to 1 (the same).

    The affinity :math:`\int \sqrt{p_a p_b}` (Bhattacharyya 1943). Views are not independent within
    a population, so it is no product over them: it is estimated from 10,000 rows that are drawn
    from the model, as the mean of :math:`\sqrt{r_a r_b}` over :math:`\sqrt{\pi_a \pi_b}` with r
    the probabilities that labels come from.

    Parameters
    ----------
    model : fitted model
        With populations.

    Returns
    -------
    (populations, populations) float64 array
        Symmetric, ones on the diagonal.
    """
    fitted = model._mixture()
    values, _ = fitted.draw(DRAWN_ROWS, model._generator())
    drawn = Block(values, fitted.slices, 0, DRAWN_ROWS)
    probability = row_answers(model, drawn, ("probability",))["probability"].astype(np.float64)
    root = np.sqrt(probability)
    return to_one(root.T @ root)
