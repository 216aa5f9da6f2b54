"""A tree of the components of all rows, and where to cut it by trees of halves of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.merging.component_merging import (
    LEVELS,
    SEPARATION,
    CoPosterior,
    merge_components,
)
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.population_count import (
    PopulationCount,
    choose_population_count,
    finest_separate_cut,
)
from bigtensor.decomposition.merging.population_stability import ComparedHalf, stability_in_halves

SPLITS = 4
"""Random splits of the pilot sample into two halves.

With 2 the F1 of gated cells varied over seeds by up to 0.09 from 10 populations on, and by up to
0.2 for fewer; with 6 and 8 it varied no less than with 4.
"""

MOST_POPULATIONS = 30
"""Largest number of populations that is considered where it is to be found."""

LEAST_SHARE, LEAST_ROWS = 2e-4, 10
"""Share and number of rows below which components are outliers of a population.

The share lets a population of one cell in two thousand stand.
"""

RESOLVED_SHARE, RESOLVED_ROWS = 0.3, 50
"""Mass of a component from which on a tree tells it from others.

In parts of the mean mass of the tree's own components, and in rows; the smaller one counts. Half of
50,000 rows hold twelve of a population of one cell in two thousand, which get no component of their
own.
"""


@dataclass(frozen=True, eq=False)
class Replicate:
    """Components of half of the pilot sample.

    Attributes
    ----------
    trees : tuple of MergeTree
        Merges of the components of the half: by separation alone, and in levels of features.
    labels : (n0,) integer array
        The most probable component of every row of the whole sample.
    rows : int
        Rows that the trees were grown on.
    """

    trees: tuple[MergeTree, MergeTree]
    labels: NDArray[np.intp]
    rows: int


def separation_tree(sums: CoPosterior) -> MergeTree:
    """Return the tree of components by how separate they are, with the finest separate cut.

    Parameters
    ----------
    sums : CoPosterior
        What the components share.
    """
    tree = merge_components(sums, criterion=SEPARATION, least_mass=least_mass(sums))
    count = finest_separate_cut(tree, sums.assigned, MOST_POPULATIONS)
    return replace(tree, automatic_count=count)


def levels_tree(sums: CoPosterior, means: FloatArray) -> MergeTree:
    """Return the tree of components in levels of features.

    Parameters
    ----------
    sums : CoPosterior
        What the components share.
    means : (k, d) float64 array
        Of the components, see `component_means`.
    """
    return merge_components(sums, criterion=LEVELS, means=means, least_mass=least_mass(sums))


def component_means(positions: FloatArray, posterior: FloatArray) -> FloatArray:
    """Return the means of components: ``(k, d)``.

    Parameters
    ----------
    positions : (n, d) array
        Rows, without missing values.
    posterior : (n, k) array
        Posterior probabilities of the components. A component without mass gets the mean of all
        rows.
    """
    mass = posterior.sum(axis=0)
    sums = np.asarray(posterior.T @ positions, np.float64)
    overall = positions.mean(axis=0, dtype=np.float64)
    return np.where(mass[:, None] > 0, sums / np.where(mass > 0, mass, 1.0)[:, None], overall)


def counted_by_replicates(
    tree: MergeTree,
    sums: CoPosterior,
    labels: NDArray[np.intp],
    replicates: Sequence[Replicate],
) -> tuple[MergeTree, PopulationCount]:
    """Return a tree with the stability of its populations and the number that follows from it.

    Populations with so few rows that halves cannot judge them have no stability.

    Parameters
    ----------
    tree : MergeTree
        Of the components of all rows.
    sums : CoPosterior
        What these components share.
    labels : (n0,) integer array
        The most probable of these components for every row of the sample.
    replicates : sequence of Replicate
        Halves of the sample.
    """
    halves = [ComparedHalf.of_labels(half, labels, tree.n_components) for half in replicates]
    unresolved = max(resolved_share(half.trees[0].n_components, half.rows) for half in replicates)
    stability = stability_in_halves(tree, halves).mean(axis=0)
    count = choose_population_count(
        replace(tree, stability=stability),
        sums.assigned,
        halves,
        MOST_POPULATIONS,
        unresolved=unresolved,
    )
    stability[tree.summed(tree.weights) < unresolved] = np.nan
    return replace(tree, automatic_count=count.chosen, stability=stability), count


def least_mass(sums: CoPosterior) -> float:
    """Return the mass below which components are no populations of their own."""
    total = float(sums.mass.sum())
    return total * max(LEAST_SHARE, min(LEAST_ROWS / total, 0.05))


def resolved_share(n_components: int, rows: float) -> float:
    """Return the share of all rows from which on a tree tells a component from others.

    Parameters
    ----------
    n_components : int
        Of the tree.
    rows : int
        Rows that it was grown on.
    """
    return min(RESOLVED_SHARE / n_components, RESOLVED_ROWS / rows)
