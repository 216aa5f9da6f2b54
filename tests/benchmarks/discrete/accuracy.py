"""Errors of all methods against the number of rows and of components, and the bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.discrete.methods import (
    EM_LOOSE,
    EM_MAP,
    EM_SVD,
    EM_TIGHT,
    EX,
    METHODS,
)
from tests.benchmarks.discrete.small_alphabets import models
from tests.benchmarks.tables import Report, Row, bars

Errors = Mapping[str, NDArray[np.float64]]
"""Name of a method to its error on every model, NaN where it has no estimate."""

COMPONENTS = (5, 10)
ROWS = (500, 4000, 10_000, 100_000, 1_000_000)

OPPONENTS = {"A": EM_LOOSE, "B": EM_TIGHT, "C": EM_SVD, "D": EM_MAP}
"""Bar to the method that the error of the default is divided by."""

BOUNDS: dict[str, dict[int, tuple[float, float, float, float]]] = {
    "A": {10: (0.70, 0.88, 0.65, 0.30), 5: (0.88, 0.98, 0.50, 0.25)},
    "B": {10: (0.70, 0.85, 1.02, 1.0), 5: (0.90, 1.0, 1.02, 0.95)},
    "C": {10: (0.75, 0.88, 0.60, 0.35), 5: (0.95, 0.90, 0.60, 0.35)},
    "D": {10: (1.02, 0.95, 1.02, 0.85), 5: (1.02, 1.02, 0.95, 0.65)},
}
BOUNDED_ROWS = (500, 4000, 100_000, 1_000_000)
"""Numbers of rows of the bounds, in their order."""

GROWTH = "Error against the rows"
MEASURE = "error: sum over all cells of |true - estimated probability|, mean over the models"

SWEPT = (2, 4, 6, 8, 10, 12, 15)
SWEPT_ROWS = 4000
LARGEST_RATIO = 0.75
"""Bound on the ratio to EM at the largest number of components."""


def add_growth(
    report: Report, count: int, components: Sequence[int] = COMPONENTS, rows: Sequence[int] = ROWS
) -> None:
    """Print the errors of all methods, then the ratios of the bars."""
    for k in components:
        measured = {size: errors_of(k, size, count, tuple(METHODS)) for size in rows}
        report.add(
            f"{GROWTH}, k = {k}",
            [error_row(size, errors) for size, errors in measured.items()],
            [MEASURE, *(note for size, errors in measured.items() for note in notes(size, errors))],
        )
        report.add(
            f"{GROWTH}, k = {k}: ratio of the error of '{EX}' to others",
            [ratio_row(k, size, errors) for size, errors in measured.items()],
        )


def errors_of(k: int, rows: int, count: int, methods: Sequence[str]) -> dict[str, NDArray]:
    """Return the errors of some methods on fresh models."""
    errors: dict[str, list[float]] = {name: [] for name in methods}
    for drawn in models(k, rows, count):
        for name in methods:
            table = METHODS[name](drawn)
            errors[name].append(np.nan if table is None else drawn.error(table))
    return {name: np.array(values) for name, values in errors.items()}


def error_row(rows: int, errors: Errors) -> Row:
    """Return the mean errors over the models that a method has an estimate for."""
    known = {name: values[~np.isnan(values)] for name, values in errors.items()}
    means = {name: float(np.mean(v)) if len(v) else None for name, v in known.items()}
    return {"rows": rows, **means}


def notes(rows: int, errors: Errors) -> list[str]:
    """Say where a method has an estimate for some models only."""
    return [
        f"{rows:,} rows: {name} has no estimate for {missing} of {len(values)} models"
        for name, values in errors.items()
        if (missing := int(np.isnan(values).sum()))
    ]


def ratio_row(k: int, rows: int, errors: Errors) -> Row:
    """Return the ratios of mean errors, over the models of both, and whether the bars hold."""
    row: Row = {"rows": rows}
    held = {}
    for name, opponent in OPPONENTS.items():
        both = ~np.isnan(errors[EX]) & ~np.isnan(errors[opponent])
        ratio = None
        if both.any():
            ratio = float(errors[EX][both].mean() / errors[opponent][both].mean())
        row[f"{name}: {opponent}"] = ratio
        if rows in BOUNDED_ROWS and ratio is not None:
            bound = BOUNDS[name][k][BOUNDED_ROWS.index(rows)]
            held[f"{name} <= {bound:g}"] = ratio <= bound
    return row | bars(held)


def add_sweep(
    report: Report, count: int, components: Sequence[int] = SWEPT, rows: int = SWEPT_ROWS
) -> None:
    """Print the errors of the default and of EM against the number of components."""
    table = []
    for k in components:
        errors = errors_of(k, rows, count, (EX, EM_LOOSE))
        default, em = (float(np.nanmean(errors[name])) for name in (EX, EM_LOOSE))
        row: Row = {"k": k, EX: default, EM_LOOSE: em, "ratio": default / em}
        if k == max(SWEPT):
            row |= bars({f"ratio <= {LARGEST_RATIO:g}": default / em <= LARGEST_RATIO})
        table.append(row)
    trend = float(np.polyfit([row["k"] for row in table], [row["ratio"] for row in table], 1)[0])
    table.append({"k": "slope of the ratio", "ratio": trend} | bars({"slope <= 0": trend <= 0}))
    report.add(f"Error against the number of components, {rows:,} rows", table, [MEASURE])
