"""Pairs of Gaussian components of one covariance that so many rows do not tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IndexArray

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
_WEIGHTS = _WEIGHTS / np.sqrt(2 * np.pi)


@dataclass(frozen=True, eq=False)
class DistinctComponents:
    """Components after indistinct pairs are merged.

    Attributes
    ----------
    weights : (m,) float64 array
        Sums of the weights of the members.
    points : (m, d) float64 array
        Whitened means.
    members : (k,) integer array
        The component that every given one is part of.
    """

    weights: FloatArray
    points: FloatArray
    members: IndexArray


def merge_indistinct(weights: FloatArray, points: FloatArray, rows: float) -> DistinctComponents:
    """Merge pairs of components that the Bayesian information criterion prefers to see as one.

    A pair of n rows gains n times its divergence from one component, and costs ``(d + 1) / 2 log
    n`` (Schwarz 1978). The pair of the largest loss is merged first.

    Parameters
    ----------
    weights : (k,) float64 array
        Positive.
    points : (k, d) float64 array
        Means in coordinates in which the shared covariance is the identity.
    rows : float
        Rows that the components were estimated from.
    """
    weights, points = weights.copy(), points.copy()
    members = np.arange(len(weights))
    left = np.ones(len(weights), bool)
    gains = np.full((len(weights),) * 2, np.inf)
    for component in range(1, len(weights)):
        others = np.arange(component)
        gains[component, others] = _gains(weights, points, component, others, rows)
    while left.sum() > 1:
        gone, kept = np.unravel_index(np.argmin(gains), gains.shape)
        if gains[gone, kept] >= 0:
            break
        mass = weights[kept] + weights[gone]
        points[kept] = (weights[kept] * points[kept] + weights[gone] * points[gone]) / mass
        weights[kept], left[gone] = mass, False
        members[members == gone] = kept
        gains[gone], gains[:, gone] = np.inf, np.inf
        others = np.flatnonzero(left & (np.arange(len(left)) != kept))
        first, second = np.maximum(others, kept), np.minimum(others, kept)
        gains[first, second] = _gains(weights, points, int(kept), others, rows)
    place = np.cumsum(left) - 1
    return DistinctComponents(weights[left], points[left], place[members])


def pair_divergence(shares: FloatArray, distances: FloatArray) -> FloatArray:
    """Return the divergence of Kullback and Leibler of pairs of components from one at their mean.

    Parameters
    ----------
    shares : (n,) float64 array
        Of one component among the rows of the pair, between 0 and 1.
    distances : (n,) float64 array
        Between the means, in standard deviations.

    Returns
    -------
    (n,) float64 array
        In nats a row.
    """
    first, second = (1 - shares) * distances, -shares * distances
    logs = np.log(shares), np.log1p(-shares)
    total = np.zeros(len(shares))
    for share, centre in ((shares, first), (1 - shares, second)):
        x = centre[:, None] + _NODES
        joint = [
            log[:, None] - 0.5 * np.square(x - mean[:, None])
            for log, mean in zip(logs, (first, second), strict=True)
        ]
        total += share * ((np.logaddexp(*joint) + 0.5 * np.square(x)) @ _WEIGHTS)
    return total


def _gains(
    weights: FloatArray,
    points: FloatArray,
    component: int,
    others: IndexArray,
    rows: float,
) -> FloatArray:
    """Return what two components gain over one, less what they cost, for pairs with one of them."""
    pairs = weights[component] + weights[others]
    shares, count = weights[component] / pairs, np.maximum(rows * pairs, 2.0)
    distances = np.linalg.norm(points[others] - points[component], axis=1)
    return np.asarray(
        count * pair_divergence(shares, distances) - 0.5 * (points.shape[1] + 1) * np.log(count)
    )
