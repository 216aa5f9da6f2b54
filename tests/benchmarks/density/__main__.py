"""Densities of many variables beside their peers.

``python -m tests.benchmarks.density --models 10 --data ../shared/data --out density.json``

``--only clusters --figure two-clusters.svg`` draws the two clusters with their estimates.

Run it with ``OMP_NUM_THREADS=1``: times are processor times on one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bigtensor.engine.blas import single_blas_thread
from tests.benchmarks.density.chains import anomalies, few_rows, many_rows, orders, speed
from tests.benchmarks.density.cluster_figure import cluster_figure
from tests.benchmarks.density.imputation import imputation_rows
from tests.benchmarks.density.real_sets import FOLDS, SETS, bars, set_rows
from tests.benchmarks.density.trees import structures
from tests.benchmarks.density.two_clusters import draw_of, two_clusters
from tests.benchmarks.figures import save
from tests.benchmarks.tables import Report

TABLES = ("clusters", "few", "orders", "trees", "many", "speed", "anomalies", "imputation", "real")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, and return how many rows miss a bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=3, help="Models of every simulated table.")
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--figure", type=Path, help="file for a drawing of the two clusters")
    given = parser.parse_args(arguments)
    if given.figure is not None and given.only not in (None, "clusters"):
        parser.error("--figure draws the table clusters: leave --only out, or ask for clusters")
    report = Report("density", {"models": given.models, "folds": given.folds}, given.out)
    wanted = {given.only} if given.only else set(TABLES)
    with single_blas_thread():
        if "clusters" in wanted:
            _add_clusters(report, 10 * given.models, given.figure)
        if "few" in wanted:
            report.add("12 variables, 1,500 rows: nats above the entropy", few_rows(given.models))
        if "orders" in wanted:
            report.add("16 variables, 2,000 rows: order", orders(given.models))
        if "trees" in wanted:
            report.add("16 variables, 2,000 rows: chain and tree", structures(given.models))
        if "many" in wanted:
            report.add("10 variables, 1,000,000 rows: passes", many_rows(given.models))
        if "speed" in wanted:
            report.add("10 variables, rank 8: processor time of a pass", speed())
        if "anomalies" in wanted:
            report.add("8 variables, 4,000 rows: area under the curve", anomalies(given.models))
        if "imputation" in wanted and (given.data / "uci").is_dir():
            report.add("20 % of the entries missing", imputation_rows(given.data, given.models))
        if "real" in wanted:
            _add_real_sets(report, given.data, given.sets, given.folds)
    print(f"\n{len(report.missed)} rows miss a bar")
    return len(report.missed)


def _add_clusters(report: Report, count: int, figure: Path | None) -> None:
    """Add the table of the two clusters, and draw them."""
    draws = [draw_of(seed) for seed in range(count)]
    title = "two clusters, 100 rows: squared error of rank two over that of the kernel estimate"
    report.add(title, two_clusters(draws))
    if figure is not None:
        save(cluster_figure(draws), figure)


def _add_real_sets(report: Report, data: Path, sets: Sequence[str], folds: int) -> None:
    """Add the tables of real sets, if they are there."""
    if not (data / "uci").is_dir():
        print(f"\n{data / 'uci'} is not there; real sets are left out")
        return
    rows = []
    for name in sets:
        of_set = set_rows(data, name, folds)
        report.add(name, of_set)
        rows += of_set
    report.add("sets on which the train is ahead", bars(rows))


if __name__ == "__main__":
    raise SystemExit(main())
