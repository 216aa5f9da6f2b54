"""Two levels of answers: components, and the populations that they were merged into."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.component_merging import MergeTree
from bigtensor.errors import NoPopulationsError
from bigtensor.models.kernel_mixture.populations import Populations
from bigtensor.models.mixture import LatentMixture
from bigtensor.models.parameters import check_choice, check_integer

LEVELS = ("population", "component")


class TwoLevelMixture(LatentMixture):
    """A mixture whose components may have been merged into populations."""

    weights_: NDArray[np.float64]
    _populations: Populations | None

    @property
    def population_of_component_(self) -> NDArray[np.intp]:
        """The population of every component: ``(k,)``; where populations were asked for."""
        return self._require_populations().of_component

    @property
    def population_weights_(self) -> NDArray[np.float64]:
        """Mixing weights of the populations, descending; where populations were asked for."""
        return self._require_populations().weights

    @property
    def merge_tree_(self) -> MergeTree:
        """How components were merged, step by step; where populations were asked for."""
        return self._require_populations().tree

    def cut_populations(self, n_populations: int | str) -> Self:
        """Cut the tree of components elsewhere, without another fit.

        Parameters
        ----------
        n_populations : int or "auto"

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            When there are fewer components, or components were not merged.
        """
        found = self._require_populations()
        if n_populations != "auto":
            check_integer("n_populations", n_populations, 1, len(self.weights_))
        self._populations = Populations.cut(found.tree, n_populations, found.temperature)
        return self

    def predict(self, X: Any, level: str | None = None) -> Any:
        """Return the most probable population, or component, of every row.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        level : {"population", "component"}, optional
            By default populations where there are any.

        Returns
        -------
        (rows,) int32 array, DataArray or dask array
            The kind of container that ``X`` is, lazy where ``X`` is; -1 for rows left out.
        """
        return self._evaluate(X, self._output("label", "component_label", level))

    def predict_proba(self, X: Any, level: str | None = None) -> Any:
        """Return the posterior probability of every population, or component.

        Probabilities of populations are broader than the sums of those of their components where
        features depend on each other within components, see
        ``diagnostics_["probability_temperature"]``. Labels are the same.

        Parameters
        ----------
        X : path, xarray, dask array or array-like
            As for `fit`.
        level : {"population", "component"}, optional
            By default populations where there are any.

        Returns
        -------
        (rows, populations or components) float32 array, DataArray or dask array
        """
        return self._evaluate(X, self._output("probability", "component_probability", level))

    def _output(self, plain: str, of_component: str, level: str | None) -> str:
        """Return the name of an output at a level."""
        self._require_fitted()
        if level is not None:
            check_choice("level", level, LEVELS)
        if level == "population":
            self._require_populations()
        return of_component if level == "component" and self._populations is not None else plain

    def _require_populations(self) -> Populations:
        """Return the populations, or say that there are none."""
        self._require_fitted()
        if self._populations is None:
            raise NoPopulationsError(
                "this model has no populations; fit it with n_populations, so that its components "
                "are merged"
            )
        return self._populations
