"""Decompositions of the explicit third moment by TensorLy, beside the moments of the package."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bigtensor import LinearMixture
from tests.benchmarks.linear_mixture.accuracy import SEED
from tests.benchmarks.linear_mixture.columns import Columns, Drawn, column_errors
from tests.benchmarks.tables import Report, Row

_Result = TypeVar("_Result")

ITERATIONS, TOLERANCE = 100, 1e-7
MOST_RATIO = 1.05
BLOCK = 2048


def add_explicit(report: Report, models: int, *, small: bool = False) -> None:
    """Add recovery and error of both, and processor times."""
    size = (12, 12, 12_000) if small else (50, 50, 50_000)
    rows = [explicit_row(*size, seed) for seed in range(models)]
    notes = (
        f"TensorLy: parafac of E[x1 x2 x3], {ITERATIONS} iterations, tolerance {TOLERANCE:g}; its "
        "time includes the tensor",
        "moments: LinearMixture without EM iterations",
    )
    report.add("decompositions of the explicit tensor", [*rows, summary(rows)], notes)


def explicit_row(n_features: int, k: int, rows: int, seed: int) -> Row:
    """Return errors and recoveries on one data set."""
    drawn = Drawn.of(n_features, k, rows, 1.0, SEED + seed)
    tensor, forming = timed(lambda: third_moment(drawn))
    row: Row = {"features": n_features, "components": k, "rows": rows, "seed": seed}

    def moments() -> Columns:
        model = LinearMixture(k, views=drawn.views, max_iter=0, random_state=seed)
        return [of.to_numpy() for of in model.fit(drawn.values).components_.values()]

    ways: dict[str, tuple[Callable[[], Columns], float]] = {
        "moments": (moments, 0.0),
        "random": (lambda: parafac_columns(tensor, k, "random", seed), forming),
        "svd": (lambda: parafac_columns(tensor, k, "svd", seed), forming),
    }
    for name, (decompose, before) in ways.items():
        columns, seconds = timed(decompose)
        error, found = column_errors(drawn.truth, columns)
        row |= {name: round(error, 4), f"{name} found": round(found, 3)}
        row[f"{name} seconds"] = round(before + seconds, 2)
    return row


def summary(rows: list[Row]) -> Row:
    """Return means over the seeds, and whether the bars hold."""
    row: Row = {key: rows[0][key] for key in ("features", "components", "rows")}
    row["seed"] = "all"
    for name in ("moments", "random", "svd"):
        row[name] = round(float(np.mean([r[name] for r in rows])), 4)
        row[f"{name} found"] = f"{sum(r[f'{name} found'] == 1 for r in rows)}/{len(rows)}"
        row[f"{name} seconds"] = round(float(np.mean([r[f"{name} seconds"] for r in rows])), 2)
    recovered = all(
        r["moments found"] >= max(r["random found"], r["svd found"])
        and r["moments"] <= MOST_RATIO * min(r["random"], r["svd"])
        for r in rows
    )
    row["holds"] = bool(recovered)
    return row


def third_moment(drawn: Drawn) -> NDArray[np.float64]:
    """Return the mean of the outer products of the three views."""
    first, second, third = np.split(drawn.values, 3, axis=1)
    n, d = first.shape
    total = np.zeros((d * d, d))
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        pairs = (first[rows, :, None] * second[rows, None, :]).reshape(-1, d * d)
        total += pairs.T @ third[rows]
    return (total / n).reshape(d, d, d)


def parafac_columns(tensor: NDArray[np.float64], k: int, init: str, seed: int) -> Columns:
    """Return the columns of a canonical polyadic decomposition by TensorLy."""
    from tensorly.decomposition import parafac

    found = parafac(tensor, k, n_iter_max=ITERATIONS, init=init, tol=TOLERANCE, random_state=seed)
    return [np.asarray(factor) for factor in found.factors]


def timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Return the result of some work, and its processor time."""
    begun = time.process_time()
    result = work()
    return result, time.process_time() - begun
