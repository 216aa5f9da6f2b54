"""Probabilities of categories in every state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.discrete.discrete_core import distributions
from bigtensor.features.maps import FeatureMap
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.statistics.base import Result, Statistic
from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.codes.draws import drawn_codes
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.sequences.expectation import SequencePosteriorSumsResult

LOWEST = 1e-12
"""Smallest probability of a fitted model: no sequence of known categories is impossible."""


@dataclass(frozen=True, eq=False)
class CategoricalEmissions:
    """Probabilities of named categories in every state.

    Attributes
    ----------
    table : (k, categories) float64 array
        At least `LOWEST`; rows sum to one.
    views : tuple of (name, features)
        One view of one feature.
    categories : tuple of str
        Names of the codes.
    """

    table: NDArray[np.float64]
    views: NamedViews
    categories: tuple[str, ...]

    @classmethod
    def normalised(
        cls, table: NDArray[np.float64], views: NamedViews, categories: tuple[str, ...]
    ) -> CategoricalEmissions:
        """Return emissions of a table ``(k, categories)`` of any sums, without zeros."""
        return cls(np.ascontiguousarray(distributions(table.T, LOWEST).T), views, categories)

    @property
    def n_states(self) -> int:
        """Number of states k."""
        return len(self.table)

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        k, n = map(int, self.table.shape)
        return k * (n - 1)

    def densities(self) -> MixtureDensities:
        """Return the log probabilities of rows, with weights of one."""
        tables = CodeTables.of_probabilities((np.ascontiguousarray(self.table.T),))
        return MixtureDensities(np.ones(self.n_states), tables)

    def ordered(self, order: NDArray[np.intp]) -> CategoricalEmissions:
        """Return the states in an order."""
        return replace(self, table=self.table[order])

    def draw(self, states: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw the code of a row in every state: ``(rows, 1)``."""
        return drawn_codes(self.table.T, states, rng)[:, None]

    def distance(self, a: int, b: int) -> float:
        """Return the total variation between two states."""
        return 0.5 * float(np.abs(self.table[a] - self.table[b]).sum())


@dataclass(frozen=True)
class Categories:
    """Family of the emissions of one categorical feature.

    Attributes
    ----------
    views : tuple of (name, features)
        One view of one feature.
    names : tuple of str
        Of the codes.
    """

    views: NamedViews
    names: tuple[str, ...]

    settled: ClassVar[float] = 2e-7
    out_maps: ClassVar[Mapping[str, FeatureMap]] = {}
    reach: ClassVar[None] = None
    outliers: ClassVar[Mapping[str, Any]] = {}

    @property
    def n_codes(self) -> int:
        """Number of categories."""
        return len(self.names)

    def of_codes(self, statistic: Statistic[Result]) -> Statistic[Result]:
        """Return the statistic itself: rows are codes."""
        return statistic

    def emissions(self, probabilities: NDArray[np.float64]) -> CategoricalEmissions:
        """Return the emissions of probabilities ``(k, categories)`` of any sums."""
        return CategoricalEmissions.normalised(probabilities, self.views, self.names)

    def reestimated(
        self, sums: SequencePosteriorSumsResult, smoothing: float
    ) -> CategoricalEmissions:
        """Return the emissions of expected counts, with a pseudo-count of every category."""
        assert sums.emissions.histograms is not None
        return self.emissions(sums.emissions.histograms[: self.n_codes].T + smoothing)
