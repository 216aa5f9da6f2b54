"""Posterior probabilities of classes: the components of a mixture, or its populations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.buffers import Buffers, buffers_nbytes
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities import MixtureDensities, Tile, normalise, normalise_nbytes


@dataclass(frozen=True, eq=False)
class ClassDensities:
    """A mixture whose classes are its components, or populations of them.

    Parameters
    ----------
    mixture : MixtureDensities
    populations : (components,) integer array, optional
        The population of every component, from 0. The density of a population is the mixture of
        its components in the proportions of their weights.
    """

    mixture: MixtureDensities
    populations: NDArray[np.intp] | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        if self.populations is None:
            return self.mixture.n_components
        return int(self.populations.max()) + 1

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the classes under the mixture: ``(classes,)``, of sum one."""
        weights = self.mixture.weights
        total = np.zeros(self.n_classes)
        classes = np.arange(weights.size) if self.populations is None else self.populations
        np.add.at(total, classes, weights)
        return np.asarray(total / total.sum())

    def posterior(self, tile: Tile, work: Workspace) -> NDArray[Any]:
        """Return the posterior probabilities of the rows of a tile: ``(classes, rows)``.

        Valid until the next tile; of the dtype of the mixture.
        """
        buffers = self._buffers(tile.rows)
        arrays = {name: work.take(name, *spec) for name, spec in buffers.items()}
        joint: NDArray[Any] = arrays["classes.joint"]
        tile.write_log_joint(joint)
        normalise(joint, arrays["classes.log_density"], work)
        if self.populations is None:
            return joint
        shares: NDArray[Any] = arrays["classes.shares"]
        members = self.populations == np.arange(self.n_classes)[:, None]
        np.matmul(np.asarray(members, joint.dtype), joint, out=shares)
        return shares

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace of tiles of ``rows`` rows."""
        return (
            self.mixture.work_nbytes(rows)
            + normalise_nbytes(rows)
            + buffers_nbytes(self._buffers(rows))
        )

    def _buffers(self, rows: int) -> Buffers:
        """Return the buffers of a tile."""
        k, dtype = self.mixture.n_components, self.mixture.dtype
        buffers: dict[str, tuple[tuple[int, ...], Any]] = {
            "classes.joint": ((k, rows), dtype),
            "classes.log_density": ((rows,), "float64"),
        }
        if self.populations is not None:
            buffers["classes.shares"] = ((self.n_classes, rows), dtype)
        return buffers
