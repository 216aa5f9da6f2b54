"""Pairs of features in which the components lie apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.descending_order import largest_in_place
from bigtensor.models.kernel_mixture.report.feature_profiles import FeatureProfile

CANDIDATES = 32
"""Features that pairs are made of: with more, those that separate least by themselves are left."""


def choose_pairs(
    profiles: tuple[FeatureProfile, ...], weights: FloatArray, limit: int = 12
) -> list[tuple[int, int]]:
    r"""Choose pairs of features so that every two components lie apart in at least one of them.

    How well a pair of features separates two components is ``1 - exp(-d^2 / 8)`` with d the
    distance of their means in pooled standard deviations: one minus the affinity of two normal
    distributions of equal covariance (Bhattacharyya 1943). Pairs are taken greedily, each the one
    that adds most to the best separation so far, over all pairs of components with the weight
    :math:`\sqrt{\pi_a \pi_b}`.

    Parameters
    ----------
    profiles : tuple of FeatureProfile
        Features to choose from.
    weights : (k,) array
        Mixing weights.
    limit : int, default 12
        Pairs at most.

    Returns
    -------
    list of (int, int)
        Positions among the profiles, the first smaller; the most telling pair first.
    """
    a, b = np.triu_indices(len(weights), 1)
    importance = np.sqrt(weights[a] * weights[b])
    squares = np.stack([_squared_distances(profile)[a, b] for profile in profiles])
    alone = -np.expm1(-squares / 8) @ importance
    ranked = largest_in_place(alone, CANDIDATES)
    pairs = [(int(i), int(j)) for i, j in combinations(ranked, 2)]
    if not pairs:
        return []
    separation = np.stack([-np.expm1(-(squares[i] + squares[j]) / 8) for i, j in pairs])
    reached = np.zeros(len(a))
    chosen: list[int] = []
    while len(chosen) < min(limit, len(pairs)):
        gain = np.maximum(separation - reached, 0.0) @ importance
        # once every two components lie apart, the pairs that separate most are left to show
        gain += 1e-3 * separation @ importance
        gain[chosen] = -1.0
        best = int(np.argmax(gain))
        chosen.append(best)
        reached = np.maximum(reached, separation[best])
    return [pairs[index] for index in chosen]


def _squared_distances(profile: FeatureProfile) -> FloatArray:
    """Return the squared distance of the means of any two components, in pooled deviations."""
    variance = profile.sd**2
    pooled = (variance[:, None] + variance) / 2
    return np.asarray((profile.mean[:, None] - profile.mean) ** 2 / pooled)
