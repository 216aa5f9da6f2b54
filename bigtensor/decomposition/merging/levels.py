"""Levels of features: the place of each component between the low and high values of a feature.

Gates divide cells into low and high ones, marker by marker. Two components on the same side of
every division are alike, whatever their distance.
"""

from __future__ import annotations

import numpy as np

from bigtensor.array_types import FloatArray

BEYOND = 0.25
"""How far beyond both levels a place may lie, in parts of the distance of the levels.

Components of rows that are far out would set the scale otherwise. With 0.1 the mean F1 of eleven
labelled sets was 0.739 in place of 0.745, with 0.5 it was as large.
"""

SHARE_POWER = 2
"""Power of the share of variance that lies between the levels, by which a feature counts.

With 1 and 3 the mean F1 of eleven labelled sets was 0.736 and 0.743, in place of 0.745.
"""


def places_in_levels(means: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the places of components between the two levels of every feature.

    The component means of a feature are divided into two clusters with the least variance within
    them, weighted by mass. The means of the clusters are the levels. The low level has the place 0,
    and the high level 1. Places are multiplied by the square of the share of variance between the
    levels. This share is 1 if components have two values, and less if they spread evenly. The unit
    and the zero point of a feature change no distance of two places.

    Parameters
    ----------
    means : (k, d) float64 array
        Means of the components.
    mass : (k,) float64 array
        Weights of the components.

    Returns
    -------
    (k, d) float64 array
        Zero in features in which all components are the same.
    """
    places = np.zeros(means.shape)
    for feature in range(means.shape[1]):
        low, high, share = two_levels(means[:, feature], mass)
        if share > 0:
            place = np.clip((means[:, feature] - low) / (high - low), -BEYOND, 1 + BEYOND)
            places[:, feature] = place * share**SHARE_POWER
    # features in an order of their own: rounding of their sums may decide between equal pairs
    return np.asarray(places[:, np.lexsort(places)])


def two_levels(means: FloatArray, mass: FloatArray) -> tuple[float, float, float]:
    """Return the low and the high level, and the share of variance that lies between them.

    Parameters
    ----------
    means : (k,) float64 array
        Means of one feature, by component.
    mass : (k,) float64 array
        Weights of the components.
    """
    order = np.argsort(means, kind="stable")
    values, masses = means[order], mass[order]
    total = float(masses.sum())
    centre = float(masses @ values) / total
    values -= centre
    below = np.cumsum(masses)[:-1]
    sums = np.cumsum(masses * values)[:-1]
    # the clusters balance around the centre: a sum below is minus the sum above
    between = np.divide(
        sums**2 * total, below * (total - below), where=sums < 0, out=np.zeros(sums.shape)
    )
    variance = float(masses @ values**2)
    if not between.any() or variance <= 0:
        return centre, centre, 0.0
    split = int(np.argmax(between))
    low = sums[split] / below[split]
    high = -sums[split] / (total - below[split])
    return centre + low, centre + high, min(float(between[split]) / variance, 1.0)
