"""Stability of populations, and agreement of cuts, over fits of halves of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.decomposition.merging.merge_tree import MergeTree


class FittedHalf(Protocol):
    """Components of half of the rows, and trees of them."""

    @property
    def trees(self) -> Sequence[MergeTree]:
        """Trees of these components."""

    @property
    def labels(self) -> NDArray[np.intp]:
        """The most probable of these components for all rows, of both halves: ``(n,)``."""


@dataclass(frozen=True, eq=False)
class ComparedHalf:
    """Common rows of components of half of the rows and components of all rows.

    Attributes
    ----------
    trees : sequence of MergeTree
        Trees of the m components of the half.
    common : (k, m) float64 array
        Numbers of rows with each of k components of all rows and each component of the half.
    """

    trees: Sequence[MergeTree]
    common: FloatArray

    @classmethod
    def of_labels(cls, half: FittedHalf, labels: NDArray[np.intp], k: int) -> ComparedHalf:
        """Count the rows that components have in common.

        Parameters
        ----------
        half : FittedHalf
            Components of half of the rows.
        labels : (n,) integer array
            The most probable of k components of all rows, for every row.
        k : int
            Number of these components.
        """
        width = half.trees[0].n_components
        counts = np.bincount(labels * width + half.labels, minlength=k * width)
        return cls(half.trees, counts.reshape(k, width).astype(np.float64))


def stability_in_halves(tree: MergeTree, halves: Sequence[ComparedHalf]) -> FloatArray:
    """Return the stability of every population of a tree in every half of the rows.

    The stability of a population in a half is the largest Jaccard index of its rows with the rows
    of any population in the trees of the half, other than that of all rows. It does not depend on
    where these trees are cut. Of the population of all rows it is one.

    Parameters
    ----------
    tree : MergeTree
        Of k components of all rows.
    halves : sequence of ComparedHalf
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
    return np.array([_largest_of_any_cut(tree, half) for half in halves])


def agreement_in_halves(population: IntArray, halves: Sequence[ComparedHalf]) -> FloatArray:
    """Return the agreement of the populations of a cut with cuts of halves into the same number.

    It is the largest Jaccard index of the rows of a population with those of a population of the
    half, averaged over the trees of the half.

    Parameters
    ----------
    population : (k,) integer array
        Population of every component of all rows.
    halves : sequence of ComparedHalf
        Halves of the rows, with at least as many components as there are populations.

    Returns
    -------
    (halves, populations) float64 array
        Between 0 and 1.
    """
    return np.array([_largest_of_one_cut(population, half) for half in halves])


def _largest_of_any_cut(tree: MergeTree, half: ComparedHalf) -> FloatArray:
    """Return the largest Jaccard index of every population with any of the half: ``(2 k - 1,)``."""
    largest = np.zeros(2 * tree.n_components - 1)
    for other in half.trees:
        common = other.summed(tree.summed(half.common).T).T
        # the last population of each tree has all rows, and resembles every large one
        rows, other_rows = common[:, -1], common[-1, :-1]
        np.maximum(largest, _largest_jaccard(common[:, :-1], rows, other_rows), out=largest)
    largest[-1] = 1.0
    return largest


def _largest_of_one_cut(population: IntArray, half: ComparedHalf) -> FloatArray:
    """Return the mean over trees of the largest Jaccard index of every population of a cut."""
    count = int(population.max()) + 1
    own, total = _members(population, count), np.zeros(count)
    for tree in half.trees:
        common = own.T @ half.common @ _members(tree.cut(count), count)
        total += _largest_jaccard(common, common.sum(axis=1), common.sum(axis=0))
    return total / len(half.trees)


def _members(population: IntArray, count: int) -> FloatArray:
    """Return 1 for every component and its population, 0 for all other populations."""
    return np.asarray(population[:, None] == np.arange(count), np.float64)


def _largest_jaccard(common: FloatArray, rows: FloatArray, other_rows: FloatArray) -> FloatArray:
    """Return the largest Jaccard index in every line, from numbers of rows."""
    united = rows[:, None] + other_rows - common
    jaccard = np.divide(common, united, out=np.zeros(common.shape), where=united > 0)
    return np.asarray(jaccard.max(axis=1, initial=0.0))
