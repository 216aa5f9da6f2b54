"""The number of populations, from their stability over halves of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

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

STABILITY_POWER = 5
"""Power of the stability of populations in the score of a cut.

The F1 of the chosen cut, in parts of that of the best cut into 2 to 40, was 0.946 on average over
eight labelled sets, 0.939 with a power of 4 and 0.945 with 6. With 2 and 3 it was 0.939 and 0.943,
and three arcs, whose parts are stable, were cut into 7 to 14. Chosen with these sets in sight.
"""


@dataclass(frozen=True, eq=False)
class PopulationCount:
    """Cuts of a tree, and the one that is chosen.

    Attributes
    ----------
    counts : list of int
        Numbers of populations from two on.
    stability : list of float
        Mean stability of the population of a row.
    misclassification : list of float
        Largest mean misclassification probability of two populations.
    score : list of float
        Mean score over the halves, see `choose_population_count`.
    chosen : int
        One where no cut separates populations.
    as_good : list of int
        Other cuts whose score is within one standard error of the best.
    separate_below : float
        Misclassification above which a cut, and every finer one, is not considered.
    """

    counts: list[int]
    stability: list[float]
    misclassification: list[float]
    score: list[float]
    chosen: int
    as_good: list[int]
    separate_below: float = SEPARATE_BELOW


def choose_population_count(
    tree: MergeTree,
    assigned: FloatArray,
    stability: FloatArray,
    most: int,
    unresolved: float = 0.0,
) -> PopulationCount:
    """Choose a cut by how stable its populations are and how much it tells.

    The score of a cut into k populations is the mean over rows of ``stability**5``, of the
    population of the row, times ``log k``: the information of k labels, discounted where halves of
    the rows do not have these populations. It is averaged over the halves. Cuts from the first one
    with populations that are not separate are not considered. Of cuts whose score is within one
    standard error of the best, over the halves, the coarsest is chosen.

    Halves of the rows do not tell whether a rare population is one. Finer cuts follow the chosen
    one while each only splits off a separate population that the halves cannot judge.

    Parameters
    ----------
    tree : MergeTree
        The tree to cut.
    assigned : (k, k) float64 array
        Of its components, see `bigtensor.decomposition.merging.component_merging.CoPosterior`.
    stability : (halves, 2 k - 1) float64 array
        Of all populations of the tree in every half of the rows.
    most : int
        Largest number of populations that is considered.
    unresolved : float, default 0.0
        Share of all rows below which halves cannot judge a population.
    """
    counts = list(range(2, min(tree.n_components, most) + 1))
    of_halves, scores = np.empty((2, len(counts), len(stability)))
    misclassification = []
    for place, count in enumerate(counts):
        population = tree.cut(count)
        weight = np.bincount(population, tree.weights)
        of_population = stability[:, tree.nodes_of(population)]
        of_halves[place] = of_population @ weight
        scores[place] = of_population**STABILITY_POWER @ weight * np.log(count)
        misclassification.append(_largest_misclassification(assigned, population))
    uncut = PopulationCount(
        counts,
        of_halves.mean(axis=1).tolist(),
        misclassification,
        scores.mean(axis=1).tolist(),
        chosen=1,
        as_good=[],
    )
    near = _within_one_standard_error(scores[: _first_above(misclassification, SEPARATE_BELOW)])
    if not near.size:
        return uncut
    chosen = counts[near[0]]
    while chosen < counts[-1] and _splits_off_a_rare_one(tree, assigned, chosen, unresolved):
        chosen += 1
    return replace(uncut, chosen=chosen, as_good=[counts[i] for i in near if counts[i] != chosen])


def _within_one_standard_error(scores: FloatArray) -> IntArray:
    """Return the cuts whose mean score is within a standard error of the best.

    Parameters
    ----------
    scores : (cuts, halves) float64 array
        In every half of the rows.
    """
    if not len(scores):
        return np.empty(0, np.int64)
    behind = scores[np.argmax(scores.mean(axis=1))] - scores
    error = behind.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
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


def _largest_misclassification(assigned: FloatArray, population: IntArray) -> float:
    """Return the largest mean misclassification of two populations of a cut."""
    return float(_misclassification_of_pairs(assigned, population).max())


def _misclassification_of_pairs(assigned: FloatArray, population: IntArray) -> FloatArray:
    """Return the mean misclassification of every two populations of a cut, zero for one."""
    member = np.asarray(population[:, None] == np.arange(population.max() + 1), np.float64)
    of_pair = mean_misclassification(member.T @ assigned @ member)
    np.fill_diagonal(of_pair, 0.0)
    return of_pair
