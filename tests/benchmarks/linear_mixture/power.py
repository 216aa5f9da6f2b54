"""The published power method on all rows, beside the default fit."""

from __future__ import annotations

import time

import numpy as np

from bigtensor import LinearMixture
from bigtensor.data.block import Block
from bigtensor.decomposition.sample_tensors.power_method import power_method
from bigtensor.models.sample_tensor import SampleTensor
from tests.benchmarks.linear_mixture.accuracy import SEED
from tests.benchmarks.linear_mixture.columns import Drawn, column_errors
from tests.benchmarks.tables import Report, Row

UPDATES = 30
STARTS_PER_TERM = 4
LEAST_RATIO = 3.0


def add_power(report: Report, models: int, *, small: bool = False) -> None:
    """Add error and time of power updates over those of the default."""
    sizes = ((20, 30, 30_000),) if small else ((100, 100, 100_000),)
    rows = [power_row(*size, seed) for size in sizes for seed in range(models)]
    notes = (f"power updates: {STARTS_PER_TERM} k starts from rows, {UPDATES} updates",)
    report.add("power updates alone", rows, notes)


def power_row(n_features: int, k: int, rows: int, seed: int) -> Row:
    """Return error and processor time of both."""
    drawn = Drawn.of(n_features, k, rows, 1.0, SEED + seed)
    begun = time.process_time()
    model = LinearMixture(k, drawn.views, random_state=seed).fit(drawn.values)
    ours = time.process_time() - begun
    error, found = column_errors(drawn.truth, [of.to_numpy() for of in model.components_.values()])
    begun = time.process_time()
    columns = published_columns(drawn, k, seed)
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
        "holds": bool(power_error >= LEAST_RATIO * error and ours <= power / 3),
    }


def published_columns(drawn: Drawn, k: int, seed: int) -> list[np.ndarray]:
    """Return the columns of the power method on the raw third moment of all rows."""
    d = len(drawn.truth[0])
    columns = tuple((v * d, (v + 1) * d) for v in range(3))
    zeros = tuple(np.zeros(d) for _ in range(3))
    ones = tuple(np.ones(d) for _ in range(3))
    tensor = SampleTensor(columns, (1, 1, 1), zeros, np.zeros(3), (np.inf,) * 3, "float32", ones)
    block = Block(drawn.values, {}, 0, len(drawn.values))
    chosen = np.random.default_rng(seed).choice(len(drawn.values), STARTS_PER_TERM * k, False)
    starts = tuple(np.split(drawn.values[chosen].T.astype(np.float64), 3))
    contract = tensor.contract_in_memory(block)
    return list(power_method(contract, starts, (1, 1, 1), k, UPDATES).factors)
