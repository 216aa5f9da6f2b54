"""Simulated cells with rare populations and outliers, whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bigtensor.data.simulate.correlated_cells import SHARES, write_correlated_cells
from tests.benchmarks.calibration import Reliability
from tests.benchmarks.cytometry.cells import Cells, Labels
from tests.benchmarks.cytometry.fits import PEER_ROWS, Fits
from tests.benchmarks.cytometry.methods import GMM_FULL, POPULATIONS, Count
from tests.benchmarks.cytometry.reliability import Curves, add_curves
from tests.benchmarks.matching import match_clusters
from tests.benchmarks.tables import Report, Row, bars

TRUE_COUNT = len(SHARES)
FOUND_F1 = 0.5
"""Least F1 of a population that counts as found."""

AUTOMATIC_COUNTS = range(9, 13)
"""Numbers of populations that the library may choose."""

LARGEST_ERROR = 0.03
"""Of the expected calibration error."""


def add_simulated(report: Report, folder: Path, seeds: int, rows: int, outliers: int) -> None:
    """Print a row for every seed, number of populations and method, and the bars.

    Parameters
    ----------
    report : Report
    folder : Path
        For the stores.
    seeds : int
        Of the simulation and of the fits.
    rows, outliers : int
        Cells, and how many of them are of no population.
    """
    table: list[Row] = []
    curves: Curves = {}
    for seed in range(seeds):
        store = folder / "simulated.zarr"
        write_correlated_cells(store, rows, outliers=outliers, random_state=seed, overwrite=True)
        cells = Cells.of_store(store)
        for asked, method, labels, curve in evaluated(Fits(cells, seed)):
            table.append(simulated_row(seed, asked, method, labels, cells.gates, curve))
            curves.setdefault((asked, method), []).append(curve)
    notes = [
        f"{rows:,} cells of {TRUE_COUNT} populations, the rarest {min(SHARES):.2%}, and {outliers} "
        "outliers; cells and fits have the same seed",
        f"found: populations with F1 of at least {FOUND_F1:g} after one-to-one matching",
        "of outliers: clusters more than half of whose cells are outliers",
        f"calibration error: without outliers, after majority annotation; {GMM_FULL}: fitted to at "
        f"most {PEER_ROWS:,} cells",
    ]
    report.add("Simulated cells", table, notes)
    add_curves(report, "Simulated cells", curves)


def evaluated(fits: Fits) -> Iterator[tuple[Count, str, Labels, Reliability]]:
    """Yield number asked for, method, labels and calibration, for the true number and "auto"."""
    for asked in (TRUE_COUNT, "auto"):
        model = fits.populations(asked)
        clusters = len(model.population_weights_)
        labels = np.asarray(model.predict(fits.cells.store))
        yield asked, POPULATIONS, labels, fits.population_reliability(asked)
        peer_labels = fits.gaussian(clusters).predict(fits.values)
        yield asked, GMM_FULL, peer_labels, fits.gaussian_reliability(clusters)


def simulated_row(
    seed: int, asked: Count, method: str, labels: Labels, truth: Labels, curve: Reliability
) -> Row:
    """Return the figures of one clustering; the bars are on the populations.

    Parameters
    ----------
    seed : int
    asked : int or "auto"
    method : str
    labels : (cells,) integer array
    truth : (cells,) integer array
        -1 for outliers.
    curve : Reliability
    """
    found = int((match_clusters(labels, truth).f1 >= FOUND_F1).sum())
    clusters, of_outliers = len(np.unique(labels)), count_of_outliers(labels, truth)
    row: Row = {
        "seed": seed,
        "k": str(asked),
        "method": method,
        "clusters": clusters,
        "found": found,
        "of outliers": of_outliers,
        "calibration error": curve.error,
    }
    if method == POPULATIONS:
        held = {
            "none of outliers": of_outliers == 0,
            f"calibration error <= {LARGEST_ERROR:g}": curve.error <= LARGEST_ERROR,
        }
        if asked == "auto":
            ends = f"{AUTOMATIC_COUNTS[0]} to {AUTOMATIC_COUNTS[-1]}"
            held[f"{ends} clusters"] = clusters in AUTOMATIC_COUNTS
        else:
            held[f"{TRUE_COUNT} found"] = found == TRUE_COUNT
        row |= bars(held)
    return row


def count_of_outliers(labels: Labels, truth: Labels) -> int:
    """Return the number of clusters more than half of whose cells are outliers."""
    sizes = np.bincount(labels)
    outlying = np.bincount(labels[truth < 0], minlength=len(sizes))
    return int((2 * outlying > sizes).sum())
