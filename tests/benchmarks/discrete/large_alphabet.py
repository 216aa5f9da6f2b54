"""Views of ten thousand symbols: passes over a store, against EM from the truth and from chance."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor import DiscreteMixture
from bigtensor.data.rows.block import Block
from bigtensor.data.simulate.rows import Simulation, block_bounds
from bigtensor.data.stores.layout import FEATURE_DIM
from bigtensor.errors import ConditioningWarning
from bigtensor.models.discrete_mixture.expectation_maximisation import updated
from bigtensor.models.discrete_mixture.solution import DiscreteSolution
from bigtensor.statistics.densities.log_likelihood import LogLikelihood
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.in_memory import sum_in_memory
from tests.benchmarks.discrete.small_alphabets import FIRST_SEED, VIEWS
from tests.benchmarks.tables import Report, Row, bars

SYMBOLS, COMPONENTS, ROWS, HELD_OUT_ROWS = 10_000, 10, 2_000_000, 200_000
LEAST_CONCENTRATION = 2e-3
RANDOM_PASSES, TRUTH_PASSES = 30, 5
RANDOM_STARTS = 2
LARGEST_DISTANCE = 0.005
"""Bound on how far the log-likelihood of a row may be below that of EM from the truth."""


@dataclass(frozen=True)
class Truth:
    """Weights, probabilities of every view, and the generator of rows."""

    solution: DiscreteSolution
    seed: int

    @classmethod
    def of(cls, symbols: int, k: int, seed: int) -> Truth:
        """Draw a mixture: few symbols are frequent, and each component prefers some of them."""
        rng = np.random.default_rng(seed)
        tables = []
        for _ in VIEWS:
            base = rng.permutation(1.0 / (10.0 + np.arange(symbols)))
            concentration = np.maximum(0.1 * symbols * base / base.sum(), LEAST_CONCENTRATION)
            tables.append(rng.dirichlet(concentration, k).T)
        return cls(DiscreteSolution(rng.dirichlet(np.full(k, 5.0)), tuple(tables)), seed)

    def codes(self, rows: int, purpose: int) -> Iterator[NDArray[np.int32]]:
        """Yield the codes of rows, block by block."""
        rng = np.random.default_rng([self.seed, purpose])
        edges = [np.cumsum(table, axis=0)[:-1] for table in self.solution.probabilities]
        for start, stop in block_bounds(rows):
            label = rng.choice(len(self.solution.weights), stop - start, p=self.solution.weights)
            codes = np.empty((stop - start, len(edges)), np.int32)
            for view, edge in enumerate(edges):
                uniform = rng.random(stop - start)
                for component in range(edge.shape[1]):
                    members = label == component
                    codes[members, view] = np.searchsorted(
                        edge[:, component], uniform[members], side="right"
                    )
            yield codes

    def write(self, path: Path, rows: int) -> None:
        """Write rows to a store."""
        symbols = len(self.solution.probabilities[0])
        names = tuple(map(str, range(symbols)))
        truth = xr.Dataset(coords={FEATURE_DIM: list(VIEWS)})
        blocks = ({"X": codes} for codes in self.codes(rows, 1))
        categories = dict.fromkeys(VIEWS, names)
        simulation = Simulation(truth, blocks, rows, "int32", categories=categories)
        simulation.write(path, overwrite=False, progress=None)

    def block(self, rows: int, purpose: int) -> Block:
        """Return rows that are held in memory."""
        codes = np.concatenate(list(self.codes(rows, purpose)))
        slices = {view: slice(place, place + 1) for place, view in enumerate(VIEWS)}
        return Block(codes, slices, 0, rows, None)


def add_large_alphabet(
    report: Report,
    folder: Path,
    rows: int = ROWS,
    symbols: int = SYMBOLS,
    k: int = COMPONENTS,
    random_passes: int = RANDOM_PASSES,
) -> None:
    """Print the log-likelihood of held-out rows after a fit from a store and after EM."""
    truth = Truth.of(symbols, k, FIRST_SEED)
    store = folder / f"symbols-{symbols}-{rows}.zarr"
    truth.write(store, rows)
    learning, judging = truth.block(rows, 1), truth.block(HELD_OUT_ROWS, 2)
    model, seconds = _fitted(store, k)
    smoothing = 0.5 if model.diagnostics_["ridge"] else 0.0
    passes = partial(_em, rows=learning, smoothing=smoothing)
    table: list[Row] = []

    def add(name: str, solution: DiscreteSolution, taken: float | None, times: int) -> float:
        score = sum_in_memory(LogLikelihood(solution.floored(1e-12).mixture()), judging).mean
        table.append(
            {
                "method": name,
                "EM passes": times,
                "held-out log-likelihood": f"{score:.5f}",
                "error of the columns": column_error(solution, truth.solution),
                "seconds": taken,
            }
        )
        return score

    assert model.solution_ is not None
    iterations = len(model.diagnostics_["mean_log_likelihood"])
    ours = add("ex, from a store", model.solution_.solution, seconds, iterations)
    start = truth.solution.floored(1e-9)
    true_start = add("EM from the truth", *_timed(passes, start, TRUTH_PASSES), TRUTH_PASSES)
    chance = -np.inf
    rng = np.random.default_rng(0)
    for number in range(RANDOM_STARTS):
        tables = (rng.random((symbols, k)) + 0.1 for _ in VIEWS)
        start = DiscreteSolution(np.full(k, 1 / k), tuple(t / t.sum(axis=0) for t in tables))
        ended = _timed(passes, start, random_passes)
        chance = max(chance, add(f"EM from chance, {number + 1}", *ended, random_passes))
    add("truth", truth.solution, None, 0)
    table[0] |= bars(
        {
            f"within {LARGEST_DISTANCE:g} of EM from the truth": ours
            >= true_start - LARGEST_DISTANCE,
            "above EM from chance": ours > chance,
        }
    )
    title = f"H {symbols:,} symbols a view, k = {k}, {rows:,} rows in a store"
    report.add(
        title,
        table,
        [
            f"ridge chosen: {model.diagnostics_['ridge']:g}; EM has the same pseudo-count",
            "EM runs over rows in memory with the library's posterior sums, on one thread",
            f"log-likelihood: nats a row, of {HELD_OUT_ROWS:,} held-out rows",
        ],
    )


def column_error(found: DiscreteSolution, truth: DiscreteSolution) -> float:
    """Return the mean L1 distance of matched columns."""
    from scipy.optimize import linear_sum_assignment

    cost = np.zeros((truth.n_components, found.n_components))
    for ours, true in zip(found.probabilities, truth.probabilities, strict=True):
        for component in range(truth.n_components):
            cost[component] += np.abs(ours - true[:, [component]]).sum(axis=0) / len(VIEWS)
    return float(cost[linear_sum_assignment(cost)].mean())


def _fitted(store: Path, k: int) -> tuple[DiscreteMixture, float]:
    """Fit the store, in seconds."""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        model = DiscreteMixture(k, random_state=0).fit(store)
    return model, time.perf_counter() - begun


def _em(start: DiscreteSolution, times: int, *, rows: Block, smoothing: float) -> DiscreteSolution:
    """Iterate EM over rows in memory."""
    current = start
    for _ in range(times):
        current = updated(sum_in_memory(PosteriorSums(current.mixture()), rows), current, smoothing)
    return current


def _timed(
    passes: partial[DiscreteSolution], start: DiscreteSolution, times: int
) -> tuple[DiscreteSolution, float]:
    """Return the end of EM passes, and the seconds that they took."""
    begun = time.perf_counter()
    return passes(start, times), time.perf_counter() - begun
