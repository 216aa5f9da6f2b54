"""Contract of the solution of a mixture, for the answers of all mixtures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.models.answers.populations import Populations
from bigtensor.statistics.densities.joint_densities import JointDensities


class FittedMixture(Protocol):
    """Contract of the solution of a mixture.

    Solutions that derive from it draw components by their weights, and estimate weights of groups
    under the densities that labels come from.
    """

    @property
    def populations(self) -> Populations | None:
        """Populations of components that answers are given for, or None."""

    @property
    def slices(self) -> Mapping[str, slice]:
        """Columns of every view in the values of a block."""

    def mixture(self) -> JointDensities:
        """Return the densities that labels and probabilities come from."""

    def likelihood_mixture(self) -> JointDensities:
        """Return the densities that weights of groups are estimated under."""
        return self.mixture()

    def draw(
        self, n_samples: int, rng: np.random.Generator
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Draw rows, features beside each other in the order of the views, and components."""
        weights = self.mixture().weights
        label = rng.choice(len(weights), size=n_samples, p=weights / weights.sum())
        return self.draw_rows(label, rng), label.astype(np.int32)

    def draw_rows(self, label: NDArray[np.integer], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a row of every component, features beside each other in the order of the views."""

    def feature_quantiles(
        self,
        column: int,  # noqa: ARG002
        levels: FloatArray,  # noqa: ARG002
    ) -> FloatArray | None:
        """Return the quantiles of one feature in every component.

        Parameters
        ----------
        column : int
            Column of the feature in the values of a block.
        levels : (m,) float64 array
            Between 0 and 1.

        Returns
        -------
        (k, m) float64 array or None
            In the units of the data. None for categories, which have no order.
        """
        return None
