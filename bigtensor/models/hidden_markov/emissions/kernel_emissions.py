"""Densities of measured rows in every state: smoothed histograms and embeddings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.models.kernel_mixture.preparation import KernelMixturePreparation
from bigtensor.models.kernel_mixture.solution import KernelSolution
from bigtensor.models.kernel_mixture.solve import refined
from bigtensor.statistics.densities.falling_densities import FallingDensities
from bigtensor.statistics.densities.posterior_sums import PosteriorSumsResult


@dataclass(frozen=True, eq=False)
class KernelEmissions:
    """Densities of the views in every state; views are independent of each other given the state.

    Attributes
    ----------
    solution : KernelSolution
        Its weights are not used.
    """

    solution: KernelSolution

    @classmethod
    def of_sums(
        cls, sums: PosteriorSumsResult, preparation: KernelMixturePreparation
    ) -> KernelEmissions:
        """Return the densities of posterior sums (Song et al. 2014, sec. 3)."""
        return cls(refined(sums, preparation))

    @property
    def n_states(self) -> int:
        """Number of states k."""
        return len(self.solution.weights)

    @property
    def parameters(self) -> int:
        """Zero: densities have no parameters to count."""
        return 0

    @property
    def views(self) -> NamedViews:
        """Views with their features."""
        return self.solution.views

    def densities(self) -> FallingDensities:
        """Return the log densities of rows, with weights of one.

        Steps that no row of the fit was near are no evidence for a state: floors of embedded views
        are the same in all states, and densities fall beyond the grids.
        """
        mixture, solution = self.solution.mixture(), self.solution
        embedded = tuple(
            replace(part, floor=np.full_like(part.floor, part.floor.min()))
            for part in mixture.embedded
        )
        ones = np.ones(self.n_states)
        return FallingDensities(ones, mixture.tables, embedded, widths=solution.bandwidths)

    def ordered(self, order: NDArray[np.intp]) -> KernelEmissions:
        """Return the states in an order."""
        return KernelEmissions(self.solution.ordered(order))

    def draw(self, states: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw a row in every state: ``(rows, features)``."""
        return self.solution.draw_rows(states, rng)

    def feature_means(self) -> NDArray[np.float64]:
        """Return the mean of every feature in every state: ``(k, features)``."""
        parts = [
            self.solution.expectation(name, _itself).reshape(self.n_states, -1)
            for name, _ in self.views
        ]
        return np.concatenate(parts, axis=1)

    def distance(self, a: int, b: int) -> float:
        """Return the total variation between two states, the largest of all views.

        Of an embedded view it is the distance of the parts of the landmarks.
        """
        tables = self.solution.densities * self.solution.grids.step[:, None, None]
        distances = [float(np.abs(table[:, a] - table[:, b]).sum()) for table in tables]
        for view in self.solution.embedded:
            shares = view.anchor_shares
            distances.append(float(np.abs(shares[:, a] - shares[:, b]).sum()))
        return 0.5 * max(distances)


def _itself(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values."""
    return values
