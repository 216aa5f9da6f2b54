"""Error against the number of passes and of rows: power updates, least squares, and the default."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bigtensor import LinearMixture
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.joint_least_squares import joint_sweeps
from bigtensor.decomposition.sample_tensors.power_method import requested_power_method
from bigtensor.decomposition.sample_tensors.power_updates import distinct_terms, power_updates
from bigtensor.decomposition.sample_tensors.requests import answered
from bigtensor.decomposition.sample_tensors.terms import Contract, Factors, values
from bigtensor.models.moment_tensors.sample_tensor import SampleTensor
from bigtensor.statistics.within_reach import Reach
from tests.benchmarks.linear_mixture.accuracy import SEED
from tests.benchmarks.linear_mixture.columns import Columns, Drawn, column_errors, quiet_fit
from tests.benchmarks.tables import Report, Row

PASSES, ROWS = "error against passes", "error against rows"
ORACLE, DEFAULT, MOMENTS = "label oracle", "default", "moments"
POWER, SWEEPS = "power updates", "least squares"

_STARTS_PER_TERM = 4
_UPDATES = (1, 2, 4, 8, 16, 30)
_SWEEPS = (0, 1, 2, 4, 8, 16, 32)
_BEFORE_SWEEPS = 4
_SAME = 0.6


def add_growth(report: Report, models: int, *, small: bool = False) -> None:
    """Add errors after so many passes, and with so many rows."""
    size, counts = (50, 50), (10_000, 20_000, 50_000, 100_000)
    if small:
        size, counts = (10, 8), (6000, 12_000)
    title = f"{size[0]} features, {size[1]} components"
    report.add(f"{PASSES}, {title}", passes_rows(*size, counts[-1], models))
    report.add(f"{ROWS}, {title}", [growth_row(*size, rows, models) for rows in counts])


def growth_row(n_features: int, k: int, rows: int, models: int) -> Row:
    """Return the mean error of every method over some seeds."""
    errors: dict[str, list[float]] = {name: [] for name in (ORACLE, DEFAULT, MOMENTS, POWER)}
    for seed in range(models):
        drawn = Drawn.of(n_features, k, rows, 1.0, SEED + seed)
        found = {
            ORACLE: drawn.oracle(),
            DEFAULT: quiet_fit(LinearMixture(k, views=drawn.views, random_state=seed), drawn),
            MOMENTS: quiet_fit(
                LinearMixture(k, views=drawn.views, max_iter=0, random_state=seed), drawn
            ),
            POWER: quiet_fit(
                LinearMixture(k, views=drawn.views, method="power", max_iter=0, random_state=seed),
                drawn,
            ),
        }
        for name, columns in found.items():
            errors[name].append(column_errors(drawn.truth, columns)[0])
    return {"rows": rows, **{name: round(float(np.mean(of)), 4) for name, of in errors.items()}}


def passes_rows(n_features: int, k: int, rows: int, models: int) -> list[Row]:
    """Return the mean error of every method after so many passes over all rows."""
    errors: dict[tuple[str, int], list[float]] = {}
    for seed in range(models):
        drawn = Drawn.of(n_features, k, rows, 1.0, SEED + seed)
        for name, passes, columns in _after_passes(drawn, k, seed):
            error, _ = column_errors(drawn.truth, columns)
            errors.setdefault((name, passes), []).append(error)
    return [
        {"method": name, "passes": passes, "error": round(float(np.mean(of)), 4)}
        for (name, passes), of in errors.items()
    ]


def _after_passes(drawn: Drawn, k: int, seed: int) -> Iterator[tuple[str, int, Columns]]:
    """Yield columns, with the method and the passes that they take."""
    for iterations in range(4):
        model = LinearMixture(k, views=drawn.views, max_iter=iterations, random_state=seed)
        columns = quiet_fit(model, drawn)
        passes = sum(done["name"] != "pilot" for done in model.diagnostics_["passes"])
        yield DEFAULT, passes, columns
    contract, starts = raw_moment(drawn, _STARTS_PER_TERM * k, seed)
    for updates in _UPDATES:
        found = answered(requested_power_method(starts, (1, 1, 1), k, updates), contract)
        yield POWER, 2 * updates + 2, list(found.factors)
    ends = power_updates(contract, starts, _BEFORE_SWEEPS)
    terms = distinct_terms(values(ends, contract(ends)), ends, (1, 1, 1), _SAME)
    terms = terms.take(np.arange(min(k, terms.n_terms)))
    for before, sweeps in zip((0, *_SWEEPS), _SWEEPS, strict=False):
        terms = joint_sweeps(contract, terms, sweeps - before)
        yield SWEEPS, _BEFORE_SWEEPS + 1 + sweeps, list(terms.factors)


def raw_moment(drawn: Drawn, n_starts: int, seed: int) -> tuple[Contract, Factors]:
    """Return the contraction of the raw third moment of all rows, and starts from rows."""
    d = len(drawn.truth[0])
    columns = tuple((v * d, (v + 1) * d) for v in range(3))
    zeros, ones = (np.zeros(d),) * 3, (np.ones(d),) * 3
    tensor = SampleTensor(
        columns, (1, 1, 1), zeros, np.zeros(3), Reach.unbounded(columns), "float32", ones
    )
    block = Block(drawn.values, {}, 0, len(drawn.values))
    chosen = np.random.default_rng(seed).choice(len(drawn.values), n_starts, replace=False)
    starts = tuple(np.split(drawn.values[chosen].T.astype(np.float64), 3))
    return tensor.contract_in_memory(block), starts
