"""Stability of populations: whether halves of the rows, fitted anew, have them as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.merge_tree import MergeTree


class FittedHalf(Protocol):
    """Components of half of the rows, and trees of them."""

    @property
    def trees(self) -> Sequence[MergeTree]:
        """Trees of these components."""

    @property
    def labels(self) -> NDArray[np.intp]:
        """The most probable of these components for all rows, of both halves: ``(n,)``."""


def stability_in_halves(
    tree: MergeTree, labels: NDArray[np.intp], halves: Sequence[FittedHalf]
) -> FloatArray:
    """Return how well every population of a tree is found again in every half of the rows.

    The stability of a population in a half is the largest Jaccard index of its rows with the rows
    of any population in the trees of the half. It does not depend on where these trees are cut.

    Parameters
    ----------
    tree : MergeTree
        Of k components of all rows.
    labels : (n,) integer array
        The most probable of these components for every row.
    halves : sequence of FittedHalf
        Halves of the rows.

    Returns
    -------
    (halves, 2 k - 1) float64 array
        Between 0 and 1; zero for a population without a row.

    References
    ----------
    Hennig (2007), "Cluster-wise assessment of cluster stability", Computational Statistics & Data
    Analysis 52, sec. 2. Clusters are compared there with those of a single partition.
    """
    return np.array([_in_half(tree, labels, half) for half in halves])


def _in_half(tree: MergeTree, labels: NDArray[np.intp], half: FittedHalf) -> FloatArray:
    """Return the largest Jaccard index of every population with any of the half: ``(2 k - 1,)``."""
    largest = np.zeros(2 * tree.n_components - 1)
    for other in half.trees:
        width = other.n_components
        counts = np.bincount(labels * width + half.labels, minlength=tree.n_components * width)
        common = tree.summed(counts.reshape(-1, width).astype(np.float64))
        common = other.summed(common.T).T
        # the last population of each tree has all rows
        united = common[:, -1:] + common[-1] - common
        jaccard = np.divide(common, united, out=np.zeros(common.shape), where=united > 0)
        np.maximum(largest, jaccard.max(axis=1), out=largest)
    return largest
