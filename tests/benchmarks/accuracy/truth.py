"""A simulated data set with everything that an estimate of it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bigtensor.data.simulate import density_error, error_grid, kernel_mixture_density

FloatArray = NDArray[np.float64]


@dataclass
class Truth:
    """A data set, its true densities, and the grids on which densities are compared."""

    data: xr.Dataset
    features: list[str]
    grids: list[FloatArray]
    densities: list[FloatArray]
    weights: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.weights = self.data["true_weights"].to_numpy()

    @classmethod
    def of(cls, data: xr.Dataset) -> Truth:
        """Return the truth of simulated data."""
        features = [str(name) for name in data["feature"].values]
        grids = [error_grid(data, feature) for feature in features]
        densities = [
            kernel_mixture_density(data, feature, grid)
            for feature, grid in zip(features, grids, strict=True)
        ]
        return cls(data, features, grids, densities)

    @property
    def n_components(self) -> int:
        """The true number of components."""
        return len(self.weights)

    @property
    def values(self) -> FloatArray:
        """The rows, (rows, views)."""
        return np.asarray(self.data["X"].to_numpy())

    def error(self, densities: Sequence[FloatArray]) -> float:
        """Return how far estimated densities are from the truth."""
        return density_error(self.weights, self.densities, densities, self.grids)

    def in_true_order(self, densities: Sequence[FloatArray]) -> list[FloatArray]:
        """Return estimated densities with their components in the order of the true ones."""
        cost = sum(
            np.sqrt(np.trapezoid((true[:, :, None] - one[:, None, :]) ** 2, grid, axis=0))
            for true, one, grid in zip(self.densities, densities, self.grids, strict=True)
        )
        _, order = linear_sum_assignment(self.weights[:, None] * cost)
        return [one[:, order] for one in densities]
