"""One tree of components from several trees that were grown on parts of the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import ParameterError

CONSENSUS = "consensus"
"""Name of the criterion of a consensus tree."""


def consensus_tree(
    trees: Sequence[MergeTree],
    shares: Sequence[FloatArray],
    weights: FloatArray,
    reliability: Sequence[FloatArray],
    least_weight: float = 0.0,
) -> MergeTree:
    """Merge components that several trees unite early.

    A tree unites two of its leaves at a number of populations, which is large if they are merged
    early. The similarity of two components is the expectation of this number over one row of
    each, scaled to lie between 0 and 1 and averaged over the trees. Components are merged by the
    average similarity of their rows (evidence accumulation, Fred and Jain 2005).

    A tree whose leaves are much heavier than a component puts its rows into a leaf of others, and
    would vote to merge it with them. In the average over trees it counts by the smaller
    reliability of the two components.

    Parameters
    ----------
    trees : sequence of MergeTree
        Of any components.
    shares : sequence of ndarrays of shape (k, leaves)
        For every tree, the shares of its leaves in the rows of each of the k components. A row of
        the array sums to one.
    weights : ndarray of shape (k,)
        Shares of the components in all rows, positive.
    reliability : sequence of ndarrays of shape (k,)
        For every tree, how well it tells each component from others, from 0 to 1. For every
        component it is positive in one tree at least.
    least_weight : float, default 0.0
        Share of all rows below which a population is merged before all others, with the most
        similar one. The height of such a merge is one.

    Returns
    -------
    MergeTree
        Of the k components. Heights never rise from one merge to the next.

    Raises
    ------
    ParameterError
        If there is no tree, or the shapes do not belong together.

    References
    ----------
    Fred and Jain (2005), "Combining multiple clusterings using evidence accumulation", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 27.
    """
    k = len(weights)
    expected = [(k, tree.n_components) for tree in trees]
    if not trees or [share.shape for share in shares] != expected:
        raise ParameterError(
            f"shares of the shapes {expected} are needed for {len(trees)} trees and {k} "
            f"components, got {[share.shape for share in shares]}"
        )
    total, counted = np.zeros((k, k)), np.zeros((k, k))
    for tree, share, component_reliability in zip(trees, shares, reliability, strict=True):
        of_pair = np.minimum.outer(component_reliability, component_reliability)
        total += of_pair * (share @ joining_counts(tree) @ share.T)
        counted += of_pair
    return _average_linkage(total / counted, np.asarray(weights, np.float64), least_weight)


def joining_counts(tree: MergeTree) -> FloatArray:
    """Return when a tree unites two components, from 0 (last) to 1 (never apart): ``(k, k)``.

    The largest number of populations with both in one population, less one, over ``k - 1``.
    """
    k = tree.n_components
    counts = np.ones((k, k))
    members = [np.array([component]) for component in range(k)]
    for step, (first, second) in enumerate(tree.merges):
        left, right = members[first], members[second]
        count = (k - 2 - step) / (k - 1)
        counts[np.ix_(left, right)] = count
        counts[np.ix_(right, left)] = count
        members.append(np.concatenate([left, right]))
    return counts


def _average_linkage(similarity: FloatArray, weights: FloatArray, least_weight: float) -> MergeTree:
    """Merge the pair with the largest mean similarity of its rows until one is left."""
    k = len(weights)
    similarity, mass = similarity.copy(), weights / weights.sum()
    nodes = np.arange(k)
    merges, heights = np.empty((k - 1, 2), np.int64), np.empty(k - 1)
    for step in range(k - 1):
        pairs = similarity.copy()
        np.fill_diagonal(pairs, -np.inf)
        lightest = int(np.argmin(mass))
        if mass[lightest] < least_weight:
            first, second = sorted((lightest, int(np.argmax(pairs[lightest]))))
            heights[step] = 1.0
        else:
            first, second = sorted(divmod(int(np.argmax(pairs)), len(pairs)))
            # an average rises by rounding only
            heights[step] = min(pairs[first, second], heights[step - 1] if step else 1.0)
        merges[step] = np.sort(nodes[[first, second]])
        total = mass[first] + mass[second]
        joined = (mass[first] * similarity[first] + mass[second] * similarity[second]) / total
        similarity[first] = similarity[:, first] = joined
        mass[first] = total
        nodes[first] = k + step
        similarity = np.delete(np.delete(similarity, second, axis=0), second, axis=1)
        mass, nodes = np.delete(mass, second), np.delete(nodes, second)
    return MergeTree(merges, heights, weights / weights.sum(), CONSENSUS)
