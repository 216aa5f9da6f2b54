"""Clusters of k-means, twice as many as wanted, merged by Ward's criterion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.features.clustering import kmeans

_MORE = 2
"""Clusters of k-means for every one that is wanted.

From as many as wanted, k-means puts two groups of rows into one cluster in most data sets of ten
groups and more, and EM iterations do not part them.
"""


@dataclass(frozen=True)
class MergedClusters:
    """Clusters of rows.

    Attributes
    ----------
    centres : (n_clusters, d) float64 array
        Weighted mean of the rows of every cluster.
    masses : (n_clusters,) float64 array
        Sums of the weights of the rows.
    """

    centres: FloatArray
    masses: FloatArray


def merged_clusters(
    values: NDArray[np.floating],
    n_clusters: int,
    random_state: int,
    weight: FloatArray | None = None,
) -> MergedClusters:
    """Merge the two clusters whose union raises the sum of squares least, until so many are left.

    The hierarchy of Ward (1963, Journal of the American Statistical Association 58), over clusters
    of k-means in place of rows.

    Parameters
    ----------
    values : (n, d) array
        Rows to cluster.
    n_clusters : int
        At most n.
    random_state : int
        Seed of k-means.
    weight : (n,) array, optional
        Of the rows.
    """
    many = min(_MORE * n_clusters, len(np.unique(values, axis=0)))
    clusters = kmeans(values, max(many, n_clusters), random_state, weight=weight, n_starts=1)
    masses = np.bincount(clusters.labels, weight, len(clusters.centres)).astype(np.float64)
    filled = masses > 0
    return _merged(clusters.centres[filled].astype(np.float64), masses[filled], n_clusters)


def _merged(centres: FloatArray, masses: FloatArray, n_clusters: int) -> MergedClusters:
    """Return the clusters after as many merges as are needed."""
    squares = ((centres[:, None] - centres) ** 2).sum(axis=2)
    costs = squares * (masses[:, None] * masses) / (masses[:, None] + masses)
    np.fill_diagonal(costs, np.inf)
    left = np.ones(len(centres), bool)
    for _ in range(len(centres) - n_clusters):
        kept, gone = np.unravel_index(np.argmin(costs), costs.shape)
        mass = masses[kept] + masses[gone]
        centres[kept] = (masses[kept] * centres[kept] + masses[gone] * centres[gone]) / mass
        masses[kept], left[gone] = mass, False
        costs[gone], costs[:, gone] = np.inf, np.inf
        squared = ((centres - centres[kept]) ** 2).sum(axis=1)
        cost = np.where(left, squared * masses * mass / (masses + mass), np.inf)
        cost[kept] = np.inf
        costs[kept], costs[:, kept] = cost, cost
    return MergedClusters(centres[left], masses[left])
