"""EM for a discrete three-view mixture, on the dense table of counts.

An iteration is three matrix products with the table, whatever the number of rows. All starts of a
call advance together as a stack; a start leaves the stack when it has settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Factors = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Weights (k,) and the probabilities (n_t, k) of three views."""

MOST_ITERATIONS = 1000
LEAST = 1e-300
"""Smallest probability of a cell that is divided by."""


@dataclass(frozen=True)
class Estimate:
    """Factors, their objective (log-likelihood, plus the log prior) and the iterations taken."""

    factors: Factors
    objective: float
    iterations: int

    @property
    def table(self) -> FloatArray:
        """Joint probabilities of all cells."""
        return joint_table(self.factors)


def best_of_random_starts(
    counts: FloatArray,
    k: int,
    tolerance: float,
    rng: np.random.Generator,
    pseudo_count: float = 0.0,
    starts: int = 10,
) -> Estimate:
    """Return the end of the largest objective, of EM from random factors."""
    drawn = [random_factors(counts.shape, k, rng) for _ in range(starts)]
    ends = expectation_maximisation(counts, drawn, tolerance, pseudo_count)
    return max(ends, key=lambda end: end.objective)


def random_factors(shape: Sequence[int], k: int, rng: np.random.Generator) -> Factors:
    """Return equal weights and random probabilities, none of them small."""
    first, second, third = (_shares(rng.random((n, k)) + 0.1) for n in shape)
    return np.full(k, 1 / k), first, second, third


def joint_table(factors: Factors) -> FloatArray:
    """Return the joint probabilities of factors."""
    weights, first, second, third = factors
    pairs = (second[:, None] * third).reshape(-1, len(weights))
    return ((first * weights) @ pairs.T).reshape(len(first), len(second), len(third))


def expectation_maximisation(
    counts: FloatArray, starts: Sequence[Factors], tolerance: float, pseudo_count: float = 0.0
) -> list[Estimate]:
    """Iterate from every start until the relative change of the objective is below a tolerance.

    Parameters
    ----------
    counts : (n_1, n_2, n_3) array
    starts : sequence of Factors
    tolerance : float
    pseudo_count : float
        Added to every parameter in the M step: the mode of a Dirichlet prior of one more.
    """
    k = len(starts[0][0])
    flat = np.ascontiguousarray(counts, dtype=np.float64).reshape(len(counts), -1)
    seen = flat > 0
    weights, first, second, third = (np.stack(arrays) for arrays in zip(*starts, strict=True))
    active, before = np.arange(len(starts)), np.full(len(starts), np.nan)
    ends: list[Estimate | None] = [None] * len(starts)
    for iteration in range(MOST_ITERATIONS + 1):
        pairs = (second[:, :, None] * third[:, None]).reshape(len(active), -1, k)
        weighted = first * weights[:, None]
        cells = np.maximum(weighted @ pairs.transpose(0, 2, 1), LEAST)
        objective = np.log(cells[:, seen]) @ flat[seen]
        if pseudo_count:
            for array in (weights, first, second, third):
                logs = np.log(np.maximum(array, LEAST)).reshape(len(active), -1)
                objective += pseudo_count * logs.sum(axis=1)
        # a comparison with NaN is false
        settled = np.abs(objective - before) < tolerance * np.abs(before)
        settled |= iteration == MOST_ITERATIONS
        for place in np.flatnonzero(settled):
            factors = (weights[place], first[place], second[place], third[place])
            ends[active[place]] = Estimate(factors, float(objective[place]), iteration)
        if settled.all():
            break
        ratios = np.divide(flat, cells, out=cells)
        of_first = weighted * (ratios @ pairs)
        slices = (weighted.transpose(0, 2, 1) @ ratios).reshape(
            len(active), k, second.shape[1], third.shape[1]
        )
        of_second = second * (slices @ third.transpose(0, 2, 1)[..., None])[..., 0].transpose(
            0, 2, 1
        )
        of_third = third * (second.transpose(0, 2, 1)[:, :, None] @ slices)[:, :, 0].transpose(
            0, 2, 1
        )
        mass = of_first.sum(axis=1)
        updated = [
            _shares(table + pseudo_count, 1) for table in (mass, of_first, of_second, of_third)
        ]
        going = ~settled
        weights, first, second, third = (array[going] for array in updated)
        active, before = active[going], objective[going]
    return [end for end in ends if end is not None]


def _shares(columns: FloatArray, axis: int = 0) -> FloatArray:
    """Return distributions along an axis; one of zeros becomes uniform."""
    sums = columns.sum(axis=axis, keepdims=True)
    even = 1.0 / columns.shape[axis]
    return np.where(sums > 0, columns / np.where(sums > 0, sums, 1.0), even)
