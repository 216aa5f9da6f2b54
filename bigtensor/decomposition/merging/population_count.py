"""The number of populations, from the agreement of two halves of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.decomposition.merging.component_merging import mean_misclassification
from bigtensor.decomposition.merging.merge_tree import MergeTree

SEPARATE_BELOW = 0.1
"""Mean misclassification probability from which on two populations are parts of one.

A cut through one normal population, made by merging its components, gave 0.12 to 0.23 on simulated
cells. The F1 of the cut with the best score, in parts of that of the best cut into 2 to 40, was
0.920 on average over labelled sets, and 0.917 with 0.12. Chosen with these sets in sight.
"""

RARE_SEPARATE_BELOW = 0.05
"""Limit for a rare population that halves of the rows cannot judge.

Rare populations of simulated cells had 0.002 to 0.05, splinters of larger ones 0.06 to 0.12.
"""

SEPARATE_BELOW_ALONE = 0.1
"""The same where no halves of the rows say how reproducible a cut is."""

REPRODUCIBILITY = 3
"""Power of the agreement in the score of a cut.

Over two seeds a power of 4 found fewer populations: the F1 of 150,000 activation cells was 0.53 in
place of 0.62, and that of GvHD cells 0.92 in place of 0.87. Chosen with these gates in sight.
"""

Labels = NDArray[Any]


@dataclass(frozen=True, eq=False)
class PopulationCount:
    """Cuts of a tree, and the one that is chosen.

    Attributes
    ----------
    counts : list of int
        Numbers of populations from two on.
    agreement : list of float
        Mean adjusted Rand index of the labels from two halves of the rows.
    misclassification : list of float
        Largest mean misclassification probability of two populations.
    score : list of float
        Mean score over the pairs of halves, see `choose_population_count`.
    chosen : int
        One where no cut separates populations.
    as_good : list of int
        Other cuts whose score is within one standard error of the best.
    separate_below : float
        Misclassification above which a cut, and every finer one, is not considered.
    """

    counts: list[int]
    agreement: list[float]
    misclassification: list[float]
    score: list[float]
    chosen: int
    as_good: list[int]
    separate_below: float = SEPARATE_BELOW


def choose_population_count(
    halves: Sequence[tuple[tuple[MergeTree, Labels], tuple[MergeTree, Labels]]],
    tree: MergeTree,
    assigned: FloatArray,
    most: int,
    unresolved: float = 0.0,
) -> PopulationCount:
    """Choose a cut by how well it is reproduced and how much it tells.

    The score of a cut into k populations is ``agreement**3 log k``: the information of k labels,
    discounted where the halves disagree. It is averaged over pairs of halves. Cuts from the first
    one with populations that are not separate are not considered. Of cuts whose score is within one
    standard error of the best, over pairs of halves, the coarsest is chosen.

    Halves of the rows do not tell whether a rare population is one. Finer cuts follow the chosen
    one while each only splits off a separate population that the halves cannot judge.

    Parameters
    ----------
    halves : sequence of pairs of (tree, labels)
        Trees grown on two halves of the rows, and the component of each of all rows in both.
    tree : MergeTree
        The tree to cut.
    assigned : (k, k) float64 array
        Of its components, see `bigtensor.decomposition.merging.component_merging.CoPosterior`.
    most : int
        Largest number of populations that is considered.
    unresolved : float, default 0.0
        Share of all rows below which halves cannot judge a population.
    """
    largest = min(
        [tree.n_components, most, *(side[0].n_components for pair in halves for side in pair)]
    )
    counts = list(range(2, largest + 1))
    agreements = np.array(
        [[_agreement(first, second, count) for first, second in halves] for count in counts]
    ).reshape(len(counts), len(halves))
    scores = np.maximum(agreements, 0.0) ** REPRODUCIBILITY * np.log(counts)[:, None]
    misclassification = [_largest_misclassification(assigned, tree.cut(count)) for count in counts]
    uncut = PopulationCount(
        counts,
        agreements.mean(axis=1).tolist(),
        misclassification,
        scores.mean(axis=1).tolist(),
        chosen=1,
        as_good=[],
    )
    near = _within_one_standard_error(scores[: _first_above(misclassification, SEPARATE_BELOW)])
    if not near.size:
        return uncut
    chosen = counts[near[0]]
    while chosen < largest and _splits_off_a_rare_one(tree, assigned, chosen, unresolved):
        chosen += 1
    return replace(uncut, chosen=chosen, as_good=[counts[i] for i in near if counts[i] != chosen])


def _within_one_standard_error(scores: FloatArray) -> IntArray:
    """Return the cuts whose mean score is within a standard error of the best, if that is positive.

    Parameters
    ----------
    scores : (cuts, comparisons) float64 array
        Of every pair of halves.
    """
    if not len(scores) or scores.mean(axis=1).max() <= 0:
        return np.empty(0, np.int64)
    behind = scores[np.argmax(scores.mean(axis=1))] - scores
    comparisons = scores.shape[1]
    error = behind.std(axis=1, ddof=1) / np.sqrt(comparisons) if comparisons > 1 else 0.0
    return np.flatnonzero(behind.mean(axis=1) <= error)


def _splits_off_a_rare_one(
    tree: MergeTree, assigned: FloatArray, count: int, unresolved: float
) -> bool:
    """Return True if the next cut only splits off a light and separate population."""
    coarse, fine = tree.cut(count), tree.cut(count + 1)
    mass = np.bincount(fine, tree.weights)
    parts = next(
        part for part in (np.unique(fine[coarse == old]) for old in range(count)) if len(part) == 2
    )
    lighter = parts[np.argmin(mass[parts])]
    confused = _misclassification_of_pairs(assigned, fine)[lighter].max()
    return bool(mass[lighter] < unresolved * mass.sum() and confused < RARE_SEPARATE_BELOW)


def finest_separate_cut(tree: MergeTree, assigned: FloatArray, most: int) -> int:
    """Return the largest number of populations up to which every cut separates them.

    Parameters
    ----------
    tree : MergeTree
        Tree to cut.
    assigned : (k, k) float64 array
        Of its components.
    most : int
        Largest number of populations that is considered.
    """
    counts = range(2, min(tree.n_components, most) + 1)
    misclassification = [_largest_misclassification(assigned, tree.cut(k)) for k in counts]
    return 1 + _first_above(misclassification, SEPARATE_BELOW_ALONE)


def _first_above(values: Sequence[float], limit: float) -> int:
    """Return the position of the first value above a limit, or their number."""
    return next((i for i, value in enumerate(values) if value > limit), len(values))


def _agreement(
    first: tuple[MergeTree, Labels], second: tuple[MergeTree, Labels], count: int
) -> float:
    """Return the adjusted Rand index of the labels of both cuts."""
    labels = [tree.cut(count)[of_row] for tree, of_row in (first, second)]
    return adjusted_rand_index(*labels)


def adjusted_rand_index(first: Labels, second: Labels) -> float:
    """Return the agreement of two labellings of the same rows, corrected for chance.

    Parameters
    ----------
    first, second : (n,) integer arrays
        Not negative.

    Returns
    -------
    float
        One for equal partitions, zero on average for independent ones.

    References
    ----------
    Hubert and Arabie (1985), "Comparing partitions", Journal of Classification 2, eq. 5.
    """
    width = int(second.max()) + 1
    table = np.bincount(first * width + second, minlength=(int(first.max()) + 1) * width)
    table = table.reshape(-1, width).astype(np.float64)
    together, rows, columns, all_pairs = (
        float((counts * (counts - 1) / 2).sum())
        for counts in (table, table.sum(axis=1), table.sum(axis=0), np.array([table.sum()]))
    )
    expected = rows * columns / all_pairs if all_pairs else 0.0
    largest = (rows + columns) / 2
    return 1.0 if largest == expected else (together - expected) / (largest - expected)


def _largest_misclassification(assigned: FloatArray, population: IntArray) -> float:
    """Return the largest mean misclassification of two populations of a cut."""
    return float(_misclassification_of_pairs(assigned, population).max())


def _misclassification_of_pairs(assigned: FloatArray, population: IntArray) -> FloatArray:
    """Return the mean misclassification of every two populations of a cut, zero for one."""
    member = np.asarray(population[:, None] == np.arange(population.max() + 1), np.float64)
    of_pair = mean_misclassification(member.T @ assigned @ member)
    np.fill_diagonal(of_pair, 0.0)
    return of_pair
