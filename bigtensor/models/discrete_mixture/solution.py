"""Fitted discrete mixture: weights and probabilities of categories, as answers use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bigtensor.descending_order import descending_order
from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.answers.populations import Populations
from bigtensor.models.contract.data_shape import NamedViews, view_slices
from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.codes.draws import drawn_codes
from bigtensor.statistics.densities.view_densities import MixtureDensities

Probabilities = tuple[NDArray[np.float64], ...]
"""(categories, components) of every view; columns sum to one."""


@dataclass(frozen=True, eq=False)
class DiscreteSolution:
    """Weights and probabilities of the categories of every view.

    Attributes
    ----------
    weights : (components,) float64 array
        Positive; they sum to one.
    probabilities : tuple of (categories, components) float64 arrays
        Positive, but zero in all components for a category that did not occur in the fit.
    """

    weights: NDArray[np.float64]
    probabilities: Probabilities

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.weights)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of every view that occurred in the fit, at least one."""
        return tuple(max(1, int(table.any(axis=1).sum())) for table in self.probabilities)

    @property
    def distributions(self) -> Probabilities:
        """Probabilities of categories, all alike in a view without an entry in the fit."""
        return tuple(
            table if table.any() else np.full(table.shape, 1 / len(table))
            for table in self.probabilities
        )

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        free = sum(size - 1 for size in self.sizes)
        return self.n_components - 1 + self.n_components * free

    def mixture(self) -> MixtureDensities:
        """Return the log probabilities as a posterior pass reads them."""
        return self._densities

    @cached_property
    def _densities(self) -> MixtureDensities:
        return MixtureDensities(self.weights, CodeTables.of_probabilities(self.probabilities))

    def by_weight(self) -> DiscreteSolution:
        """Return the components in the order of descending weight."""
        order = descending_order(self.weights)
        return DiscreteSolution(
            self.weights[order], tuple(table[:, order] for table in self.probabilities)
        )

    def with_uniform_component(self, weight: float) -> DiscreteSolution:
        """Return the mixture with one more component, of equally probable categories."""
        uniform = (np.full((len(table), 1), 1 / len(table)) for table in self.probabilities)
        return DiscreteSolution(
            np.append((1 - weight) * self.weights, weight),
            tuple(
                np.hstack([table, column])
                for table, column in zip(self.probabilities, uniform, strict=True)
            ),
        )

    def of_views(self, positions: Sequence[int] | NDArray[np.intp]) -> DiscreteSolution:
        """Return the mixture of views in another order.

        Parameters
        ----------
        positions : sequence of int
            Position of every view in the present order.
        """
        tables = tuple(self.probabilities[view] for view in positions)
        return DiscreteSolution(self.weights, tables)

    def of_categories(self, positions: Sequence[NDArray[np.int64]]) -> DiscreteSolution:
        """Return the mixture of categories in another order.

        Parameters
        ----------
        positions : sequence of (categories,) int64 arrays
            Of every view: position of every category in the present order, or -1 for a category
            that did not occur in the fit.
        """
        never = np.zeros((1, self.n_components))
        tables = tuple(
            np.concatenate([table, never])[own]
            for table, own in zip(self.probabilities, positions, strict=True)
        )
        return DiscreteSolution(self.weights, tables)

    def floored(self, floor: float) -> DiscreteSolution:
        """Return a mixture without zeros: entries reach a floor, and sum to one."""
        return DiscreteSolution(
            _floored(self.weights, floor),
            tuple(_floored(table, floor) for table in self.probabilities),
        )


@dataclass(frozen=True, eq=False)
class DiscreteFit(FittedMixture):
    """Discrete mixture of named views and categories.

    Attributes
    ----------
    solution : DiscreteSolution
        Components by descending weight.
    views : tuple of (name, features)
        One feature a view.
    categories : tuple of tuple of str
        Names of the codes of every view.
    populations : Populations, optional
        Populations of components that a user named or merged; None without.
    """

    solution: DiscreteSolution
    views: NamedViews
    categories: tuple[tuple[str, ...], ...]
    populations: Populations | None = None

    @property
    def slices(self) -> dict[str, slice]:
        """Columns of every view in the values of a block."""
        return view_slices(self.views)

    def mixture(self) -> MixtureDensities:
        """Return the probabilities that labels come from."""
        return self.solution.mixture()

    def draw_rows(self, label: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw a row of every component: ``(rows, views)``."""
        codes = np.empty((len(label), len(self.views)), np.int32)
        for view, table in enumerate(self.solution.distributions):
            codes[:, view] = drawn_codes(table, label, rng)
        return codes


def _floored(columns: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Return distributions along the first axis whose entries reach a floor."""
    raised = np.maximum(columns, floor)
    return np.asarray(raised / raised.sum(axis=0))
