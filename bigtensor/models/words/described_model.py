"""Attributes of fitted models that general descriptions use."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.views import Views
from bigtensor.decomposition.merging.merge_tree import MergeTree


class DescribedModel(Protocol):
    """Attributes of any model that a description uses."""

    views_: Views
    diagnostics_: dict[str, Any]

    def __sklearn_is_fitted__(self) -> bool:
        """Return True if the model can answer."""


class LabelsRows(Protocol):
    """A fitted mixture whose labels stand for components or populations."""

    weights_: NDArray[np.float64]

    @property
    def population_of_component_(self) -> NDArray[np.intp]:
        """Population of every component: ``(k,)``. Only with populations."""

    @property
    def population_weights_(self) -> NDArray[np.float64]:
        """Mixing weights of the populations, descending. Only with populations."""

    @property
    def population_stability_(self) -> NDArray[np.float64]:
        """Stability of every population over fits of halves of the rows. Only with such fits."""

    @property
    def merge_tree_(self) -> MergeTree:
        """Tree of merged components. Only with populations."""


class DescribedMixture(DescribedModel, LabelsRows, Protocol):
    """Attributes of any mixture that a description uses."""

    n_components: int | str
