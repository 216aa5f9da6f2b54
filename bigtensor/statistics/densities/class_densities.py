"""Posterior probabilities of classes: the components of a mixture, or its populations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.features.buffers import Buffers, buffers_nbytes, width_in_lines
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.joint_densities import JointDensities, JointTile
from bigtensor.statistics.densities.tile_posterior import posterior_buffers, tile_posterior


@dataclass(frozen=True, eq=False)
class ClassDensities:
    """A mixture whose classes are its components, or populations of them.

    Parameters
    ----------
    mixture : JointDensities
        Mixture of the components.
    populations : (components,) integer array, optional
        The population of every component, from 0. The density of a population is the mixture of
        its components in the proportions of their weights.
    """

    mixture: JointDensities
    populations: IndexArray | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        if self.populations is None:
            return self.mixture.n_components
        return int(self.populations.max()) + 1

    @property
    def weights(self) -> FloatArray:
        """The weights of the classes under the mixture: ``(classes,)``, of sum one."""
        weights = self.mixture.weights
        total = np.zeros(self.n_classes)
        classes = np.arange(weights.size) if self.populations is None else self.populations
        np.add.at(total, classes, weights)
        return np.asarray(total / total.sum())

    def posterior(self, tile: JointTile, work: Workspace) -> tuple[NDArray[Any], FloatArray]:
        """Compute the posterior probabilities of the rows of a tile, and their log-densities.

        Both are valid until the next tile.

        Returns
        -------
        posterior : (rows, classes) array
            Of the dtype of the mixture.
        log_density : (rows,) float64 array
            Relative to the volume of the densities of the mixture.
        """
        posterior, log_density = tile_posterior(tile, work)
        if self.populations is None:
            return posterior[:, : self.mixture.n_components], log_density
        shares = work.take("classes.shares", *self._buffers(tile.rows)["classes.shares"])
        return sum_of_populations(posterior, self.populations, shares), log_density

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace of tiles of ``rows`` rows."""
        return self.mixture.work_nbytes(rows) + buffers_nbytes(self._buffers(rows))

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        buffers = dict(posterior_buffers(self.mixture, rows))
        if self.populations is not None:
            buffers["classes.shares"] = shares_buffer(rows, self.n_classes, self.mixture.dtype)
        return buffers


def shares_buffer(rows: int, populations: int, dtype: DTypeLike) -> tuple[tuple[int, int], Any]:
    """Return shape and dtype of the array that `sum_of_populations` fills."""
    return (rows, width_in_lines(populations, dtype)), dtype


def sum_of_populations(
    posterior: NDArray[Any], populations: IndexArray, out: NDArray[Any]
) -> NDArray[Any]:
    """Add the posterior probabilities of the components of every population.

    Parameters
    ----------
    posterior : (rows, width) array
        Columns after the last component are finite, and do not count.
    populations : (components,) integer array
        The population of every component.
    out : (rows, padded populations) array
        Of `shares_buffer`. A product with 16 columns takes 46 ns a row, with 15 columns 65.

    Returns
    -------
    (rows, populations) array
        The first columns of `out`.
    """
    belongs = np.zeros((posterior.shape[1], out.shape[1]), posterior.dtype)
    belongs[np.arange(populations.size), populations] = 1
    np.matmul(posterior, belongs, out=out)
    return out[:, : int(populations.max()) + 1]
