"""Clusters of all cells of an experiment against its gates, matched one to one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.benchmarks.baselines import flowsom_labels_of_counts
from tests.benchmarks.cytometry.fits import Fits
from tests.benchmarks.cytometry.methods import (
    FLOWSOM,
    GMM_FULL,
    KMEANS_START,
    POPULATIONS,
    SPECTRAL_START,
    Count,
    kernel_mixture_labels,
)
from tests.benchmarks.matching import Match, match_clusters
from tests.benchmarks.tables import Row, bars

LARGEST_SPREAD = 0.03
"""Largest difference of the mean F1 of two seeds, for more than `MANY_CELLS` cells."""

MANY_CELLS = 10_000

PEERS = (FLOWSOM, GMM_FULL)
METHODS = (POPULATIONS, KMEANS_START, SPECTRAL_START, *PEERS)


@dataclass(frozen=True)
class Clustering:
    """How one clustering agrees with the gates.

    Attributes
    ----------
    asked : int or "auto"
    clusters : int
        The number asked for, or the one that the library chose with this seed, for the peers too.
    method : str
    match : Match
    """

    asked: Count
    clusters: int
    method: str
    match: Match


@dataclass(frozen=True)
class Bars:
    """Figures that the populations of a data set are held to.

    Attributes
    ----------
    peers : tuple of str
        The mean F1 over seeds is at least the best of these methods' in the same run.
    compared : tuple of int or "auto", optional
        The numbers of clusters that are compared with the peers; by default all.
    least : mapping of int or "auto" to float
        Least mean F1 over seeds of some numbers of clusters.
    calibration_error : float, optional
        Largest expected calibration error, mean over seeds.
    """

    peers: tuple[str, ...] = ()
    compared: tuple[Count, ...] | None = None
    least: Mapping[Count, float] = field(default_factory=dict)
    calibration_error: float | None = None

    def lowest(self, found: Sequence[Clustering], asked: Count) -> float | None:
        """Return the least mean F1 of a number of clusters, or None."""
        lowest = [self.least[asked]] if asked in self.least else []
        if self.compared is None or asked in self.compared:
            lowest += [mean_f1(found, asked, peer) for peer in self.peers]
        return max(lowest, default=None)


def clusterings(fits: Fits, counts: Sequence[Count]) -> Iterator[Clustering]:
    """Cluster with one seed and every number of clusters and method."""
    cells, seed = fits.cells, fits.seed
    sizes: dict[Count, int] = {}
    for asked in counts:
        model = fits.populations(asked)
        sizes[asked] = len(model.population_weights_)
        labels = np.asarray(model.predict(cells.store))
        yield Clustering(asked, sizes[asked], POPULATIONS, match_clusters(labels, cells.gates))
    maps = flowsom_labels_of_counts(fits.values, sorted(set(sizes.values())), seed)
    for asked, clusters in sizes.items():
        labels_of = {
            FLOWSOM: maps[clusters],
            GMM_FULL: fits.gaussian(clusters).predict(fits.values),
        }
        if seed == 0:
            for name, start in ((KMEANS_START, "kmeans"), (SPECTRAL_START, "spectral")):
                labels_of[name] = kernel_mixture_labels(
                    cells.store, seed, n_components=clusters, views=cells.views, init=start
                )
        for method, labels in labels_of.items():
            yield Clustering(asked, clusters, method, match_clusters(labels, cells.gates))


def figure_rows(found: Sequence[Clustering], held_to: Bars, cells: int) -> list[Row]:
    """Return a row for every number of clusters and method; the bars are on the populations.

    Parameters
    ----------
    found : sequence of Clustering
    held_to : Bars
    cells : int
        Of the data set: few cells are not held to a spread over seeds.
    """
    table = []
    for asked, method, group in _grouped(found):
        scores = np.array([one.match.mean_f1 for one in group])
        row: Row = {
            "k": _name(asked, group),
            "method": method,
            "seeds": len(group),
            "mean F1": float(scores.mean()),
            "sd": float(scores.std()),
            "lowest": float(scores.min()),
            "spread": float(np.ptp(scores)),
            "F1 by cells": float(np.mean([one.match.weighted_f1 for one in group])),
            "accuracy": float(np.mean([one.match.accuracy for one in group])),
        }
        if method == POPULATIONS:
            row |= bars(_held(row, held_to.lowest(found, asked), cells))
        table.append(row)
    return table


def mean_f1(found: Sequence[Clustering], asked: Count, method: str) -> float:
    """Return the mean over the seeds."""
    group = [one for one in found if (one.asked, one.method) == (asked, method)]
    return float(np.mean([one.match.mean_f1 for one in group]))


def gate_rows(found: Sequence[Clustering], names: Sequence[str]) -> list[Row]:
    """Return the mean F1 of every gate for every number of clusters and method."""
    table: list[Row] = []
    for asked, method, group in _grouped(found):
        means = np.mean([one.match.f1 for one in group], axis=0)
        by_gate = {
            name: round(float(f1), 3)
            for name, f1, size in zip(names, means, group[0].match.sizes, strict=False)
            if size
        }
        table.append({"k": _name(asked, group), "method": method, **by_gate})
    return table


def _grouped(found: Sequence[Clustering]) -> Iterator[tuple[Count, str, list[Clustering]]]:
    """Yield the clusterings of every number and method, one a seed."""
    for asked in dict.fromkeys(one.asked for one in found):
        for method in METHODS:
            group = [one for one in found if (one.asked, one.method) == (asked, method)]
            if group:
                yield asked, method, group


def _held(row: Row, lowest: float | None, cells: int) -> dict[str, bool]:
    """Return the bars of a row, and whether they hold; one seed has no spread."""
    held = {}
    if lowest is not None:
        held[f"mean F1 >= {lowest:.3f}"] = row["mean F1"] >= lowest
    if cells > MANY_CELLS and row["seeds"] > 1:
        held[f"spread <= {LARGEST_SPREAD:g}"] = row["spread"] <= LARGEST_SPREAD
    return held


def _name(asked: Count, group: Sequence[Clustering]) -> str:
    """Return the number of clusters, and what the library chose where it was to choose."""
    if asked != "auto":
        return str(asked)
    chosen = sorted({one.clusters for one in group})
    return f"auto: {chosen[0]}" if len(chosen) == 1 else f"auto: {chosen[0]} to {chosen[-1]}"
