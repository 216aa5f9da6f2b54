"""Errors of all methods against the number of triples, their times, and the bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import process_time

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.hidden_markov.triples import (
    CHOSEN,
    EM_LOOSE,
    EM_MAP,
    EM_TIGHT,
    EM_TRUTH,
    FIRST_SEED,
    METHODS,
    OURS,
    models,
)
from tests.benchmarks.tables import Report, Row, bars

Measured = Mapping[str, NDArray[np.float64]]
"""Name of a method to its figure on every model."""

ROWS: Mapping[int, Sequence[int]] = {
    5: (500, 2000, 10_000, 100_000),
    10: (500, 4000, 100_000),
}
"""Numbers of triples by number of states."""

OPPONENTS = {"F": EM_LOOSE, "F2": EM_TIGHT, "EM-MAP": EM_MAP, "truth": EM_TRUTH}

MANY_ROWS = 10_000
LARGEST_RATIO, LARGEST_RATIO_MANY_ROWS = 1.0, 0.6
"""Bar F: ratio to loosely converged EM, and where there are many triples."""

LARGEST_RATIO_TIGHT = 1.15
"""Bar F2: ratio to converged EM."""

MEASURE = "error: mean of |P - estimate| / P on 2,000 triples drawn from P, mean over the models"


def add_accuracy(
    report: Report,
    count: int,
    rows: Mapping[int, Sequence[int]] = ROWS,
    first_seed: int = FIRST_SEED,
) -> None:
    """Print the errors and times of all methods, then the ratios of the bars."""
    for k, sizes in rows.items():
        errors, seconds = {}, {}
        for size in sizes:
            errors[size], seconds[size] = measured(k, size, count, first_seed)
        title = f"Error against the triples, {k} states"
        report.add(title, [_means(size, errors[size]) for size in sizes], [MEASURE])
        report.add(f"{title}: ratios", [ratio_row(size, errors[size]) for size in sizes])
        report.add(
            f"Processor time against the triples, {k} states",
            [_means(size, seconds[size]) for size in sizes],
            ["seconds of one fit, mean over the models"],
        )


def measured(k: int, rows: int, count: int, first_seed: int) -> tuple[Measured, Measured]:
    """Return the errors and the processor times of all methods on fresh models."""
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for drawn in models(k, rows, count, first_seed):
        for name, method in METHODS.items():
            begun = process_time()
            estimate = method(drawn)
            seconds[name].append(process_time() - begun)
            errors[name].append(drawn.error(estimate))
    of_errors = {name: np.array(values) for name, values in errors.items()}
    return of_errors, {name: np.array(values) for name, values in seconds.items()}


def ratio_row(rows: int, errors: Measured) -> Row:
    """Return the ratios of mean errors, and whether the bars hold for the fixed ridge."""
    means = {name: float(values.mean()) for name, values in errors.items()}
    ratios = {name: means[OURS] / means[other] for name, other in OPPONENTS.items()}
    chosen = {f"{name}, {CHOSEN}": means[CHOSEN] / means[OPPONENTS[name]] for name in ("F", "F2")}
    loose = LARGEST_RATIO_MANY_ROWS if rows >= MANY_ROWS else LARGEST_RATIO
    held = {
        f"F <= {loose:g}": ratios["F"] <= loose,
        f"F2 <= {LARGEST_RATIO_TIGHT:g}": ratios["F2"] <= LARGEST_RATIO_TIGHT,
    }
    labelled = {f"{name}: {OPPONENTS[name]}": ratio for name, ratio in ratios.items()}
    return {"rows": rows, **labelled, **chosen} | bars(held)


def _means(rows: int, measured: Measured) -> Row:
    """Return the mean of every method."""
    return {"rows": rows, **{name: float(values.mean()) for name, values in measured.items()}}
