"""Level of the labels of a mixture: components, or the populations that they were merged into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import NoPopulationsError
from bigtensor.models.words.described_model import LabelsRows


@dataclass(frozen=True, eq=False)
class LabelLevel:
    """Components or populations that labels stand for.

    Attributes
    ----------
    name : {"component", "population"}
        Kind of the things that labels stand for.
    weights : (m,) float64 array
        Descending.
    component_weights : (k,) float64 array
        Mixing weights of the components, which equal `weights` without populations.
    of_component : (k,) integer array, optional
        The population of every component. None without populations.
    """

    name: str
    weights: FloatArray
    component_weights: FloatArray
    of_component: NDArray[np.intp] | None = None

    @property
    def count(self) -> int:
        """Number of components, or of populations."""
        return len(self.weights)


def level_of(model: LabelsRows) -> LabelLevel:
    """Return the level of the labels of a fitted mixture."""
    weights = np.asarray(model.weights_, np.float64)
    of_component = population_of_component(model)
    if of_component is None:
        return LabelLevel("component", weights, weights)
    merged = np.asarray(model.population_weights_, np.float64)
    return LabelLevel("population", merged, weights, of_component)


def population_of_component(model: LabelsRows) -> NDArray[np.intp] | None:
    """Return the population of every component of a fitted model, or None without populations."""
    try:
        return np.asarray(model.population_of_component_)
    except (AttributeError, NoPopulationsError):
        return None
