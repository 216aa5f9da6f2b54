"""Tables of calibration: expected calibration errors and reliability curves of several methods."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tests.benchmarks.calibration import Reliability, curve_rows
from tests.benchmarks.cytometry.methods import POPULATIONS, Count
from tests.benchmarks.tables import Report, Row, bars

Curves = dict[tuple[Count, str], list[Reliability]]
"""Number of clusters asked for and method, to the calibration of every fit."""


def add_calibration(report: Report, title: str, curves: Curves, largest: float | None) -> None:
    """Print the calibration errors, and the reliability curves."""
    note = (
        "gated cells; every population or cluster has the gate that most of its cells have, and "
        "probabilities of one gate are added; error: mean over fits"
    )
    report.add(f"{title}: calibration", calibration_rows(curves, largest), [note])
    add_curves(report, title, curves)


def add_curves(report: Report, title: str, curves: Curves) -> None:
    """Print the reliability curves of the last number of clusters."""
    last = next(reversed(curves))[0]
    summed = {
        method: sum_of(of_fits) for (asked, method), of_fits in curves.items() if asked == last
    }
    report.add(f"{title}: reliability, k = {last}, all fits", curve_rows(summed))


def calibration_rows(curves: Curves, largest: float | None) -> list[Row]:
    """Return a row for every number of clusters and method; the bar is on the populations."""
    table = []
    for (asked, method), of_fits in curves.items():
        error, summed = float(np.mean([one.error for one in of_fits])), sum_of(of_fits)
        row: Row = {
            "k": str(asked),
            "method": method,
            "fits": len(of_fits),
            "calibration error": error,
            "largest": max(one.error for one in of_fits),
            "confidence": summed.mean_confidence,
            "share right": summed.share_right,
        }
        if method == POPULATIONS and largest is not None:
            row |= bars({f"calibration error <= {largest:g}": error <= largest})
        table.append(row)
    return table


def sum_of(curves: Iterable[Reliability]) -> Reliability:
    """Return the sum of at least one calibration."""
    first, *others = curves
    return sum(others, start=first)
