"""Initialisation of a nonnegative tensor train from clusters of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.decomposition.tensor_train.cores import NonnegativeTrain

_STAY = 0.9
"""Share of a state that stays, of a cluster that is sure, and of emissions that are its own."""


def background_weights(
    bumps: FloatArray, binned: FloatArray, least: float, iterations: int = 30
) -> FloatArray:
    """Return the distribution of the bumps of one variable.

    Parameters
    ----------
    bumps : (p, points) float64 array
        Densities of the variable at its points.
    binned : (points,) float64 array
        Weight of the rows at every point.
    least : float
        Rows that every bump has at least.
    iterations : int
        Of expectation maximisation from equal shares.
    """
    weights = np.full(len(bumps), 1 / len(bumps))
    for _ in range(iterations):
        density = np.maximum(weights @ bumps, np.finfo(np.float64).tiny)
        weights = weights * (bumps @ (binned / density)) + least
        weights /= weights.sum()
    return weights


def train_of_clusters(
    nodes: IntArray,
    bumps: Sequence[FloatArray],
    background: Sequence[FloatArray],
    binned: Sequence[FloatArray],
    shares: FloatArray,
    independent: NDArray[np.bool_] | None = None,
) -> NonnegativeTrain:
    """Return a train whose states are clusters of rows, which mostly stay from node to node.

    Parameters
    ----------
    nodes : (m, 3) int64 array
        From `structure`.
    bumps : sequence of (p, points) float64 arrays
        Bumps of every variable, by its number.
    background : sequence of (p,) float64 arrays
        Distribution of the bumps of every variable.
    binned : sequence of (points, r) float64 arrays
        Of every variable: weight of the rows of every cluster at every point.
    shares : (r,) float64 array
        Of the clusters.
    independent : (d,) bool array, optional
        True for variables that depend on no other one: the link to such a variable, which has no
        child but such ones, has one state. By default there are none.
    """
    r = len(shares)
    stay = _STAY * np.eye(r) + (1 - _STAY) / r
    none = np.zeros(len(background), np.bool_)
    of_variable = none if independent is None else independent
    is_independent = [bool(j >= 0 and of_variable[j]) for j in nodes[:, 0]]
    cores = []
    for number, (j, child, _) in enumerate(nodes):
        if is_independent[number]:
            cores.append(background[j][None, :, None])
            continue
        if j < 0:
            core = stay[:, :, None] * stay[:, None, :]
        else:
            mixed = stay @ binned[j].T
            density = np.maximum(background[j] @ bumps[j], np.finfo(np.float64).tiny)
            own = background[j] * ((mixed / density) @ bumps[j].T)
            own /= np.maximum(own.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
            emissions = _STAY * own + (1 - _STAY) * background[j]
            if child < 0 or is_independent[child]:
                core = emissions[:, :, None]
            elif number == 0:
                # the first variable draws the state that it is of
                core = np.eye(r)[:, None, :] * emissions.T[None]
            else:
                core = stay[:, None, :] * emissions.T[None]
        if number == 0:
            core = np.tensordot(shares, core, axes=1)[None]
        cores.append(core / core.sum(axis=(1, 2), keepdims=True))
    return NonnegativeTrain(nodes, tuple(cores))
