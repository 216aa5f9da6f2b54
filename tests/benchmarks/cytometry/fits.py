"""Mixtures fitted to one data set with one seed, and the probabilities that they give."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture

from bigtensor import KernelMixture
from bigtensor.models.kernel_mixture.settings import n_components_of
from tests.benchmarks.baselines import fitted_gaussian_mixture
from tests.benchmarks.calibration import Reliability
from tests.benchmarks.cytometry.cells import Cells
from tests.benchmarks.cytometry.methods import Count, kernel_mixture, unsettled_fits_allowed

PEER_ROWS = 100_000
"""Rows that the full Gaussian mixture is fitted to; it labels all of them."""


class Fits:
    """Mixtures of one data set with one seed; every mixture is fitted once.

    Parameters
    ----------
    cells : Cells
    seed : int
    """

    def __init__(self, cells: Cells, seed: int) -> None:
        self.cells = cells
        self.seed = seed
        self._kernel: dict[int, KernelMixture] = {}
        self._gaussian: dict[int, GaussianMixture] = {}

    @cached_property
    def values(self) -> NDArray[Any]:
        """The features to cluster on, of all cells."""
        return self.cells.values()

    def populations(self, count: Count) -> KernelMixture:
        """Return the model cut into so many populations; the next call may cut it elsewhere.

        Models with equally many components differ only in where their tree is cut, and are fitted
        once.
        """
        model = kernel_mixture(self.seed, views=self.cells.views, n_populations=count)
        components = n_components_of(model.parameter_values(), len(self.cells.gates))
        if components not in self._kernel:
            with unsettled_fits_allowed():
                self._kernel[components] = model.fit(self.cells.store)
        return self._kernel[components].cut_populations(count)

    def gaussian(self, clusters: int) -> GaussianMixture:
        """Return the full Gaussian mixture, from one initialisation."""
        if clusters not in self._gaussian:
            self._gaussian[clusters] = fitted_gaussian_mixture(
                self.values, clusters, 1, PEER_ROWS, seed=self.seed
            )
        return self._gaussian[clusters]

    def population_reliability(self, count: Count) -> Reliability:
        """Return the calibration of the populations on the gated cells."""
        probabilities = self.populations(count).predict_proba(self.cells.gated_values())
        return Reliability.of_populations(np.asarray(probabilities), self.cells.gated_classes)

    def gaussian_reliability(self, clusters: int) -> Reliability:
        """Return the calibration of the Gaussian mixture on the gated cells."""
        probabilities = self.gaussian(clusters).predict_proba(self.values[self.cells.gates >= 0])
        return Reliability.of_populations(probabilities, self.cells.gated_classes)
