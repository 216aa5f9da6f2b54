"""Errors against the number of triples: our fit, EM from random starts, and the spectral step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bigtensor.decomposition.discrete.discrete_core import core_of_table
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.decomposition.discrete.hidden_markov import markov_from_factors
from tests.benchmarks.baselines.markov_em import Markov, best_of_random_starts
from tests.benchmarks.hidden_markov.accuracy import MEASURE
from tests.benchmarks.hidden_markov.triples import (
    EM_LOOSE,
    EM_TIGHT,
    FIRST_SEED,
    FLOOR,
    METHODS,
    OURS,
    Drawn,
    Method,
    as_markov,
    models,
)
from tests.benchmarks.tables import Report, Row

GROWTH = "Hidden Markov models against the triples"

SPECTRAL, EM_ONE = "spectral", "EM(1) 1e-4"

ROWS: Mapping[int, Sequence[int]] = {
    5: (500, 2000, 10_000, 100_000),
    10: (500, 4000, 20_000, 100_000),
}
"""Numbers of triples by number of states."""


def spectral(drawn: Drawn) -> Markov:
    """Return the solution by joint diagonalisation, without a descent or EM iterations."""
    table = drawn.counts / drawn.counts.sum()
    core = core_of_table(table, drawn.states, common_scale=True)
    rng = np.random.default_rng(0)
    found = spectral_factors(core, drawn.states, view=1, rotation="joint", rng=rng)
    return as_markov(markov_from_factors(found.factors, core).clipped(FLOOR))


def one_start(drawn: Drawn) -> Markov:
    """Return the end of EM from one random start."""
    rng = np.random.default_rng(0)
    return best_of_random_starts(drawn.counts, drawn.states, 1e-4, rng, starts=1).parameters


GROWTH_METHODS: dict[str, Method] = {
    OURS: METHODS[OURS],
    EM_LOOSE: METHODS[EM_LOOSE],
    EM_TIGHT: METHODS[EM_TIGHT],
    EM_ONE: one_start,
    SPECTRAL: spectral,
}
"""Name of a method to the parameters it estimates."""


def add_growth(
    report: Report,
    count: int,
    rows: Mapping[int, Sequence[int]] = ROWS,
    first_seed: int = FIRST_SEED,
) -> None:
    """Print the mean errors of the methods of the figure."""
    for k, sizes in rows.items():
        lines = [_means(k, size, count, first_seed) for size in sizes]
        report.add(f"{GROWTH}, k = {k}", lines, [MEASURE, f"{count} models"])


def _means(k: int, size: int, count: int, first_seed: int) -> Row:
    """Return the mean error of every method."""
    errors: dict[str, list[float]] = {name: [] for name in GROWTH_METHODS}
    for drawn in models(k, size, count, first_seed):
        for name, method in GROWTH_METHODS.items():
            errors[name].append(drawn.error(method(drawn)))
    return {"rows": size, **{name: float(np.mean(values)) for name, values in errors.items()}}
