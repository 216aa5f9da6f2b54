"""The mixing weights of every patient or file: a table ready for statistics."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Unpack

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.errors import DataError, NoPopulationsError, ParameterError
from bigtensor.models.answers import is_named
from bigtensor.models.base import LatentVariableModel, open_samples
from bigtensor.models.parameters import check_choice
from bigtensor.models.run_options import RunOptions
from bigtensor.statistics.base import Pass
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.group_sums import GroupSums
from bigtensor.statistics.row_functions import Responsibilities

_TAKEN = ("component", "population", "weight", "rows")
"""Names of the dimensions and variables of the table."""


class WeightsByGroup(LatentVariableModel):
    """The part of a mixture that answers for groups of rows."""

    @abstractmethod
    def _row_function(self, outputs: tuple[str, ...]) -> Responsibilities:
        """Return the function that answers for every row."""

    def weights_by(
        self,
        X: Any,
        by: Any = "sample_id",
        *,
        level: str | None = None,
        **options: Unpack[RunOptions],
    ) -> xr.Dataset:
        """Return the mixing weights of every patient, file or other group of rows, in one pass.

        The weights of a group are the mean posterior probabilities of its rows. Posteriors know
        the weights of all rows together, so that the mean lies a little nearer to these than the
        group's own proportions do: by the part of its rows that the densities do not tell apart.
        Where components are well separated, that is nothing.

        Parameters
        ----------
        X : path, xarray, dask array or array-like, or a list of these
            As for `fit`.
        by : str, or (rows,) array-like, default "sample_id"
            A variable of ``X`` along the samples: integer codes with the attribute ``categories``,
            or names, strings or numbers. In several data sets, groups of the same name are one
            group. For data in memory also the group of every row. Negative codes, NaN and empty
            strings stand for none.
        level : {"population", "component"}, optional
            By default populations where there are any.
        **options
            As for `fit`: ``client``, ``scheduler``, ``workers``, ``memory_limit``, ``checkpoint``,
            ``listeners``.

        Returns
        -------
        Dataset
            ``weight`` (by, component or population) float64, every row of which sums to one, and
            ``rows`` (by,) int64, with the names of the groups as the coordinate ``by`` in the order
            of the categories; groups without a row, or whose rows all have the weight zero, are
            left out. The attribute ``rows_without`` counts rows without a group.

        Raises
        ------
        DataError
            When there is no such variable, it is a measurement, or no row can be used.
        ParameterError, PlanError, ClusterError
            See `bigtensor.errors`; every message names what would help.

        Examples
        --------
        >>> from bigtensor import KernelMixture, simulate
        >>> cells = simulate.cytometry(5000, 3, samples=2, random_state=1)
        >>> model = KernelMixture(3, random_state=0).fit(cells)
        >>> model.weights_by(cells)["weight"].dims
        ('sample_id', 'component')
        """
        self._require_fitted()
        mixture, populations = self._at_level(level)
        samples = open_samples(X, sample_dim=self.sample_dim, groups=by)
        assert samples.groups is not None
        variable, names = samples.groups.variable, samples.groups.names
        if variable in _TAKEN:
            raise ParameterError(
                f"{variable!r} is a name within the table itself; rename the variable"
            )
        # features by name or by position, as for every other answer
        samples = samples.with_views(self._open_again(samples if is_named(X) else X).views)
        pass_ = Pass(f"weights by {variable}", GroupSums(mixture, len(names)))
        sums = self._one_pass(samples, pass_, options).result
        level = "component" if populations is None else "population"
        mass = sums.mass if populations is None else _merged(sums.mass, populations)
        attrs = {**self._output_attrs(), "rows_without": sums.rows_without}
        return _table(mass, sums.rows, names, (variable, level)).assign_attrs(attrs)

    def _at_level(self, level: str | None) -> tuple[MixtureDensities, NDArray[np.intp] | None]:
        """Return the mixture, and the population of every component where these are asked for."""
        if level is not None:
            check_choice("level", level, ("population", "component"))
        function = self._row_function(("label",))
        if level == "population" and function.populations is None:
            raise NoPopulationsError(
                "this model has no populations; fit it with n_populations, or use level='component'"
            )
        return function.mixture, None if level == "component" else function.populations


def _table(
    mass: NDArray[np.float64],
    rows: NDArray[np.int64],
    names: tuple[str, ...],
    dims: tuple[str, str],
) -> xr.Dataset:
    """Return the weights of the groups that have any, with their names."""
    total = mass.sum(axis=1)
    kept = total > 0
    if not kept.any():
        raise DataError(
            f"no row with a group in {dims[0]!r} and a positive weight is left; look at the "
            "variable, the weights and the missing values"
        )
    return xr.Dataset(
        {"weight": (dims, mass[kept] / total[kept, None]), "rows": (dims[:1], rows[kept])},
        {dims[0]: np.array(names, dtype=str)[kept]},
    )


def _merged(mass: NDArray[np.float64], populations: NDArray[np.intp]) -> NDArray[np.float64]:
    """Add up the components of every population."""
    merged = np.zeros((populations.max() + 1, len(mass)))
    np.add.at(merged, populations, mass.T)
    return merged.T
