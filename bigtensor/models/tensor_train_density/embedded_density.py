"""Low-rank kernel embedding of a sample as a fitted density: log-densities of rows, and draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.tensor_train.clipped_density import ClippedDensity, VariableGrid
from bigtensor.decomposition.tensor_train.kernel_svd import SignedTrain
from bigtensor.errors import Setting
from bigtensor.features.buffers import buffers_nbytes
from bigtensor.features.coordinates import Coordinates
from bigtensor.features.kernels.kernel_basis import KernelBasis
from bigtensor.features.modes import Modes
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.statistics.base import CompleteColumns, RowFunction, RowOutput, Workspace
from bigtensor.statistics.in_memory import outputs_in_memory
from bigtensor.statistics.tensor_train.located_rows import RowLocator
from bigtensor.statistics.tensor_train.log_densities import LOG_DENSITY

_GRID_OF_WIDTH = 4
"""Grid points in a standard deviation of the kernel, over which a variable is integrated."""


@dataclass(frozen=True, eq=False)
class EmbeddedDensity:
    """Proper density from the low-rank kernel embedding of a sample (Song and Dai 2013).

    Attributes
    ----------
    coordinates : Coordinates
        Coordinates in which the kernels lie.
    order : (d,) int64 array
        Variables in the order of the train.
    train : SignedTrain
        Coefficients of the kernel embedding, of either sign.
    bases : tuple of KernelBasis
        Of every variable, by its number.
    modes : Modes
        Nodes of every variable.
    background : tuple of (points,) float64 arrays
        Density of every variable alone at the points of its mode.
    views : tuple of (name, features)
        Names of the views and of their features.
    """

    coordinates: Coordinates
    order: NDArray[np.int64]
    train: SignedTrain
    bases: tuple[KernelBasis, ...]
    modes: Modes
    background: tuple[FloatArray, ...]
    views: NamedViews

    answers_queries: ClassVar[bool] = False

    @property
    def n_components(self) -> int:
        """Largest rank of a split of the variables."""
        return max(int(core.shape[2]) for core in self.train.cores)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(name for _, members in self.views for name in members)

    @property
    def n_trains(self) -> int:
        """Number of trains."""
        return 1

    @cached_property
    def rows(self) -> RowLocator:
        """Function of rows that the backgrounds are looked up with."""
        return RowLocator(self.coordinates, self.modes.locator())

    @cached_property
    def clipped(self) -> ClippedDensity:
        """The train as a proper density, in coordinates and in its order."""
        grids = []
        for j in self.order:
            basis = self.bases[j]
            low, high = basis.points[0], basis.points[-1]
            count = int(np.ceil((high - low) / basis.width * _GRID_OF_WIDTH)) + 1
            points = np.linspace(low, high, count)
            alone = self._alone(j, points)
            grids.append(VariableGrid(points, basis.functions(points), basis.masses, alone))
        return ClippedDensity(self.train, tuple(grids))

    def log_densities(self) -> EmbeddedLogDensities:
        """Return the function that gives the log-density of every row."""
        return EmbeddedLogDensities(self)

    def log_densities_of_coordinates(self, values: FloatArray) -> FloatArray:
        """Return the log-densities of complete rows by their coordinates, (n,)."""
        functions = [self.bases[j].functions(values[:, j]) for j in self.order]
        alone = [self._alone(j, values[:, j]) for j in self.order]
        return self.clipped.log_densities(functions, alone)

    def log_densities_of(self, rows: FloatArray) -> FloatArray:
        """Return the log-densities of rows in memory, (n,)."""
        block = Block(rows, {}, 0, len(rows))
        return outputs_in_memory(self.log_densities(), block)[LOG_DENSITY]

    def draw(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Draw rows, features beside each other in the order of the views."""
        coordinates = np.empty((n_samples, len(self.order)))
        coordinates[:, self.order] = self.clipped.sample(n_samples, rng)
        return self.coordinates.inverse(coordinates)

    def _alone(self, j: int, values: FloatArray) -> FloatArray:
        """Return the density of one variable alone at some coordinates, (n,)."""
        n = len(values)
        point, left, right = np.empty((n, 1), np.int32), np.empty((n, 1)), np.empty((n, 1))
        self.modes.select([j]).locator().locate(
            *(values[:, None], values[:, None], point, left, right)
        )
        heights = np.append(self.background[j], 0)
        return np.asarray((left * heights[point] + right * heights[point + 1])[:, 0])


@dataclass(frozen=True, eq=False)
class EmbeddedLogDensities(RowFunction):
    """Log-density of every complete row, in nats.

    Parameters
    ----------
    density : EmbeddedDensity
        Density that is evaluated.
    """

    density: EmbeddedDensity

    block_rows: ClassVar[int] = 256

    @property
    def complete(self) -> CompleteColumns:
        """All columns."""
        return CompleteColumns(
            tuple(range(len(self.density.order))),
            "A kernel embedding needs every value of a row: fit with "
            + Setting("method", "likelihood")
            + " to sum over missing entries",
        )

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The log-density."""
        return (RowOutput(LOG_DENSITY, "float64"),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the log-densities of the rows of ``block``."""
        n, d = block.rows, len(self.density.order)
        values, log_slope = np.empty((n, d)), out[LOG_DENSITY]
        self.density.coordinates.write(block.dense_values[:n], values, log_slope, work)
        missing = np.asarray(np.isnan(values).any(axis=1))
        complete = np.flatnonzero(~missing)
        log_slope[complete] += self.density.log_densities_of_coordinates(values[complete])
        log_slope[missing] = np.nan

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        sizes = [(len(g.points), len(g.masses)) for g in self.density.clipped.grids]
        functions = sum(count for _, count in sizes)
        curves = max(points + 2 * count for points, count in sizes)
        own = 8 * rows * (2 * functions + 4 * curves + 4 * len(sizes))
        return own + buffers_nbytes(self.density.coordinates.buffers(rows))
