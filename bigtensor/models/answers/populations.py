"""Populations: groups of components that share their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import ParameterError, Setting


@dataclass(frozen=True, eq=False)
class Populations:
    """A tree of merged components, and where it is cut.

    Attributes
    ----------
    tree : MergeTree
        Merges of components, from the first to the last.
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
                Setting("n_populations")
                + f" is {n_populations}, but there are {tree.n_components} components to merge; "
                "use fewer populations or more components"
            )
        count = tree.cut_automatically() if isinstance(n_populations, str) else n_populations
        of_component = tree.cut(count)
        weights = np.bincount(of_component, weights=tree.weights, minlength=count)
        return cls(tree, of_component, weights / weights.sum(), temperature)
