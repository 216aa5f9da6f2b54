"""Nonnegative tensor trains: latent chains or trees whose emissions are mixtures of bumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.decomposition.tensor_train.structure import variables_of


@dataclass(frozen=True, eq=False)
class NonnegativeTrain:
    """Cores of a nonnegative tensor train, in the order of the nodes of its chain or tree.

    A latent state enters every node; the one that enters the first has one value. From state z, the
    core of a variable draws a bump a and the next state z' with the probability ``G[z, a, z']``
    (Song and Dai 2013, section 4, with nonnegative cores). A branching draws the states z' and z''
    of its two children with the probability ``G[z, z', z'']``.

    Attributes
    ----------
    nodes : (m, 3) int64 array
        From `structure`.
    cores : tuple of (r, p, r') float64 arrays
        Of every node; not negative; every ``G[z]`` sums to one. After a last variable, r' is one.
    """

    nodes: IntArray
    cores: tuple[FloatArray, ...]

    @property
    def order(self) -> IntArray:
        """Variables in the order of the nodes, (d,)."""
        return variables_of(self.nodes)

    @property
    def rank(self) -> int:
        """Largest number of values of a latent state."""
        return max(int(max(core.shape[0], core.shape[2])) for core in self.cores)


def node_tables(
    train: NonnegativeTrain, bumps: Sequence[FloatArray], first: IntArray
) -> FloatArray:
    """Return the matrix from state to state at every point of every variable.

    Parameters
    ----------
    train : NonnegativeTrain
        Train whose cores draw the bumps.
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
    for j, core in zip(train.nodes[:, 0], train.cores, strict=True):
        if j < 0:
            continue
        rows, columns = core.shape[0], core.shape[2]
        by_bump = core.transpose(1, 0, 2).reshape(-1, rows * columns)
        at_points = (bumps[j].T @ by_bump).reshape(-1, rows, columns)
        tables[first[j] : first[j + 1], :rows, :columns] = at_points
    return tables


def branch_tables(train: NonnegativeTrain) -> FloatArray:
    """Return the cores of the branchings, (branchings, r, r, r), with zeros behind small ones.

    Parameters
    ----------
    train : NonnegativeTrain
        Train of a tree or a chain.
    """
    r = train.rank
    cores = [core for j, core in zip(train.nodes[:, 0], train.cores, strict=True) if j < 0]
    tables = np.zeros((len(cores), r, r, r))
    for table, core in zip(tables, cores, strict=True):
        table[tuple(slice(size) for size in core.shape)] = core
    return tables


def updated(
    train: NonnegativeTrain,
    bumps: Sequence[FloatArray],
    first: IntArray,
    sums: tuple[FloatArray, FloatArray],
    background: Sequence[FloatArray],
    weight: float,
) -> NonnegativeTrain:
    """Return the cores after one step of expectation maximisation with a prior.

    The prior adds `weight` observations to every state. Their bumps are drawn from the background
    whatever the next state, and their branches from all pairs of states alike.

    Parameters
    ----------
    train : NonnegativeTrain
        Train before the step.
    bumps : sequence of (p, points) float64 arrays
        Bumps of every variable, by its number.
    first : (d + 1,) int64 array
        First point of every variable.
    sums : ((points + 1, r, r), (branchings, r, r, r)) float64 arrays
        Of states before and messages after, divided by the density, at every point and branching.
    background : sequence of (p,) float64 arrays
        Distribution of the bumps of every variable.
    weight : float
        Observations that the prior adds to every state.
    """
    cores = []
    counts, branchings = sums
    for j, core in zip(train.nodes[:, 0], train.cores, strict=True):
        rows, columns = core.shape[0], core.shape[2]
        if j < 0:
            expected = core * branchings[-1 - j][tuple(slice(size) for size in core.shape)]
            expected += weight / core[0].size
            expected /= expected.sum(axis=(1, 2), keepdims=True)
        else:
            of_variable = counts[first[j] : first[j + 1], :rows, :columns]
            by_bump = bumps[j] @ of_variable.reshape(-1, rows * columns)
            expected = core * by_bump.reshape(-1, rows, columns).transpose(1, 0, 2)
            moves = expected.sum(axis=1)
            moves += np.finfo(np.float64).tiny
            total = moves.sum(axis=1, keepdims=True)
            # backgrounds have a sum of one, and so have the shares of the moves
            shares = moves * (weight / (total + weight) / total)
            expected /= (total + weight)[:, None]
            expected += background[j][:, None] * shares[:, None, :]
        cores.append(expected)
    return NonnegativeTrain(train.nodes, tuple(cores))
