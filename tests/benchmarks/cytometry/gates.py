"""Clusters of all cells of an experiment against its gates, matched one to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.benchmarks.baselines import flowsom_labels_of_counts, gaussian_mixture_labels
from tests.benchmarks.cytometry.cells import Cells
from tests.benchmarks.cytometry.methods import (
    FLOWSOM,
    GMM_FULL,
    KMEANS_START,
    POPULATIONS,
    SPECTRAL_START,
    Count,
    kernel_mixture_labels,
    population_labels,
)
from tests.benchmarks.matching import Match, match_clusters
from tests.benchmarks.tables import Report, Row

PEER_ROWS = 100_000
"""Rows that the full Gaussian mixture is fitted to; it labels all of them."""

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


def add_gates(
    report: Report, title: str, cells: Cells, counts: Sequence[Count], seeds: int, *, held: bool
) -> None:
    """Print the figures of every method and number of clusters, then those of every gate."""
    found = list(clusterings(cells, counts, seeds))
    gated = int((cells.gates >= 0).sum())
    notes = [
        f"{len(cells.gates):,} cells, all clustered; F1 on {gated:,} gated ones",
        f"channels: {', '.join(cells.features)}",
        f"{GMM_FULL}: one start, fitted to at most {PEER_ROWS:,} cells",
        f"{KMEANS_START} and {SPECTRAL_START}: one component a cluster, one seed",
    ]
    if "auto" in counts:
        notes.append("auto: as many clusters as the library chooses, for the peers too")
    report.add(f"{title}: F1", figure_rows(found, held=held), notes)
    report.add(f"{title}: F1 of every gate, mean over seeds", gate_rows(found, cells.names))


def clusterings(cells: Cells, counts: Sequence[Count], seeds: int) -> Iterator[Clustering]:
    """Cluster with every seed, number of clusters and method."""
    values = cells.values()
    for seed in range(seeds):
        sizes: dict[Count, int] = {}
        for asked, clusters, labels in population_labels(cells, counts, seed):
            sizes[asked] = clusters
            yield Clustering(asked, clusters, POPULATIONS, match_clusters(labels, cells.gates))
        maps = flowsom_labels_of_counts(values, sorted(set(sizes.values())), seed)
        for asked, clusters in sizes.items():
            labels_of = {
                FLOWSOM: maps[clusters],
                GMM_FULL: gaussian_mixture_labels(values, clusters, 1, PEER_ROWS, seed=seed),
            }
            if seed == 0:
                for name, start in ((KMEANS_START, "kmeans"), (SPECTRAL_START, "spectral")):
                    labels_of[name] = kernel_mixture_labels(
                        cells.store, seed, n_components=clusters, views=cells.views, start=start
                    )
            for method, labels in labels_of.items():
                yield Clustering(asked, clusters, method, match_clusters(labels, cells.gates))


def figure_rows(found: Sequence[Clustering], *, held: bool) -> list[Row]:
    """Return a row for every number of clusters and method; the bar is on the populations."""
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
            "F1 by cells": float(np.mean([one.match.weighted_f1 for one in group])),
            "accuracy": float(np.mean([one.match.accuracy for one in group])),
        }
        if held and method == POPULATIONS:
            best = max(_mean_f1(found, asked, peer) for peer in PEERS)
            row |= {"bars": f"mean F1 >= {best:.3f}", "holds": row["mean F1"] >= best}
        table.append(row)
    return table


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


def _mean_f1(found: Sequence[Clustering], asked: Count, method: str) -> float:
    """Return the mean over the seeds."""
    group = [one for one in found if (one.asked, one.method) == (asked, method)]
    return float(np.mean([one.match.mean_f1 for one in group]))


def _name(asked: Count, group: Sequence[Clustering]) -> str:
    """Return the number of clusters, and what the library chose where it was to choose."""
    if asked != "auto":
        return str(asked)
    chosen = sorted({one.clusters for one in group})
    return f"auto: {chosen[0]}" if len(chosen) == 1 else f"auto: {chosen[0]} to {chosen[-1]}"
