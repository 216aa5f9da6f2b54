"""Emissions of a hidden Markov model: what a fit needs of them, whatever rows they are of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bigtensor.models.data_shape import NamedViews
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.posterior_sums import PosteriorSumsResult


class Emissions(Protocol):
    """Distribution of a row in each of k states."""

    @property
    def n_states(self) -> int:
        """Number of states k."""
        ...

    @property
    def parameters(self) -> int:
        """Number of free parameters; 0 where densities have none."""
        ...

    @property
    def views(self) -> NamedViews:
        """Views with their features."""
        ...

    def densities(self) -> MixtureDensities:
        """Return the log densities of rows, with weights of one."""
        ...

    def ordered(self, order: NDArray[np.intp]) -> Self:
        """Return the states in an order."""
        ...

    def draw(self, states: NDArray[np.int32], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a row in every state: ``(rows, features)``."""
        ...

    def distance(self, a: int, b: int) -> float:
        """Return the total variation between two states, the largest of all views."""
        ...


Reestimate = Callable[[PosteriorSumsResult], Emissions]
"""Makes the emissions of the next iteration from sums over rows."""
