"""Protocols of the emissions of a hidden Markov model and of their families."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bigtensor.features.maps import FeatureMap
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.statistics.base import Result, Statistic
from bigtensor.statistics.densities.joint_densities import JointDensities
from bigtensor.statistics.sequences.expectation import SequencePosteriorSumsResult
from bigtensor.statistics.within_reach import Reach


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

    def densities(self) -> JointDensities:
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


class Family(Protocol):
    """Emissions of one kind: how codes are counted, and how estimates become emissions."""

    @property
    def n_codes(self) -> int:
        """Number of categories, or of cells."""
        ...

    @property
    def settled(self) -> float:
        """Change of the mean log-likelihood at which iterations end, in nats a row."""
        ...

    @property
    def out_maps(self) -> Mapping[str, FeatureMap]:
        """Features that posterior probabilities are summed with, for every wider view."""
        ...

    @property
    def reach(self) -> Reach | None:
        """Distances of the rows that are no outliers; None if all rows count."""
        ...

    @property
    def outliers(self) -> Mapping[str, Any]:
        """Diagnostics of outlying rows; empty if none are looked for."""
        ...

    def of_codes(self, statistic: Statistic[Result]) -> Statistic[Result]:
        """Return a statistic of codes as a statistic of rows."""
        ...

    def emissions(self, probabilities: NDArray[np.float64]) -> Emissions:
        """Return the emissions of probabilities of codes ``(k, codes)``."""
        ...

    def reestimated(self, sums: SequencePosteriorSumsResult, smoothing: float) -> Emissions:
        """Return the emissions of sums over rows, with a pseudo-count of every category."""
        ...
