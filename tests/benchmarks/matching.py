"""Clusters against known populations: one-to-one matching, accuracy and F1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


@dataclass(frozen=True)
class Match:
    """How well clusters agree with populations that each get at most one cluster.

    Attributes
    ----------
    f1 : (populations,) float64 array
        Zero for a population without a cluster.
    cluster : (populations,) integer array
        -1 for a population without a cluster.
    sizes : (populations,) integer array
    accuracy : float
        Share of the cells whose cluster is the one of their population.
    """

    f1: NDArray[np.float64]
    cluster: NDArray[np.intp]
    sizes: NDArray[np.intp]
    accuracy: float

    @property
    def mean_f1(self) -> float:
        """Every population counts the same."""
        return float(self.f1[self.sizes > 0].mean())

    @property
    def weighted_f1(self) -> float:
        """Every cell counts the same."""
        return float((self.f1 * self.sizes).sum() / self.sizes.sum())


def match_clusters(clusters: NDArray[Any], populations: NDArray[Any]) -> Match:
    """Match clusters with populations so that the sum of F1 is largest.

    Parameters
    ----------
    clusters : (cells,) integer array
    populations : (cells,) integer array
        Cells with a negative population are left out of every count.
    """
    table, sizes, f1 = _counts(clusters, populations)
    rows, columns = linear_sum_assignment(-f1)
    best, cluster = np.zeros(len(table)), np.full(len(table), -1)
    best[rows], cluster[rows] = f1[rows, columns], columns
    return Match(best, cluster, sizes, float(table[rows, columns].sum() / sizes.sum()))


def best_f1(clusters: NDArray[Any], populations: NDArray[Any]) -> float:
    """Return the F1 of every population with its best cluster, weighted by the populations' cells.

    A cluster may be the best of several populations: the measure of FlowCAP-I (Aghaeepour et al.
    2013).

    Parameters
    ----------
    clusters : (cells,) integer array
    populations : (cells,) integer array
        Cells with a negative population are left out of every count.
    """
    _, sizes, f1 = _counts(clusters, populations)
    return float(sizes @ f1.max(axis=1, initial=0.0) / sizes.sum())


def f1_of_pairs(clusters: NDArray[Any], populations: NDArray[Any]) -> NDArray[np.float64]:
    """Return the F1 of every population with every cluster: ``(populations, clusters)``.

    Parameters
    ----------
    clusters : (cells,) integer array
    populations : (cells,) integer array
        Cells with a negative population are left out of every count.
    """
    return np.asarray(_counts(clusters, populations)[2])


def _counts(
    clusters: NDArray[Any], populations: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return the cells of every population and cluster, of every population, and the F1 of pairs.

    Cells without a cluster count for their population only.
    """
    known = populations >= 0
    codes, given = np.asarray(populations)[known].astype(np.intp), np.asarray(clusters)[known]
    # a cell without a cluster (-1) becomes a cluster of its own kind, in column 0
    table = np.zeros((int(codes.max()) + 1, int(given.max()) + 2), np.intp)
    np.add.at(table, (codes, given.astype(np.intp) + 1), 1)
    table = table[:, 1:]
    sizes = np.bincount(codes, minlength=len(table))
    totals = sizes[:, None] + table.sum(axis=0)
    return table, sizes, 2 * table / np.maximum(totals, 1)
