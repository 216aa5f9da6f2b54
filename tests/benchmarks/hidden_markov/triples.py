"""Hidden Markov models whose triples are known: how they are drawn, and what estimates them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.discrete_core import core_of_table
from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.decomposition.exterior_point import markov_exterior_point
from bigtensor.models.hidden_markov.expectation_maximisation import (
    triple_expectation_maximisation,
)
from tests.benchmarks.baselines.markov_em import (
    Markov,
    best_of_random_starts,
    expectation_maximisation,
    triple_table,
)

FloatArray = NDArray[np.float64]

FIRST_SEED = 2000
"""Constants of the package were chosen on models of other seeds."""

JUDGED_TRIPLES = 2000

RIDGE, SMOOTHING = 2.0, 1.0
"""Pseudo-counts of the exterior point and of the EM iterations."""

RIDGES = (1.0, 4.0)
"""Pseudo-counts to choose from by held-out triples."""

HELD_OUT, UNIFORM = 0.2, 0.01
"""Part of the triples that is held out, and weight of equally probable triples there."""

FLOOR = 1e-5
"""Smallest probability before the EM iterations, which never leave a zero."""


@dataclass(frozen=True)
class Drawn:
    """Counts of independent triples of a hidden Markov model.

    Attributes
    ----------
    truth : Markov
        True start, transitions and emissions.
    counts : (n, n, n) array
    judged : (triples, 3) integer array
        Triples that an estimate is judged on.
    """

    truth: Markov
    counts: NDArray[np.int64]
    judged: NDArray[np.int64]

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.truth[0])

    def error(self, estimate: Markov) -> float:
        """Return the mean relative error of the probabilities of the judged triples."""
        true, found = (
            triple_table(parameters)[tuple(self.judged.T)] for parameters in (self.truth, estimate)
        )
        return float(np.mean(np.abs(true - found) / true))

    @classmethod
    def of(cls, k: int, rows: int, seed: int) -> Drawn:
        """Draw a model of k states and 2k symbols, and the counts of its triples.

        All distributions are uniform on their simplices. Models and judged triples of one seed are
        the same for any number of rows.
        """
        rng = np.random.default_rng([seed, k])
        emissions, transitions = (rng.dirichlet(np.ones(size), k) for size in (2 * k, k))
        truth = rng.dirichlet(np.ones(k)), transitions, emissions
        table = triple_table(truth)
        shares = (table / table.sum()).ravel()
        judged = rng.choice(table.size, JUDGED_TRIPLES, p=shares)
        counts = rng.multinomial(rows, shares).reshape(table.shape)
        return cls(truth, counts, np.column_stack(np.unravel_index(judged, table.shape)))


Method = Callable[[Drawn], Markov]

OURS = "exterior point + EM20"
CHOSEN = "ridge chosen"
EM_LOOSE, EM_TIGHT = "EM(10) 1e-4", "EM(10) 1e-7"
EM_MAP = "EM-MAP(10)"
EM_TRUTH = "EM from the truth"


def models(k: int, rows: int, count: int, first_seed: int = FIRST_SEED) -> Iterator[Drawn]:
    """Yield fresh models with the counts of their triples."""
    for number in range(count):
        yield Drawn.of(k, rows, first_seed + number)


def estimated(counts: NDArray[np.int64], k: int, pseudo_count: float) -> Markov:
    """Return the exterior point after at most 20 EM iterations."""
    rows, n = int(counts.sum()), len(counts)
    core = core_of_table(counts / rows, 2 * k, common_scale=True)
    rng = np.random.default_rng(0)
    start = markov_exterior_point(core, k, ridge=pseudo_count * n / rows, rng=rng).parameters
    seen = counts > 0
    end = triple_expectation_maximisation(
        start.clipped(FLOOR),
        np.argwhere(seen),
        counts[seen].astype(np.float64),
        smoothing=SMOOTHING,
    )
    return as_markov(end.parameters)


def with_chosen_ridge(drawn: Drawn) -> Markov:
    """Return the estimate with the ridge under which a fifth of the triples is most likely."""
    held_out = np.random.default_rng(0).binomial(drawn.counts, HELD_OUT)

    def likelihood(ridge: float) -> float:
        table = triple_table(estimated(drawn.counts - held_out, drawn.states, ridge))
        mixed = (1 - UNIFORM) * table + UNIFORM / table.size
        return float(np.vdot(held_out, np.log(mixed)))

    return estimated(drawn.counts, drawn.states, max(RIDGES, key=likelihood))


def as_markov(parameters: MarkovParameters) -> Markov:
    """Return the parameters of the package as those of the reference."""
    return parameters.window_start, parameters.transition, parameters.emission


def random_em(drawn: Drawn, tolerance: float, pseudo_count: float = 0.0) -> Markov:
    """Return the best of ten random starts."""
    rng = np.random.default_rng(0)
    found = best_of_random_starts(drawn.counts, drawn.states, tolerance, rng, pseudo_count)
    return found.parameters


def em_from_truth(drawn: Drawn) -> Markov:
    """Return converged EM from the true parameters, which no method knows."""
    return expectation_maximisation(drawn.counts, [drawn.truth], 1e-7)[0].parameters


METHODS: dict[str, Method] = {
    OURS: lambda drawn: estimated(drawn.counts, drawn.states, RIDGE),
    CHOSEN: with_chosen_ridge,
    EM_LOOSE: partial(random_em, tolerance=1e-4),
    EM_TIGHT: partial(random_em, tolerance=1e-7),
    EM_MAP: partial(random_em, tolerance=1e-6, pseudo_count=0.5),
    EM_TRUTH: em_from_truth,
}
"""Name of a method to the parameters it estimates."""
