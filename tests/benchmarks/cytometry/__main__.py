"""Clusterings of real and simulated rows against known classes, beside those of peers.

``python -m tests.benchmarks.cytometry --data FOLDER --out cytometry.json``

FOLDER holds ``gvhd.npz``, ``activation`` (12 FCS files and ``labels.npz``), ``mouse_spleen`` (one
FCS file and ``gatingResult.csv``), ``hipc_w2.npz`` and ``mfeat.npz``. FCS events are compensated
and put on the arcsinh scale; every fluorescent channel is a view of its own, scatter and time are
left out, for the peers too. No method sees a gate, and the settings are the same for all data sets.

Tables, and the bars on them. A figure is a mean over the seeds where nothing else is said.

``gvhd``
    Twelve samples. The k-means start has a best F1 of at least .91, and is not worse than the
    diagonal Gaussian mixture on 10 samples. Populations have a calibration error of at most .05.
    Weights of whole samples and of parts of other composition are not farther from gated shares
    than counted labels.
``activation``
    T-cell activation. The mean F1 of populations is at least the better peer's of FlowSOM and the
    full Gaussian mixture, for every number. Calibration and weights as for ``gvhd``, by files.
``spleen``
    Mouse spleen. The mean F1 of 6, 8, 10 and 15 populations is at least FlowSOM's.
``hipc``
    Blood. The mean F1 of 10 populations is at least .58, of the chosen number at least .52.
``mfeat``
    Handwritten digits in six views of many features. The accuracy is at least .92.
``sklearn``
    Four sets of scikit-learn. The adjusted Rand index of the best call with the number of classes
    is at least .95 times the better one's of k-means and the full Gaussian mixture.
``simulated``
    Ten correlated populations and outliers, for every seed. Ten populations are all found, 9 to 12
    are chosen, none is of outliers, and the calibration error is at most .03.
``oracle``
    All labelled sets, ``hipc_iu1.npz``, ``hipc_pm1.npz`` and ``pbmc_cytof.npz`` besides, as many
    populations as classes: what the tree loses against components that are merged with the
    classes in sight. No bar.
``first_call``
    The same sets. The call without options is at most .03 behind the best units and merging, and
    ahead of FlowSOM, k-means and the full Gaussian mixture at each one's best number of clusters.
``time``
    Activation ten times over takes at most a tenth of the time of FlowSOM.

On ``activation``, ``spleen`` and ``hipc`` the chosen number of populations has a mean F1 of at
least .95 times the best cut's of the same trees into 4 to 30. The mean F1 of two seeds differs by
at most .03 where there are more than 10,000 cells.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.cytometry.cells import (
    import_activation,
    import_hipc,
    import_spleen,
    load_gvhd,
)
from tests.benchmarks.cytometry.digits import add_digits, load_digits_in_views
from tests.benchmarks.cytometry.duration import add_times
from tests.benchmarks.cytometry.experiment import add_experiment
from tests.benchmarks.cytometry.first_calls import add_first_calls
from tests.benchmarks.cytometry.gates import PEERS, Bars
from tests.benchmarks.cytometry.gvhd import add_gvhd
from tests.benchmarks.cytometry.methods import FLOWSOM
from tests.benchmarks.cytometry.oracle import add_oracle
from tests.benchmarks.cytometry.simulated import add_simulated
from tests.benchmarks.cytometry.sklearn_sets import add_sklearn_sets
from tests.benchmarks.tables import Report

TABLES = (
    "gvhd",
    "activation",
    "spleen",
    "hipc",
    "mfeat",
    "sklearn",
    "simulated",
    "oracle",
    "first_call",
    "time",
)
SPLEEN_CLUSTERS = (6, 8, 10, 15)
HIPC_CLUSTERS = (8, 10, 12, 15)
WEIGHTED = (10, "auto")
"""Numbers of populations of which the weights of files are estimated."""

FILES = 12
ALL_ROWS = 10**9
SETTINGS = ("seeds", "clusters", "files", "rows", "cells", "outliers")

ACTIVATION_BARS = Bars(peers=PEERS, calibration_error=0.05)
SPLEEN_BARS = Bars(peers=(FLOWSOM,), compared=SPLEEN_CLUSTERS)
HIPC_BARS = Bars(least={10: 0.58, "auto": 0.52})


def run(report: Report, options: argparse.Namespace, folder: Path) -> None:
    """Make the tables that are asked for; the folder is for stores."""
    if "gvhd" in options.only:
        add_gvhd(report, load_gvhd(options.data / "gvhd.npz"), options.seeds)
    if {"activation", "time"} & set(options.only):
        activation = import_activation(
            options.data / "activation", folder / "activation.zarr", options.files
        )
    if "activation" in options.only:
        counts = (*options.clusters, "auto")
        title = "T-cell activation"
        add_experiment(
            report, title, activation, counts, options.seeds, ACTIVATION_BARS, weighted=WEIGHTED
        )
    if "spleen" in options.only:
        spleen = import_spleen(options.data / "mouse_spleen", folder / "spleen.zarr")
        counts = (*SPLEEN_CLUSTERS, "auto")
        add_experiment(report, "Mouse spleen", spleen, counts, options.seeds, SPLEEN_BARS)
    if "hipc" in options.only:
        hipc = import_hipc(options.data / "hipc_w2.npz", folder / "hipc.zarr", options.rows)
        counts = (*HIPC_CLUSTERS, "auto")
        add_experiment(report, "Blood of HIPC", hipc, counts, options.seeds, HIPC_BARS)
    if "mfeat" in options.only:
        digits = load_digits_in_views(options.data / "mfeat.npz", options.rows)
        add_digits(report, digits, options.seeds)
    if "sklearn" in options.only:
        add_sklearn_sets(report, options.seeds, options.rows)
    if "simulated" in options.only:
        add_simulated(report, folder, options.seeds, options.cells, options.outliers)
    if "oracle" in options.only:
        add_oracle(report, options.data, folder, options.seeds, options.files, options.rows)
    if "first_call" in options.only:
        add_first_calls(report, options.data, folder, options.seeds, options.files, options.rows)
    if "time" in options.only:
        ends = sorted({min(options.clusters), max(options.clusters)})
        add_times(report, activation, folder, ends)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the real data")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES, metavar="TABLE")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 15, 20, 30])
    parser.add_argument("--files", type=int, default=FILES, help="files of the activation data")
    parser.add_argument(
        "--rows",
        type=int,
        default=ALL_ROWS,
        help="at most so many rows of hipc, mfeat, sklearn, oracle and first_call",
    )
    parser.add_argument("--cells", type=int, default=1_000_000, help="simulated cells")
    parser.add_argument("--outliers", type=int, default=100, help="outliers among them")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    settings = {name: getattr(options, name) for name in SETTINGS}
    report = Report("cytometry", settings, options.out)
    with tempfile.TemporaryDirectory() as temporary:
        run(report, options, Path(temporary))
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
