"""The number of populations, from the agreement of cuts with halves of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.decomposition.merging.component_merging import mean_misclassification
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.population_stability import (
    ComparedHalf,
    agreement_in_halves,
)

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

REPRODUCIBILITY = 2
"""Power of the agreement in the score of a cut.

The F1 of the chosen cut, in parts of that of the best cut into 2 to 40, was 0.944 on average over
eight labelled sets, 0.933 with a power of 2.5, 0.926 with 3 and 0.912 with 4. Chosen with these
sets in sight.
"""

STABILITY_DROP = 0.02
"""How much lower the mean stability of all cuts finer than a wholly stable one has to be."""

WHOLLY_STABLE = 0.998
"""Mean stability of a cut that is the answer if all finer cuts are less stable.

Parts of arcs, moons and rings agree with halves well enough for a high score. The cut into the
whole shapes had a stability of 1.000 and finer ones at most 0.975, for three seeds each. With 0.997
and 0.999 the choices were the same on all data. Of eight sets of cells and digits none has such a
cut. Iris has: two populations, of which one holds two species.
"""


@dataclass(frozen=True, eq=False)
class PopulationCount:
    """Cuts of a tree, and the one that is chosen.

    Attributes
    ----------
    counts : list of int
        Numbers of populations from two on.
    agreement : list of float
        Mean over rows of the agreement of their population with halves of the rows, see
        `bigtensor.decomposition.merging.population_stability.agreement_in_halves`.
    stability : list of float
        Mean over rows of the stability of their population.
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
    agreement: list[float]
    stability: list[float]
    misclassification: list[float]
    score: list[float]
    chosen: int
    as_good: list[int]
    separate_below: float = SEPARATE_BELOW


def choose_population_count(
    tree: MergeTree,
    assigned: FloatArray,
    halves: Sequence[ComparedHalf],
    most: int,
    unresolved: float = 0.0,
) -> PopulationCount:
    """Choose a cut by how well it is reproduced and how much it tells.

    The score of a cut into k populations is the mean over rows of ``agreement**2`` of the
    population of the row, times ``log k``: the information of k labels, discounted where halves of
    the rows do not agree with them. It is averaged over the halves. Cuts from the first one with
    populations that are not separate are not considered. Of cuts whose score is within one standard
    error of the best, over the halves, the coarsest is chosen. A cut that is wholly stable, where
    no finer one is nearly as stable, is chosen whatever the scores.

    Halves of the rows do not tell whether a rare population is one. Finer cuts follow the chosen
    one while each only splits off a separate population that the halves cannot judge.

    Parameters
    ----------
    tree : MergeTree
        The tree to cut, with the stability of its populations.
    assigned : (k, k) float64 array
        Of its components, see `bigtensor.decomposition.merging.component_merging.CoPosterior`.
    halves : sequence of ComparedHalf
        Halves of the rows.
    most : int
        Largest number of populations that is considered.
    unresolved : float, default 0.0
        Share of all rows below which halves cannot judge a population.
    """
    largest = min(tree.n_components, most, *(half.trees[0].n_components for half in halves))
    counts = list(range(2, largest + 1))
    of_halves, scores = np.empty((2, len(counts), len(halves)))
    stability, misclassification = list[float](), list[float]()
    assert tree.stability is not None
    for place, count in enumerate(counts):
        population = tree.cut(count)
        weight = np.bincount(population, tree.weights)
        agreement = agreement_in_halves(population, halves)
        of_halves[place] = agreement @ weight
        scores[place] = agreement**REPRODUCIBILITY @ weight * np.log(count)
        stability.append(float(tree.stability[tree.nodes_of(population)] @ weight))
        misclassification.append(_largest_misclassification(assigned, population))
    considered = _first_above(misclassification, SEPARATE_BELOW)
    near = _best_cuts(scores[:considered], stability[:considered])
    chosen = counts[near[0]] if near.size else 1
    while 1 < chosen < largest and _splits_off_a_rare_one(tree, assigned, chosen, unresolved):
        chosen += 1
    return PopulationCount(
        counts,
        of_halves.mean(axis=1).tolist(),
        stability,
        misclassification,
        scores.mean(axis=1).tolist(),
        chosen,
        as_good=[counts[place] for place in near if counts[place] != chosen],
    )


def _best_cuts(scores: FloatArray, stability: Sequence[float]) -> IntArray:
    """Return the cuts that are about equally good, or the wholly stable one, from coarse to fine.

    Parameters
    ----------
    scores : (cuts, halves) float64 array
        In every half of the rows.
    stability : sequence of float
        Mean stability of every cut.
    """
    if not len(scores):
        return np.empty(0, np.int64)
    for place, own in enumerate(stability[:-1]):
        if own >= WHOLLY_STABLE and max(stability[place + 1 :]) <= own - STABILITY_DROP:
            return np.array([place], np.int64)
    return _within_one_standard_error(scores)


def _within_one_standard_error(scores: FloatArray) -> IntArray:
    """Return the cuts whose mean score is within a standard error of the best.

    Parameters
    ----------
    scores : (cuts, halves) float64 array
        In every half of the rows.
    """
    behind = scores[np.argmax(scores.mean(axis=1))] - scores
    halves = scores.shape[1]
    error = behind.std(axis=1, ddof=1) / np.sqrt(halves) if halves > 1 else 0.0
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
    return 1 + _first_above(misclassification, SEPARATE_BELOW)


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
