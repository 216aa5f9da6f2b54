"""Discrete mixtures against EM on the same counts, and against StepMix on real rows.

``python -m tests.benchmarks.discrete --models 10 --out discrete.json``

The models have other seeds than those that the constants of the package were chosen with. Run it
with ``OMP_NUM_THREADS=1``: times are ratios of processor time on one thread. The data of the splice
junctions are read from ``--data`` and left out where they are not.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.discrete.accuracy import add_growth, add_sweep
from tests.benchmarks.discrete.large_alphabet import add_large_alphabet
from tests.benchmarks.discrete.real_data import add_real_data
from tests.benchmarks.discrete.real_sets import bundled, splice
from tests.benchmarks.discrete.times import add_times
from tests.benchmarks.tables import Report

SHARED = Path("../shared/data")

PARTS = ("growth", "sweep", "times", "large", "real")


def run(report: Report, models: int, splits: int, data: Path, only: Sequence[str]) -> None:
    """Run the parts that are asked for."""

    def large() -> None:
        with tempfile.TemporaryDirectory() as folder:
            add_large_alphabet(report, Path(folder))

    def real() -> None:
        sets = bundled()
        if (data / "splice.npz").exists():
            sets.append(splice(data))
        add_real_data(report, sets, splits)

    parts: dict[str, Callable[[], None]] = {
        "growth": lambda: add_growth(report, models),
        "sweep": lambda: add_sweep(report, models),
        "times": lambda: add_times(report, models),
        "large": large,
        "real": real,
    }
    for name in PARTS:
        if name in only:
            parts[name]()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=10, help="models of every kind")
    parser.add_argument("--splits", type=int, default=3, help="divisions of real rows")
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of splice.npz")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    settings = {"models": options.models, "splits": options.splits}
    report = Report("discrete", settings, options.out)
    run(report, options.models, options.splits, options.data, options.only)
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
