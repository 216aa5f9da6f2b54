"""Real cells against manual gates, beside FlowSOM, Gaussian mixtures and k-means.

``python -m tests.benchmarks.cytometry --data FOLDER --out cytometry.json``

FOLDER holds ``gvhd.npz``, ``activation`` (12 FCS files and ``labels.npz``) and ``mouse_spleen``
(one FCS file and ``gatingResult.csv``). FCS events are compensated and put on the arcsinh scale;
every fluorescent channel is a view of its own, scatter and time are left out, for the peers too.
No method sees a gate, and the settings are the same for all data sets. Activation, its time and
GvHD have bars, the spleen has none.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.cytometry.cells import import_activation, import_spleen, load_gvhd
from tests.benchmarks.cytometry.duration import add_times
from tests.benchmarks.cytometry.gates import add_gates
from tests.benchmarks.cytometry.gvhd import add_gvhd
from tests.benchmarks.tables import Report

TABLES = ("gvhd", "activation", "spleen", "time")
SPLEEN_CLUSTERS = (6, 8, 10, 15)
FILES = 12


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
        add_gates(report, "T-cell activation", activation, counts, options.seeds, held=True)
    if "spleen" in options.only:
        spleen = import_spleen(options.data / "mouse_spleen", folder / "spleen.zarr")
        add_gates(report, "Mouse spleen", spleen, SPLEEN_CLUSTERS, options.seeds, held=False)
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
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    settings = {name: getattr(options, name) for name in ("seeds", "clusters", "files")}
    report = Report("cytometry", settings, options.out)
    with tempfile.TemporaryDirectory() as temporary:
        run(report, options, Path(temporary))
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
