"""EM for a discrete mixture on the rows themselves, without a table of counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.baselines.count_em import MOST_ITERATIONS, Estimate, random_factors

FloatArray = NDArray[np.float64]


def row_em(
    codes: NDArray[np.int32],
    sizes: Sequence[int],
    k: int,
    tolerance: float,
    rng: np.random.Generator,
    starts: int = 10,
) -> Estimate:
    """Return the end of the largest likelihood, of EM from random factors."""
    drawn = (_iterated(codes, sizes, k, tolerance, rng) for _ in range(starts))
    return max(drawn, key=lambda end: end.objective)


def _iterated(
    codes: NDArray[np.int32],
    sizes: Sequence[int],
    k: int,
    tolerance: float,
    rng: np.random.Generator,
) -> Estimate:
    """Iterate from one random start until the relative change is below the tolerance."""
    weights, *tables = random_factors(sizes, k, rng)
    columns = [np.ascontiguousarray(column) for column in codes.T]
    objective, iteration = np.nan, 0
    while True:
        # components along the rows, so that sums over them run through memory
        joint = tables[0].T[:, columns[0]] * weights[:, None]
        for column, table in zip(columns[1:], tables[1:], strict=True):
            joint *= table.T[:, column]
        density = joint.sum(axis=0)
        before, objective = objective, float(np.log(density).sum())
        settled = abs(objective - before) < tolerance * abs(before)
        if settled or iteration == MOST_ITERATIONS:
            first, second, third = tables
            return Estimate((weights, first, second, third), objective, iteration)
        joint /= density
        weights = joint.mean(axis=1)
        tables = [
            np.stack([np.bincount(column, share, size) / share.sum() for share in joint], axis=1)
            for column, size in zip(columns, sizes, strict=True)
        ]
        iteration += 1
