"""Poisson rates of counts in every state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.statistics.densities.poisson_densities import PoissonDensities

LEAST_COUNT = 1e-3
"""Sum of the counts of a state that has none: no row of known features is impossible."""


@dataclass(frozen=True, eq=False)
class PoissonEmissions:
    """Expected counts of all features in every state; counts are independent given the state.

    Attributes
    ----------
    rates : (k, d) float64 array
        Positive.
    views : tuple of (name, features)
        Views with their features.
    """

    rates: FloatArray
    views: NamedViews

    @property
    def n_states(self) -> int:
        """Number of states k."""
        return len(self.rates)

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        return int(self.rates.size)

    def densities(self) -> PoissonDensities:
        """Return the log probabilities of rows, with weights of one."""
        return PoissonDensities(np.ones(self.n_states), self.rates)

    def ordered(self, order: NDArray[np.intp]) -> PoissonEmissions:
        """Return the states in an order."""
        return replace(self, rates=self.rates[order])

    def draw(self, states: NDArray[np.int32], rng: np.random.Generator) -> FloatArray:
        """Draw a row in every state: ``(rows, features)``."""
        return rng.poisson(self.rates[states]).astype(np.float64)

    def distance(self, a: int, b: int) -> float:
        """Return an upper bound of the total variation between two states.

        It is the root of one minus the square of the coefficient of Bhattacharyya (1943).
        """
        exponent = np.square(np.sqrt(self.rates[a]) - np.sqrt(self.rates[b])).sum() / 2
        return float(np.sqrt(1 - np.exp(-2 * exponent)))

    def feature_means(self) -> FloatArray:
        """Return the expected count of every feature in every state: ``(k, d)``."""
        return self.rates


@dataclass(frozen=True, eq=False)
class PoissonLaw:
    """Poisson emissions of sums of counts.

    Attributes
    ----------
    views : tuple of (name, features)
        Views with their features.
    """

    views: NamedViews

    def features_of(self, values: NDArray[Any]) -> FloatArray:
        """Return the features of rows ``(n, d)``, counts and a one: ``(n, d + 1)``."""
        return np.column_stack([np.asarray(values, np.float64), np.ones(len(values))])

    def emissions(self, sums: FloatArray) -> PoissonEmissions:
        """Return the most likely emissions of sums of features ``(d + 1, k)``."""
        counts = np.maximum(sums[-1], np.finfo(np.float64).tiny)
        return PoissonEmissions(np.maximum(sums[:-1], LEAST_COUNT).T / counts[:, None], self.views)
