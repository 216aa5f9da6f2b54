"""The density of a view of several features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.group_map import GroupMap
from bigtensor.features.maps import FeatureMap
from bigtensor.features.nystroem import Nystroem
from bigtensor.statistics.base import Workspace

FloatArray = NDArray[np.float64]

DENSITY_FLOOR = 1e-6
"""Floor of smoothed densities, relative to their maximum."""


@dataclass(frozen=True, eq=False)
class WideView:
    """The density of a view of several features: a weighted sum of its kernel features.

    Attributes
    ----------
    name : str
    columns : slice
        The columns of the view in the values of a block.
    feature_map : Nystroem
    coefficients : (q, k) float64 array
    floor : (k,) float64 array
    rows : (n0, d) float array
        The view in the rows of the pilot sample.
    """

    name: str
    columns: slice
    feature_map: Nystroem
    coefficients: FloatArray
    floor: FloatArray
    rows: NDArray[np.floating]

    def density(self, points: FloatArray) -> FloatArray:
        """Return the density of every component: ``(n, k)``."""
        return np.maximum(features_of(self.feature_map, points) @ self.coefficients, self.floor)


def features_of(feature_map: FeatureMap, points: NDArray[Any]) -> FloatArray:
    """Return the features of a few points on the driver: ``(n, q)``."""
    values = points.reshape(-1, feature_map.n_inputs)
    out = np.empty((len(values), feature_map.n_features), feature_map.dtype)
    GroupMap(("points",), (feature_map,)).evaluate([values], out, Workspace())
    return out.astype(np.float64)
