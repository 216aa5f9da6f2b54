"""Order of the variables of a chain: dependent variables beside each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse.csgraph import depth_first_order, minimum_spanning_tree

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.descending_order import descending_order
from bigtensor.features.row_loops import row_loop

_LEAST_EIGENVALUE = 1e-4
"""Share of the largest variance of features below which an axis is left out."""

MOST_FEATURES = 12
"""Leading features of a variable; the others would add noise and memory."""

_RIDGE = 1e-2
"""Added to the variances of features, in units of their mean."""


_LEAST_GAIN = 1e-12
"""Improvement of an order, in units of the largest dependence, that is more than rounding."""


def dependence(features: Iterable[FloatArray], weight: FloatArray) -> FloatArray:
    """Return how much every variable tells about every other one, (d, d).

    The entries are squared norms of correlations of the leading features, which are whitened.

    Parameters
    ----------
    features : iterable of (n, p_j) float64 arrays
        Of every variable, one at a time.
    weight : (n,) float64 array
        Weights of the rows.
    """
    share = weight / weight.sum()
    white = []
    for values in features:
        centred = values - share @ values
        covariance = (centred.T * share) @ centred
        eigenvalues, vectors = np.linalg.eigh(covariance)
        kept = eigenvalues > _LEAST_EIGENVALUE * max(eigenvalues[-1], np.finfo(np.float64).tiny)
        kept[:-MOST_FEATURES] = False
        ridge = _RIDGE * eigenvalues.mean()
        if not kept.any():
            # a constant variable tells nothing
            white.append(np.zeros((len(values), 1)))
            continue
        white.append(centred @ (vectors[:, kept] / np.sqrt(eigenvalues[kept] + ridge)))
    ends = np.cumsum([0, *(part.shape[1] for part in white)])
    joined = np.concatenate(white, axis=1)
    # one variable at a time: the correlations of all features at once would not fit in a cache
    dependences = np.array(
        [
            np.add.reduceat(np.square((part.T * share) @ joined).sum(axis=0), ends[:-1])
            for part in white
        ]
    )
    np.fill_diagonal(dependences, 0)
    return dependences


def chain_order(dependences: FloatArray) -> IntArray:
    """Return an order of the variables with large dependences between neighbours.

    The better of the order along the Fiedler vector and of the depth-first order of the maximum
    spanning tree is improved by reversals of segments (Croes 1958).

    Parameters
    ----------
    dependences : (d, d) float64 array
        Symmetric, not negative.
    """
    d = len(dependences)
    if d < 3:
        return np.arange(d, dtype=np.int64)
    # a numbering of its own, so that local optima do not depend on that of the variables
    number = descending_order(dependences.sum(axis=1))
    dependences = dependences[np.ix_(number, number)]
    starts = (_fiedler_order(dependences), _spanning_order(dependences))
    order = max(
        (_improved(start, dependences) for start in starts), key=lambda o: _value(o, dependences)
    )
    # both directions are the same chain
    along = dependences[order[:-1], order[1:]]
    return number[order if along[0] >= along[-1] else order[::-1]]


def _value(order: IntArray, dependences: FloatArray) -> float:
    """Return the sum of the dependences of neighbours."""
    return float(dependences[order[:-1], order[1:]].sum())


def _fiedler_order(dependences: FloatArray) -> IntArray:
    """Return the order along the second eigenvector of the Laplacian."""
    laplacian = np.diag(dependences.sum(axis=1)) - dependences
    return np.argsort(np.linalg.eigh(laplacian)[1][:, 1], kind="stable").astype(np.int64)


def _spanning_order(dependences: FloatArray) -> IntArray:
    """Return the depth-first order of the spanning tree of largest dependences."""
    # a length of zero would be no edge
    lengths = dependences.max() + 1 - dependences
    np.fill_diagonal(lengths, 0)
    tree = minimum_spanning_tree(lengths)
    tree = tree + tree.T
    leaves = np.flatnonzero(np.diff(tree.tocsr().indptr) == 1)
    return depth_first_order(tree, int(leaves[0]), directed=False)[0].astype(np.int64)


def _improved(order: IntArray, dependences: FloatArray) -> IntArray:
    """Return the order after reversals of segments, as long as one of them helps."""
    order = order.copy()
    _reverse_segments(order, dependences, _LEAST_GAIN * dependences.max())
    return order


@row_loop
def _reverse_segments(order: IntArray, dependences: FloatArray, least: float) -> None:
    """Reverse the segment with the largest gain, in place, until no gain exceeds `least`."""
    d = order.size
    while True:
        most, first, last = least, -1, -1
        for i in range(d):
            # neighbours before the first and after the last variable depend on nothing
            before = dependences[order[i - 1], order[i]] if i > 0 else 0.0
            for j in range(i + 1, d):
                gain = (dependences[order[i - 1], order[j]] if i > 0 else 0.0) - before
                if j + 1 < d:
                    gain += dependences[order[i], order[j + 1]]
                    gain -= dependences[order[j], order[j + 1]]
                if gain > most:
                    most, first, last = gain, i, j
        if first < 0:
            return
        while first < last:
            order[first], order[last] = order[last], order[first]
            first, last = first + 1, last - 1
