"""What the figures of the documentation are drawn from: growth with the rows, and one example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tests.benchmarks.accuracy.cases import Case
from tests.benchmarks.accuracy.methods import BASELINES, EM, METHODS, OURS, SPECTRAL, SPHERICAL
from tests.benchmarks.accuracy.rows import measure
from tests.benchmarks.tables import Report, Row

COMPONENTS = 4
ROWS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
FAMILIES = ("gaussian", "gamma")
QUARTILES = {"lower quartile": 25, "median": 50, "upper quartile": 75}

GROWTH = "Error against rows"
EXAMPLE = "Recovered densities"
POINTS_SKIPPED = 4


def add_growth(
    report: Report, sets: int, methods: Sequence[str] | None = None, sizes: Sequence[int] = ROWS
) -> None:
    """Print the quartiles of the error of every method, for growing numbers of rows."""
    for family in FAMILIES:
        report.add(
            f"{GROWTH}, {family}, k = {COMPONENTS}", list(growth_rows(family, sizes, sets, methods))
        )


def growth_rows(
    family: str, sizes: Sequence[int], sets: int, methods: Sequence[str] | None = None
) -> Iterator[Row]:
    """Yield three rows, one a quartile, for every number of rows."""
    compared = tuple(name for name in OURS + BASELINES if name != SPHERICAL)
    for rows in sizes:
        case = Case(GROWTH, family, (COMPONENTS,), rows, methods=compared)  # type: ignore[arg-type]
        errors = measure(case, COMPONENTS, sets, methods)
        for quartile, percent in QUARTILES.items():
            figures = {
                name: float(np.nanpercentile(values, percent)) for name, values in errors.items()
            }
            yield {"rows": rows, "of sets": quartile, **figures}


def add_example(report: Report, rows: int = 10_000) -> None:
    """Estimate densities of a Gaussian and a Gamma component, and keep them with their errors."""
    (truth,) = Case(EXAMPLE, "gamma", (2,), rows).data_sets(2, 1)
    shown = slice(None, None, POINTS_SKIPPED)
    estimates = {name: METHODS[name](truth) or [] for name in (SPECTRAL, EM)}
    densities = {"truth": truth.densities} | {
        name: truth.in_true_order(estimate) for name, estimate in estimates.items()
    }
    curves = [
        {"grid": grid[shown].round(4).tolist()}
        | {name: parts[view][shown].round(5).tolist() for name, parts in densities.items()}
        for view, grid in enumerate(truth.grids)
    ]
    # too many numbers to print: they are in the file only
    report.tables[f"{EXAMPLE}, curves"] = {"rows": [], "notes": [], "curves": curves}
    report.add(
        f"{EXAMPLE}, a Gaussian and a Gamma component, {rows:,} rows",
        [{"method": name, "error": truth.error(estimate)} for name, estimate in estimates.items()],
    )
