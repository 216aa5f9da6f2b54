"""The tables of one gated experiment: F1, cuts of the tree, calibration and weights of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.benchmarks.calibration import Reliability
from tests.benchmarks.cytometry.cells import Cells
from tests.benchmarks.cytometry.cuts import CUTS, LEAST_OF_BEST, cut_rows, cut_scores
from tests.benchmarks.cytometry.fits import PEER_ROWS, Fits
from tests.benchmarks.cytometry.gates import (
    Bars,
    Clustering,
    clusterings,
    figure_rows,
    gate_rows,
    mean_f1,
)
from tests.benchmarks.cytometry.methods import (
    GMM_FULL,
    KMEANS_START,
    POPULATIONS,
    SPECTRAL_START,
    Count,
    unsettled_fits_allowed,
)
from tests.benchmarks.cytometry.reliability import Curves, add_calibration
from tests.benchmarks.cytometry.weights import (
    FILES,
    OTHER_PARTS,
    PARTS,
    Distances,
    distances,
    tilted,
    weight_row,
)
from tests.benchmarks.tables import Report, Row

Weights = dict[tuple[Count, str], list[Distances]]
"""Number of populations asked for and kind of group, to the distances with every seed."""


@dataclass
class Measured:
    """Figures of all seeds."""

    clusterings: list[Clustering] = field(default_factory=list)
    cuts: list[Mapping[int, float]] = field(default_factory=list)
    curves: Curves = field(default_factory=dict)
    weights: Weights = field(default_factory=dict)


def add_experiment(
    report: Report,
    title: str,
    cells: Cells,
    counts: Sequence[Count],
    seeds: int,
    held_to: Bars,
    *,
    weighted: Sequence[Count] = (),
) -> None:
    """Print all tables of an experiment.

    Parameters
    ----------
    report : Report
    title : str
    cells : Cells
    counts : sequence of int or "auto"
        Numbers of clusters. Cuts of the tree are only compared with ``"auto"``.
    seeds : int
    held_to : Bars
    weighted : sequence of int or "auto", default ()
        Numbers of populations of which the weights of files are estimated.
    """
    found = measure(cells, counts, seeds, weighted)
    figures = figure_rows(found.clusterings, held_to, len(cells.gates))
    report.add(f"{title}: F1", figures, _notes(cells, counts))
    report.add(
        f"{title}: F1 of every gate, mean over seeds", gate_rows(found.clusterings, cells.names)
    )
    if "auto" in counts:
        chosen = mean_f1(found.clusterings, "auto", POPULATIONS)
        note = (
            f"cuts of the same trees into {CUTS[0]} to {CUTS[-1]} populations; auto: at least "
            f"{LEAST_OF_BEST:g} times the best"
        )
        report.add(f"{title}: cuts, mean over seeds", cut_rows(found.cuts, chosen), [note])
    add_calibration(report, title, found.curves, held_to.calibration_error)
    if weighted:
        note = (
            "distance of shares of gates from gated shares (total variation), mean over groups of "
            "gated cells and seeds; weights that have not settled are taken as they are"
        )
        report.add(f"{title}: weights", weight_rows(found.weights), [note])


def measure(
    cells: Cells, counts: Sequence[Count], seeds: int, weighted: Sequence[Count] = ()
) -> Measured:
    """Fit with every seed, and evaluate the fits."""
    found = Measured()
    for seed in range(seeds):
        fits = Fits(cells, seed)
        of_seed = list(clusterings(fits, counts))
        found.clusterings += of_seed
        if "auto" in counts:
            found.cuts.append(cut_scores(fits.populations("auto"), cells))
        sizes = {one.asked: one.clusters for one in of_seed}
        for key, curve in reliabilities(fits, sizes).items():
            found.curves.setdefault(key, []).append(curve)
        for asked in weighted:
            for kind, distance in weight_distances(fits, asked).items():
                found.weights.setdefault((asked, kind), []).append(distance)
    return found


def reliabilities(fits: Fits, sizes: Mapping[Count, int]) -> dict[tuple[Count, str], Reliability]:
    """Return the calibration of populations and of Gaussian mixtures with as many clusters."""
    return {
        (asked, method): curve
        for asked, clusters in sizes.items()
        for method, curve in (
            (POPULATIONS, fits.population_reliability(asked)),
            (GMM_FULL, fits.gaussian_reliability(clusters)),
        )
    }


def weight_distances(fits: Fits, asked: Count) -> dict[str, Distances]:
    """Return the distances of weights of files, and of parts of other composition."""
    cells, model = fits.cells, fits.populations(asked)
    values, classes = cells.gated_values(), cells.gated_classes
    label = np.asarray(model.predict(values))
    parts = tilted(classes, PARTS, np.random.default_rng(fits.seed))
    with unsettled_fits_allowed():
        return {
            kind: distances(model, values, classes, group, label)
            for kind, group in ((FILES, cells.gated_files()), (OTHER_PARTS, parts))
        }


def weight_rows(found: Weights) -> list[Row]:
    """Return a row for every number of populations and kind of group."""
    return [
        weight_row(of_fits, k=str(asked), groups=kind) for (asked, kind), of_fits in found.items()
    ]


def _notes(cells: Cells, counts: Sequence[Count]) -> list[str]:
    """Return notes on the table of F1."""
    gated = len(cells.gated_classes)
    notes = [
        f"{len(cells.gates):,} cells, all clustered; F1 on {gated:,} gated ones",
        f"channels: {', '.join(cells.features)}",
        f"{GMM_FULL}: one start, fitted to at most {PEER_ROWS:,} cells",
        f"{KMEANS_START} and {SPECTRAL_START}: one component a cluster, one seed",
        "spread: largest less smallest mean F1 over seeds",
    ]
    if "auto" in counts:
        notes.append("auto: as many clusters as the library chooses, for the peers too")
    return notes
