"""Proper density from a tensor train that is negative in places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.decomposition.tensor_train.kernel_svd import SignedTrain


@dataclass(frozen=True, eq=False)
class VariableGrid:
    """Functions of one variable on a grid over which it is integrated.

    Attributes
    ----------
    points : (m,) float64 array
        Evenly spaced.
    functions : (m, p) float64 array
        Basis functions at the points.
    masses : (p,) float64 array
        Their integrals.
    background : (m,) float64 array
        Density of the variable alone at the points.
    """

    points: FloatArray
    functions: FloatArray
    masses: FloatArray
    background: FloatArray


@dataclass(frozen=True, eq=False)
class ClippedDensity:
    """Conditional densities of one variable after the other, clipped at zero and scaled.

    The train gives the density of every variable given the earlier ones, summed over the later
    ones. Its negative parts are cut, and a small share of the density of the variable alone is
    mixed in, so that the product is a density.

    Attributes
    ----------
    train : SignedTrain
        Train whose conditional densities are clipped.
    grids : tuple of VariableGrid
        Grid of every variable, with its basis functions and its density.
    share : float
        Of the densities of single variables.
    """

    train: SignedTrain
    grids: tuple[VariableGrid, ...]
    share: float = 1e-4

    def log_densities(
        self, functions: Sequence[FloatArray], background: Sequence[FloatArray]
    ) -> FloatArray:
        """Return the log-density of rows, (n,).

        Parameters
        ----------
        functions : sequence of (n, p) float64 arrays
            Basis functions of every variable at the rows.
        background : sequence of (n,) float64 arrays
            Densities of the variables alone there.
        """
        n = len(functions[0])
        state, total = np.ones((n, 1)), np.zeros(n)
        for core, after, grid, at_rows, alone in zip(
            self.train.cores, self._later, self.grids, functions, background, strict=True
        ):
            along = np.einsum("nz,zaw,w->na", state, core, after, optimize=True)
            heights = np.maximum(along @ grid.functions.T, 0)
            mass = np.trapezoid(heights, grid.points, axis=1)
            here = np.maximum(np.einsum("na,na->n", along, at_rows), 0)
            usable = mass > np.finfo(np.float64).tiny
            clipped = np.where(usable, here / np.where(usable, mass, 1), alone)
            total += np.log((1 - self.share) * clipped + self.share * alone)
            state = np.einsum("nz,zaw,na->nw", state, core, at_rows, optimize=True)
        return total

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Draw rows, (count, d), at resolutions of the grids."""
        state = np.ones((count, 1))
        rows = np.empty((count, len(self.grids)))
        for j, (core, after, grid) in enumerate(
            zip(self.train.cores, self._later, self.grids, strict=True)
        ):
            along = np.einsum("nz,zaw,w->na", state, core, after, optimize=True)
            heights = np.maximum(along @ grid.functions.T, 0)
            mass = heights.sum(axis=1, keepdims=True)
            alone = grid.background / grid.background.sum()
            shares = np.where(mass > 0, heights / np.where(mass > 0, mass, 1), alone)
            shares = (1 - self.share) * shares + self.share * alone
            steps = np.cumsum(shares, axis=1)
            drawn = (rng.random((count, 1)) * steps[:, -1:] > steps).sum(axis=1)
            step = grid.points[1] - grid.points[0]
            rows[:, j] = grid.points[drawn] + step * (rng.random(count) - 0.5)
            at_rows = grid.functions[drawn]
            state = np.einsum("nz,zaw,na->nw", state, core, at_rows, optimize=True)
        return rows

    @property
    def _later(self) -> list[FloatArray]:
        """Integrals over all variables after every one, (r',)."""
        after = [np.ones(1)]
        for core, grid in zip(self.train.cores[:0:-1], self.grids[:0:-1], strict=True):
            after.append(np.einsum("zaw,a,w->z", core, grid.masses, after[-1]))
        return after[::-1]
