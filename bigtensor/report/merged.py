"""Populations from their components: densities, means, and how much two of them overlap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.report.profiles import FeatureProfile, to_one
from bigtensor.report.rows import as_fitted

FloatArray = NDArray[np.float64]

DRAWN_ROWS = 10_000
"""Rows drawn from the model to see how much its populations overlap."""


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
    of_component : (k,) integer array
        The population of every component.

    Returns
    -------
    tuple of FeatureProfile
    """
    member = of_component[:, None] == np.arange(int(of_component.max()) + 1)
    shares = weights[:, None] * member
    shares = shares / np.maximum(shares.sum(axis=0), np.finfo(np.float64).tiny)
    return tuple(_merged(profile, shares) for profile in profiles)


def _merged(profile: FeatureProfile, shares: FloatArray) -> FeatureProfile:
    """Describe one feature; ``shares`` are those of components in populations."""
    mean = profile.mean @ shares
    spread = profile.sd[:, None] ** 2 + (profile.mean[:, None] - mean) ** 2
    sd = np.sqrt((shares * spread).sum(axis=0))
    return replace(profile, density=profile.density @ shares, mean=mean, sd=sd)


def population_overlaps(model: Any) -> FloatArray:
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
    drawn, _ = model.sample(DRAWN_ROWS)
    # drawn in the order of the data, wanted in that of the views
    values = drawn[:, np.argsort(np.argsort(model.views_.order))]
    probability = np.asarray(model.predict_proba(as_fitted(values, model)), np.float64)
    root = np.sqrt(probability)
    return to_one(root.T @ root)
