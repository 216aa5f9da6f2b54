"""Nonnegative tensor trains: latent chains whose emissions are mixtures of bumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NonnegativeTrain:
    """Cores of a nonnegative tensor train, in the order of the chain.

    The latent state before the first variable and after the last has one value. From state z, a
    core draws a bump a of its variable and the next state z' with the probability ``G[z, a, z']``
    (Song and Dai 2013, section 4, with nonnegative cores).

    Attributes
    ----------
    order : (d,) int64 array
        Variable of every core.
    cores : tuple of (r, p, r') float64 arrays
        Not negative; every ``G[z]`` sums to one.
    """

    order: NDArray[np.int64]
    cores: tuple[Floats, ...]

    @property
    def rank(self) -> int:
        """Largest number of values of a latent state."""
        return max(int(max(core.shape[0], core.shape[2])) for core in self.cores)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return sum(core.shape[0] * (core[0].size - 1) for core in self.cores)


def node_tables(
    train: NonnegativeTrain, bumps: Sequence[Floats], first: NDArray[np.int64]
) -> Floats:
    """Return the matrix from state to state at every point of every variable.

    Parameters
    ----------
    train : NonnegativeTrain
    bumps : sequence of (p, points) float64 arrays
        Of every variable, by its number.
    first : (d + 1,) int64 array
        First point of every variable.

    Returns
    -------
    (points + 1, r, r) float64 array
        Zero at the last point, which no variable has.
    """
    r = train.rank
    tables = np.zeros((int(first[-1]) + 1, r, r))
    for j, core in zip(train.order, train.cores, strict=True):
        rows, columns = core.shape[0], core.shape[2]
        by_bump = core.transpose(1, 0, 2).reshape(-1, rows * columns)
        at_points = (bumps[j].T @ by_bump).reshape(-1, rows, columns)
        tables[first[j] : first[j + 1], :rows, :columns] = at_points
    return tables


def updated(
    train: NonnegativeTrain,
    bumps: Sequence[Floats],
    first: NDArray[np.int64],
    counts: Floats,
    background: Sequence[Floats],
    weight: float,
) -> NonnegativeTrain:
    """Return the cores after one step of expectation maximisation with a prior.

    The prior adds `weight` observations to every state, whose bumps are drawn from the background
    whatever the next state.

    Parameters
    ----------
    train : NonnegativeTrain
    bumps : sequence of (p, points) float64 arrays
    first : (d + 1,) int64 array
    counts : (points + 1, r, r) float64 array
        Sums of states before and messages after, divided by the density, at every point.
    background : sequence of (p,) float64 arrays
        Distribution of the bumps of every variable.
    weight : float
    """
    cores = []
    for j, core in zip(train.order, train.cores, strict=True):
        rows, columns = core.shape[0], core.shape[2]
        of_variable = counts[first[j] : first[j + 1], :rows, :columns]
        by_bump = bumps[j] @ of_variable.reshape(-1, rows * columns)
        expected = core * by_bump.reshape(-1, rows, columns).transpose(1, 0, 2)
        moves = expected.sum(axis=1)
        moves += np.finfo(np.float64).tiny
        shares = moves / moves.sum(axis=1, keepdims=True)
        expected += weight * background[j][None, :, None] * shares[:, None, :]
        cores.append(expected / expected.sum(axis=(1, 2), keepdims=True))
    return NonnegativeTrain(train.order, tuple(cores))
