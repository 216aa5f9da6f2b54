"""Errors of all methods on the data sets of one kind, and what of them is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.accuracy.cases import Bar, Case
from tests.benchmarks.accuracy.methods import BASELINES, EM, LABELLED, METHODS
from tests.benchmarks.tables import Report, Row

FloatArray = NDArray[np.float64]
Errors = Mapping[str, FloatArray]
"""Name of a method to its error on every data set, NaN where it has no estimate."""

REFERENCES = (LABELLED, EM)


def add_case(report: Report, case: Case, sets: int, methods: Sequence[str] | None = None) -> None:
    """Print the errors of all methods, then ratios and bars, for every number of components."""
    errors = {k: measure(case, k, sets, methods) for k in case.components}
    report.add(
        f"{case.name}: error",
        [row for k, measured in errors.items() for row in error_rows(k, measured)],
        [note for k, measured in errors.items() for note in failure_notes(k, measured)],
    )
    ratios = [row for k, measured in errors.items() for row in ratio_rows(k, measured, case.bars)]
    if ratios:
        report.add(f"{case.name}: ratio of errors", ratios)


def measure(
    case: Case, k: int, sets: int, methods: Sequence[str] | None = None
) -> dict[str, FloatArray]:
    """Return the errors of the methods of a case, or of those among them that are asked for."""
    names = [name for name in case.methods if methods is None or name in methods]
    errors: dict[str, list[float]] = {name: [] for name in names}
    for truth in case.data_sets(k, sets):
        for name in names:
            densities = METHODS[name](truth)
            errors[name].append(np.nan if densities is None else truth.error(densities))
    return {name: np.array(values) for name, values in errors.items()}


def error_rows(k: int, errors: Errors) -> list[Row]:
    """Return mean and median over the data sets that a method has an estimate for."""
    rows = []
    for name, statistic in (("mean", np.mean), ("median", np.median)):
        known = {method: values[~np.isnan(values)] for method, values in errors.items()}
        figures = {
            method: float(statistic(values)) if len(values) else None
            for method, values in known.items()
        }
        rows.append({"k": k, "of sets": name, **figures})
    return rows


def failure_notes(k: int, errors: Errors) -> list[str]:
    """Say where a method has an estimate for some data sets only."""
    missing = {name: int(np.isnan(values).sum()) for name, values in errors.items()}
    return [
        f"k={k}: {name} has no estimate for {count} of {len(errors[name])} data sets"
        for name, count in missing.items()
        if 0 < count < len(errors[name])
    ]


def ratio_rows(k: int, errors: Errors, bars: Sequence[Bar] = ()) -> list[Row]:
    """Return how this library's errors relate to the references, and whether the bars hold.

    Ratios are taken on every data set; ``x`` is their mean.
    """
    references = [name for name in REFERENCES if name in errors]
    return [
        _ratio_row(k, method, errors, references, bars)
        for method in errors
        if method not in BASELINES and references
    ]


def _ratio_row(
    k: int, method: str, errors: Errors, references: Sequence[str], bars: Sequence[Bar]
) -> Row:
    """Return the row of one method."""
    row: Row = {"k": k, "method": method}
    texts, holds = [], []
    for reference in references:
        ratios = errors[method] / errors[reference]
        figures = {"mean": float(ratios.mean()), "largest": float(ratios.max())}
        row |= {
            f"x {reference}": figures["mean"],
            f"median x {reference}": float(np.median(ratios)),
            f"largest x {reference}": figures["largest"],
        }
        for bar in bars:
            if (bar.method, bar.reference) == (method, reference):
                texts.append(str(bar))
                holds.append(bar.holds(figures[bar.over_sets]))
    row["bars"] = ", ".join(texts) or None
    row["holds"] = all(holds) if holds else None
    return row
