"""Attributes of a kernel mixture that its report uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import xarray as xr
from numpy.typing import NDArray

from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.words.described_model import DescribedMixture
from bigtensor.statistics.base import RowFunction


class DescribedKernelMixture(DescribedMixture, Protocol):
    """Attributes of a kernel mixture that its report uses."""

    def component_density(
        self, view: str, points: npt.ArrayLike
    ) -> NDArray[np.float64] | xr.DataArray:
        """Return the density of every component in one view."""

    def expectation(
        self, view: str, f: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[np.float64]:
        """Return the expectation of a function of one view for every component."""

    def suggest_population_names(self) -> list[str]:
        """Return a different name for every population by its markers."""

    def row_function(self, outputs: tuple[str, ...]) -> RowFunction:
        """Return the function that answers for every row."""

    def _mixture(self) -> FittedMixture:
        """Return the solution, or raise sklearn's NotFittedError."""

    def _generator(self) -> np.random.Generator:
        """Return the generator of a draw, with the seed of the model."""
