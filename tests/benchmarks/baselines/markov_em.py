"""EM for a hidden Markov model of triples, on the dense table of counts.

An iteration is a few matrix products with the table, whatever the number of rows. All starts of a
call advance together as a stack; a start leaves the stack when it has settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Markov = tuple[FloatArray, FloatArray, FloatArray]
"""Start (k,), transitions (k, k) from row to column, emissions (k, n)."""

MOST_ITERATIONS = 1000
LEAST = 1e-300
"""Smallest probability of a cell that is divided by."""


@dataclass(frozen=True)
class Estimate:
    """Parameters, their objective (log-likelihood, plus the log prior) and the iterations taken."""

    parameters: Markov
    objective: float
    iterations: int


def best_of_random_starts(
    counts: FloatArray,
    k: int,
    tolerance: float,
    rng: np.random.Generator,
    pseudo_count: float = 0.0,
    starts: int = 10,
) -> Estimate:
    """Return the end of the largest objective, of EM from random parameters."""
    drawn = [random_parameters(len(counts), k, rng) for _ in range(starts)]
    ends = expectation_maximisation(counts, drawn, tolerance, pseudo_count)
    return max(ends, key=lambda end: end.objective)


def random_parameters(n: int, k: int, rng: np.random.Generator) -> Markov:
    """Return an even start and random transitions and emissions, none of them small."""
    transitions, emissions = (_shares(rng.random((k, size)) + 0.1) for size in (k, n))
    return np.full(k, 1 / k), transitions, emissions


def triple_table(parameters: Markov) -> FloatArray:
    """Return the joint probabilities of three consecutive symbols."""
    start, transitions, emissions = parameters
    return np.einsum(
        "a,ai,ab,bj,bc,cl->ijl",
        start,
        emissions,
        transitions,
        emissions,
        transitions,
        emissions,
        optimize=True,
    )


def expectation_maximisation(
    counts: FloatArray, starts: Sequence[Markov], tolerance: float, pseudo_count: float = 0.0
) -> list[Estimate]:
    """Iterate from every start until the relative change of the objective is below a tolerance.

    Parameters
    ----------
    counts : (n, n, n) array
    starts : sequence of Markov
    tolerance : float
    pseudo_count : float
        Added to every parameter in the M step: the mode of a Dirichlet prior of one more.
    """
    n, k = len(counts), len(starts[0][0])
    flat = np.ascontiguousarray(counts, dtype=np.float64).reshape(n, -1)
    seen = flat > 0
    start, move, show = (np.stack(arrays) for arrays in zip(*starts, strict=True))
    active, before = np.arange(len(starts)), np.full(len(starts), np.nan)
    ends: list[Estimate | None] = [None] * len(starts)
    for iteration in range(MOST_ITERATIONS + 1):
        count = len(active)
        second = show.transpose(0, 2, 1)
        first, third = (second * start[:, None]) @ move, second @ move.transpose(0, 2, 1)
        pairs = (second[:, :, None] * third[:, None]).reshape(count, -1, k)
        cells = np.maximum(first @ pairs.transpose(0, 2, 1), LEAST)
        objective = np.log(cells[:, seen]) @ flat[seen]
        if pseudo_count:
            for array in (start, move, show):
                logs = np.log(np.maximum(array, LEAST)).reshape(count, -1)
                objective += pseudo_count * logs.sum(axis=1)
        # a comparison with NaN is false
        settled = np.abs(objective - before) < tolerance * np.abs(before)
        settled |= iteration == MOST_ITERATIONS
        for place in np.flatnonzero(settled):
            parameters = (start[place], move[place], show[place])
            ends[active[place]] = Estimate(parameters, float(objective[place]), iteration)
        if settled.all():
            break
        ratios = np.divide(flat, cells, out=cells)
        of_first = ratios @ pairs
        slices = (first.transpose(0, 2, 1) @ ratios).reshape(count, k, n, n)
        of_second = (slices @ third.transpose(0, 2, 1)[..., None])[..., 0]
        of_third = (second.transpose(0, 2, 1)[:, :, None] @ slices)[:, :, 0]
        back = of_first @ move.transpose(0, 2, 1)
        counted = (
            start * np.sum(second * back, axis=1),
            move * (start[:, :, None] * (show @ of_first) + of_third @ second),
            show
            * (
                start[:, :, None] * back.transpose(0, 2, 1)
                + of_second
                + move.transpose(0, 2, 1) @ of_third
            ),
        )
        going = ~settled
        start, move, show = (_shares(array + pseudo_count)[going] for array in counted)
        active, before = active[going], objective[going]
    return [end for end in ends if end is not None]


def _shares(rows: FloatArray) -> FloatArray:
    """Return distributions along the last axis; one of zeros becomes uniform."""
    sums = rows.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1.0), 1.0 / rows.shape[-1])
