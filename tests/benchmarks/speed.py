"""Speed and memory, as ratios measured in one run.

``python -m tests.benchmarks.speed --out speed.json``

``--rows`` scales everything: data sets have at most that many rows. Measurements that are compared
take turns, and medians are quoted, because a machine's speed drifts.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.kernels import floor_rows, worker_row
from tests.benchmarks.peers import describe, peer_rows
from tests.benchmarks.row_loops import row_loop_rows
from tests.benchmarks.scaling import dispatch_rows, growth_rows, share_rows, worker_rows
from tests.benchmarks.sizes import CASES, SIZES, add_sizes
from tests.benchmarks.tables import Report
from tests.benchmarks.tensor_updates import update_rows

ROWS = 10_000_000
LEAST_ROWS = 20_000


def run(report: Report, folder: Path, rows: int, repeats: int, only: Sequence[str]) -> None:
    """Run the parts that are asked for."""

    def some(share: float) -> int:
        return max(LEAST_ROWS, int(rows * share))

    sizes = sorted({some(0.01), some(0.1), rows})
    parts: dict[str, Callable[[], None]] = {
        "floor": lambda: report.add(
            "Moments pass against its floor, one thread, processor time",
            floor_rows(folder, some(0.1), repeats),
            ["floor: products, exponentials and reading, each at the rate measured beside it"],
        ),
        "loops": lambda: report.add(
            "Labels and posterior sums against one compiled loop of the formula, one thread",
            row_loop_rows(some(0.02), repeats),
        ),
        "updates": lambda: report.add(
            "Tensor contractions against a large float32 product, one thread",
            update_rows(folder, some(0.02), repeats),
            ["share: operations of the matrix products alone, relative to the rate of the product"],
        ),
        "worker": lambda: report.add(
            "Kernel in a default Dask worker against a plain loop, processor time",
            [worker_row(some(0.1), repeats)],
        ),
        "workers": lambda: report.add(
            "Two workers against one, from a store", worker_rows(folder, some(0.4), repeats)
        ),
        "share": lambda: report.add(
            "Share of Dask and reading in the wall time, two workers",
            share_rows(folder, rows, repeats),
        ),
        "dispatch": lambda: report.add(
            "Share of a pass in which two workers run no task", dispatch_rows(folder, rows, repeats)
        ),
        "growth": lambda: report.add(
            "Growth with the rows, two workers of 1 GiB", growth_rows(folder, sizes)
        ),
        "peers": lambda: report.add(
            "Fit and label, against the peers",
            peer_rows(folder, rows, some(0.1), ("spectral", "kmeans")),
            describe(rows, some(0.1)),
        ),
    }
    for name, part in parts.items():
        if not only or name in only:
            part()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark.

    The exit code is 1 when a bar is missed, or, with a history, when a ratio has grown.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the largest data set")
    parser.add_argument("--repeats", type=int, default=5, help="times that A and B take turns")
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        choices=[
            *("floor", "loops", "updates", "worker", "workers", "share", "dispatch", "growth"),
            "peers",
        ],
    )
    parser.add_argument(
        "--sizes",
        nargs="*",
        type=int,
        help="every family beside its peer, on data of these sizes, and nothing else; without "
        f"numbers {SIZES}",
    )
    parser.add_argument(
        "--models", nargs="*", default=[], help=f"with --sizes: {', '.join(c.name for c in CASES)}"
    )
    parser.add_argument("--history", type=Path, help="with --sizes: file to compare with, added to")
    parser.add_argument("--folder", type=Path, help="where the data are kept for the next run")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    settings = {"rows": options.rows, "repeats": options.repeats}
    report = Report("speed", settings, options.out)
    if options.sizes is not None:
        slower = add_sizes(report, options.sizes or SIZES, options.models, options.history)
        print(f"\n{len(report.missed)} rows miss a bar, {len(slower)} are slower than before")
        print(*slower, sep="\n")
        return 1 if slower or (report.missed and options.history is None) else 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        run(report, folder, options.rows, options.repeats, options.only)
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
