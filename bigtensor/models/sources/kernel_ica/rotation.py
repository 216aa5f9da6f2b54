"""Rotation of whitened kernel features of a sample to independent sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.sources.independent_components import (
    mean_turn,
    part_of_turn,
    symmetric_orthogonalisation,
)
from bigtensor.models.sources.whitened_sample import (
    WhitenedSample,
    non_gaussianity,
    tanh_update,
)

INITIALISATIONS = 30
"""Random initialisations: kernel features are no exact mixtures, and have several local solutions.

On six real sets, 5 and 8 sources of three seeds agreed by a correlation of at least .999 in 6 of 12
cases with 10 initialisations, and in 11 with 30.
"""

SEARCH_VALUES = 100_000
"""Values, rows times sources, to compare initialisations in; all rows for up to five sources."""

LEAST_SEARCH_ROWS = 5_000

UPDATES = 300
_WATCHED = 20
_SETTLING = 0.5
"""Turn after some updates, relative to the turn before them, above which updates are damped."""

DAMPED = 0.5
"""Part of an update that is made where whole updates oscillate.

With whole updates, 4 of 4 initialisations oscillated on 20,000 rows of a Gaussian kernel; with half
of them, all settled in 60 to 140 updates.
"""

_STILL = 1e-4


@dataclass(frozen=True, eq=False)
class DampedRotation:
    """Orthonormal columns, and the part of the updates that leads to them.

    Attributes
    ----------
    columns : (k, k) float64 array
        Orthonormal columns along the axes.
    step : float
        One, or `DAMPED`.
    """

    columns: FloatArray
    step: float


def kernel_rotation(sample: WhitenedSample, random_state: int) -> DampedRotation:
    """Return as many orthonormal columns as axes, whose sources are farthest from Gaussian.

    Initialisations are compared in some of the rows, and the best one is settled in all. They do
    not depend on the signs of the axes, which are arbitrary.

    Parameters
    ----------
    sample : WhitenedSample
        Whitened kernel features of the sample.
    random_state : int
        Seed of the random initialisations.
    """
    k, rows = sample.n_axes, sample.block.rows
    cubes = np.average(sample.block.dense_values**3, axis=0, weights=sample.block.weight)
    signs = np.where(cubes < 0, -1.0, 1.0)
    oriented = replace(
        sample, block=replace(sample.block, values=sample.block.dense_values * signs)
    )
    few = oriented.part(0, max(1, rows // max(SEARCH_VALUES // k, LEAST_SEARCH_ROWS)))
    random = np.random.default_rng([random_state, 17])
    starts = [
        DampedRotation(symmetric_orthogonalisation(random.standard_normal((k, k))), 1.0)
        for _ in range(INITIALISATIONS)
    ]
    settled_starts = _settled(few, starts)
    best = settled_starts[int(np.argmax([_distance(few, one.columns) for one in settled_starts]))]
    (settled,) = _settled(oriented, [best])
    return replace(settled, columns=signs[:, None] * settled.columns)


def _distance(sample: WhitenedSample, columns: FloatArray) -> float:
    """Return the sum of the squared distances of the sources from Gaussian ones."""
    return float(np.square(non_gaussianity(columns, sample.contrast(columns))).sum())


def _settled(sample: WhitenedSample, starts: Sequence[DampedRotation]) -> list[DampedRotation]:
    """Return columns after fixed-point iterations, damped once whole updates do not settle.

    The columns of all that have not settled yet are updated together, as those of one matrix.
    """
    columns = np.array([start.columns for start in starts])
    steps = np.array([start.step for start in starts])
    turns = np.full((UPDATES, len(starts)), np.inf)
    left = np.arange(len(starts))
    for number in range(UPDATES):
        before = columns[left]
        updated = symmetric_orthogonalisation(_updated(sample, before))
        turns[number, left] = mean_turn(before, updated)
        columns[left] = part_of_turn(before, updated, steps[left])
        left = left[turns[number, left] > _STILL]
        if number >= _WATCHED:
            is_slow = turns[number, left] > _SETTLING * turns[number - _WATCHED, left]
            steps[left[is_slow]] = DAMPED
        if not len(left):
            break
    return [DampedRotation(*pair) for pair in zip(columns, steps.tolist(), strict=True)]


def _updated(sample: WhitenedSample, rotations: FloatArray) -> FloatArray:
    """Return several rotations after one update, before they are made orthonormal: (m, q, k)."""
    m, q, k = rotations.shape
    wide = rotations.transpose(1, 0, 2).reshape(q, m * k)
    updated = tanh_update(wide, sample.contrast(wide))
    return updated.reshape(q, m, k).transpose(1, 0, 2)
