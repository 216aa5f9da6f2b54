"""Linear mixtures against label oracles, and against power updates alone.

``python -m tests.benchmarks.linear_mixture --models 10 --out linear.json``

The models have other seeds than those that the constants of the package were chosen with. Run it
with ``OMP_NUM_THREADS=1``: times are ratios of processor time on one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.linear_mixture.accuracy import add_accuracy
from tests.benchmarks.linear_mixture.explicit import add_explicit
from tests.benchmarks.linear_mixture.growth import add_growth
from tests.benchmarks.linear_mixture.labels import add_labels
from tests.benchmarks.linear_mixture.methods import add_methods
from tests.benchmarks.linear_mixture.power import add_power
from tests.benchmarks.tables import Report

PARTS = {
    "accuracy": add_accuracy,
    "power": add_power,
    "labels": add_labels,
    "tensorly": add_explicit,
    "methods": add_methods,
    "growth": add_growth,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=10, help="models of every size")
    parser.add_argument("--small", action="store_true", help="one small size of every part")
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    report = Report("linear_mixture", {"models": options.models}, options.out)
    for name in options.only:
        PARTS[name](report, options.models, small=options.small)
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
