"""Departures of the components of a sample from Gaussian shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.descending_order import descending_order
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.moment_tensors.pilot_tensor import standard_scales
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.in_memory import outputs_in_memory

_LEAST_ROWS = 40
"""Rows of a component whose shape is looked at."""

_LEAST_SHARE = 0.1
"""Of the smaller of two groups among the rows of a component."""

APART = 5.0
"""Distance of two groups of rows within a component, in standard deviations of a group.

The halves of a Gaussian are 2.7 apart, and those of 100 rows at most 3.1 in simulations.
"""


MOST_VARIANCE = 0.95
"""Share of the variance within components that wide features have together."""


@dataclass(frozen=True, eq=False)
class ComponentShapes:
    """Shapes of the rows of components.

    Attributes
    ----------
    two_groups : int
        Components whose rows are two groups.
    tails : float
        Excess kurtosis of the lengths of the residuals: near 0 for Gaussian noise.
    skewness : (d,) float64 array
        Of the residuals of every feature.
    variances : (d,) float64 array
        Of the residuals of every feature.
    """

    two_groups: int
    tails: float
    skewness: FloatArray
    variances: FloatArray

    def facts(self, features: tuple[str, ...]) -> dict[str, Any]:
        """Return the shapes as diagnostics.

        Parameters
        ----------
        features : tuple of str
            Names of the columns.
        """
        most, widest = int(np.argmax(np.abs(self.skewness))), descending_order(self.variances)
        total = max(float(self.variances.sum()), np.finfo(float).tiny)
        shares = np.cumsum(self.variances[widest]) / total
        number = int(np.searchsorted(shares, MOST_VARIANCE)) + 1
        return {
            "two_groups": self.two_groups,
            "tails": self.tails,
            "most_skewed": {"feature": features[most], "skewness": float(self.skewness[most])},
            "wide_features": [features[feature] for feature in widest[:number]],
        }


def component_shapes(components: GaussianComponents, rows: Block) -> ComponentShapes:
    """Return the shapes of the rows that are labelled with every component.

    Parameters
    ----------
    components : GaussianComponents
        The mixture.
    rows : Block
        Dense rows that the driver holds, without missing values.
    """
    two_groups, weight_of_earlier = 0, 0.0
    # cubes of very small or very large values would vanish or overflow
    scales = standard_scales(rows.dense_values[: rows.rows])
    lengths: list[FloatArray] = []
    squares, cubes = np.zeros(components.means.shape[1]), np.zeros(components.means.shape[1])
    for members, whitened in _by_component(components, rows):
        residuals = whitened - whitened.mean(axis=0)
        lengths.append(np.linalg.norm(residuals, axis=1))
        features = (members - members.mean(axis=0)) / scales
        weight_of_earlier += len(members)
        squares += np.square(features).sum(axis=0)
        cubes += (features**3).sum(axis=0)
        if len(members) >= _LEAST_ROWS:
            two_groups += _are_two_groups(residuals)
    variances = squares / weight_of_earlier
    skewness = cubes / weight_of_earlier / np.where(variances > 0, variances, 1.0) ** 1.5
    tails = _excess_kurtosis(np.concatenate(lengths))
    return ComponentShapes(two_groups, tails, skewness, variances * np.square(scales))


def _by_component(
    components: GaussianComponents, rows: Block
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the rows of every component that has some, and whitened."""
    mixture = components.mixture()
    labels = outputs_in_memory(Responsibilities(mixture, ("label",)), rows.without_halo())["label"]
    whitening = mixture.whitening.astype(np.float64)
    for component in np.unique(labels):
        members = rows.values[: rows.rows][labels == component].astype(np.float64)
        centred = members - mixture.reference
        yield members, centred @ whitening if whitening.ndim == 2 else centred * whitening


def _are_two_groups(residuals: FloatArray) -> bool:
    """Return True if rows are two groups far apart along the axis of their largest variance."""
    n, d = residuals.shape
    gram = residuals.T @ residuals if d <= n else residuals @ residuals.T
    last = len(gram) - 1
    vector = eigh(gram, subset_by_index=(last, last))[1][:, 0]
    along: FloatArray = np.sort(residuals @ vector if d <= n else vector)
    sizes = np.arange(1, n)
    sums = np.cumsum(along)[:-1]
    # rows are centred: the sum of squares between both sides of every cut
    between = np.square(sums) * n / (sizes * (n - sizes))
    cut = int(np.argmax(between))
    size = int(sizes[cut])
    within = max(float(np.square(along).sum() - between[cut]), 0.0)
    gap = abs(sums[cut]) * n / (size * (n - size))
    share = min(size, n - size) / n
    return bool(share >= _LEAST_SHARE and gap >= APART * np.sqrt(within / n))


def _excess_kurtosis(lengths: FloatArray) -> float:
    """Return the excess kurtosis of numbers; 0 where they are all the same."""
    squares = np.square(lengths - lengths.mean())
    variance = float(squares.mean())
    return float(np.square(squares).mean() / variance**2 - 3) if variance > 0 else 0.0
