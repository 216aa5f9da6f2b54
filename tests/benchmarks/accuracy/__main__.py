"""Accuracy on simulated mixtures, beside the error of every baseline on the same data.

``python -m tests.benchmarks.accuracy --sets 10 --out accuracy.json``

The error is the mean over views of the weighted distance of estimated from true component
densities. A first table of every kind of data gives the errors of all methods, a second one the
ratios of this library's errors to a kernel density that knows the labels and to Gaussian EM, with
the bars. All fits use the model's defaults, except where a method names a parameter.

What the figures are drawn from is made by ``--only error-against-m recovered-densities``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.benchmarks.accuracy.cases import CASES
from tests.benchmarks.accuracy.component_count import add_component_counts
from tests.benchmarks.accuracy.drawn import add_example, add_growth
from tests.benchmarks.accuracy.methods import METHODS
from tests.benchmarks.accuracy.moments_pass import precision_row, rate_row
from tests.benchmarks.accuracy.rows import add_case
from tests.benchmarks.tables import Report

Part = Callable[[Report], None]

ON_REQUEST = ("error-against-m", "recovered-densities")


def parts(sets: int, methods: Sequence[str] | None) -> list[tuple[str, Part]]:
    """Return what can be run, in order, by the names that ``--only`` knows."""
    return [
        *((case.key, partial(add_case, case=case, sets=sets, methods=methods)) for case in CASES),
        (
            "B7",
            lambda report: report.add(
                "B7 float32 features against float64, triple moment", [precision_row(100_000)]
            ),
        ),
        ("B8", partial(add_component_counts, sets=sets)),
        (
            "B9",
            lambda report: report.add(
                "B9 moments pass against a large product, one thread", [rate_row(300_000)]
            ),
        ),
        ("error-against-m", partial(add_growth, sets=sets, methods=methods)),
        ("recovered-densities", add_example),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 when a bar is missed."""
    names = list(dict.fromkeys(name for name, _ in parts(1, None)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=10, help="data sets of every kind")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=names,
        metavar="TABLE",
        default=[name for name in names if name not in ON_REQUEST],
        help=f"tables to make, of {', '.join(names)}; all but the last two by default",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        metavar="METHOD",
        help=f"methods to compare, of {', '.join(map(repr, METHODS))}; all by default",
    )
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    report = Report("accuracy", {"sets": options.sets}, options.out)
    for name, add in parts(options.sets, options.methods):
        if name in options.only:
            add(report)
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
