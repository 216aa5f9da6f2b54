"""The published power method on all rows, beside the default fit."""

from __future__ import annotations

import time

from bigtensor import LinearMixture
from tests.benchmarks.linear_mixture.accuracy import SEED
from tests.benchmarks.linear_mixture.columns import Drawn, column_errors, quiet_fit
from tests.benchmarks.tables import Report, Row

LEAST_RATIO = 3.0


def add_power(report: Report, models: int, *, small: bool = False) -> None:
    """Add error and time of power updates over those of the default."""
    sizes = ((20, 30, 30_000),) if small else ((100, 100, 100_000),)
    rows = [power_row(*size, seed) for size in sizes for seed in range(models)]
    report.add("power updates alone (method='power')", rows)


def power_row(n_features: int, k: int, rows: int, seed: int) -> Row:
    """Return error and processor time of both."""
    drawn = Drawn.of(n_features, k, rows, 1.0, SEED + seed)
    begun = time.process_time()
    model = LinearMixture(k, views=drawn.views, random_state=seed).fit(drawn.values)
    ours = time.process_time() - begun
    error, found = column_errors(drawn.truth, [of.to_numpy() for of in model.components_.values()])
    begun = time.process_time()
    reference = LinearMixture(k, views=drawn.views, method="power", max_iter=0, random_state=seed)
    columns = quiet_fit(reference, drawn)
    power = time.process_time() - begun
    power_error, power_found = column_errors(drawn.truth, columns)
    return {
        "features": n_features,
        "components": k,
        "rows": rows,
        "default": round(error, 4),
        "found": round(found, 2),
        "power": round(power_error, 4),
        "power found": round(power_found, 2),
        "error ratio": round(power_error / error, 2),
        "time share": round(ours / power, 3),
        "full reads": sum(p["name"] != "pilot" for p in model.diagnostics_["passes"]),
        "power reads": sum(p["name"] != "pilot" for p in reference.diagnostics_["passes"]),
        "holds": bool(power_error >= LEAST_RATIO * error and ours <= power / 3),
    }
