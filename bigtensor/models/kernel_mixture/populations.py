"""Populations: groups of components that share their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.merge_tree import MergeTree
from bigtensor.errors import ParameterError

_TREE = "merge_tree_"
"""Before the names of the arrays of the tree."""

_TEMPERATURE = "population_temperature"


@dataclass(frozen=True, eq=False)
class Populations:
    """A tree of merged components, and where it is cut.

    Attributes
    ----------
    tree : MergeTree
    of_component : (k,) integer array
        The population of every component, by descending weight of the populations.
    weights : (populations,) float64 array
        Sums of the weights of the components.
    temperature : float, default 1.0
        Posterior probabilities of populations are raised to its reciprocal, and scaled.
    """

    tree: MergeTree
    of_component: NDArray[np.intp]
    weights: NDArray[np.float64]
    temperature: float = 1.0

    @classmethod
    def cut(
        cls, tree: MergeTree, n_populations: int | str, temperature: float = 1.0
    ) -> Populations:
        """Cut the tree.

        Raises
        ------
        ParameterError
            When there are fewer components than populations are wanted.
        """
        if not isinstance(n_populations, str) and n_populations > tree.n_components:
            raise ParameterError(
                f"n_populations is {n_populations}, but there are {tree.n_components} components "
                "to merge; use fewer populations or more components"
            )
        count = tree.cut_automatically() if isinstance(n_populations, str) else n_populations
        of_component = tree.cut(count)
        weights = np.bincount(of_component, weights=tree.weights, minlength=count)
        return cls(tree, of_component, weights / weights.sum(), temperature)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as named arrays."""
        return {
            "population_of_component": self.of_component,
            "population_weights": self.weights,
            _TEMPERATURE: np.array(self.temperature),
            **{_TREE + name: array for name, array in self.tree.arrays().items()},
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Populations | None:
        """Return the populations whose `arrays` are among these, if there are any."""
        if "population_of_component" not in arrays:
            return None
        tree = {
            name.removeprefix(_TREE): array
            for name, array in arrays.items()
            if name.startswith(_TREE)
        }
        return cls(
            MergeTree.from_arrays(tree),
            arrays["population_of_component"],
            arrays["population_weights"],
            # models of earlier versions have none
            float(arrays.get(_TEMPERATURE, 1.0)),
        )
