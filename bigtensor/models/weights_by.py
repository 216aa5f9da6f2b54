"""The mixing weights of every patient or file: a table ready for statistics."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.errors import DataError, NoPopulationsError, ParameterError, RefinementWarning
from bigtensor.models.answers import is_named
from bigtensor.models.base import LatentVariableModel, PassSize, open_samples
from bigtensor.models.group_weights import (
    MOST_PASSES,
    GroupWeights,
    group_weight_passes,
    is_calibrated,
    scaled_to_labels,
    weight_passes,
)
from bigtensor.models.parameters import check_choice
from bigtensor.models.run_options import RunOptions
from bigtensor.statistics.class_densities import ClassDensities
from bigtensor.statistics.densities import MixtureDensities
from bigtensor.statistics.group_sums import GroupSums
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.row_functions import Responsibilities
from bigtensor.statistics.validity import Checked

_TAKEN = ("component", "population", "weight", "standard_error", "rows")
"""Names of the dimensions and variables of the table."""

_DRAWN = 20_000
"""Rows drawn from the densities, to see how hard they let labels be."""


class WeightsByGroup(LatentVariableModel):
    """The part of a mixture that answers for groups of rows."""

    @abstractmethod
    def _row_function(self, outputs: tuple[str, ...]) -> Responsibilities:
        """Return the function that answers for every row."""

    @abstractmethod
    def _likelihood_mixture(self) -> MixtureDensities:
        """Return the densities that weights of groups are estimated under."""

    @abstractmethod
    def _drawn_block(self, rows: int) -> tuple[Block, NDArray[np.int32]]:
        """Return rows drawn from these densities, and their components."""

    def weights_by(
        self,
        X: Any,
        by: Any = "sample_id",
        *,
        level: str | None = None,
        **options: Unpack[RunOptions],
    ) -> xr.Dataset:
        """Return the mixing weights of every patient, file or other group, with standard errors.

        The weights of a group have the largest likelihood of its rows under the densities of the
        fit. They are found in two to six passes over the data: one for posterior probabilities, the
        others for Newton steps, until no step is longer than a quarter of a standard error. Groups
        that have settled are not computed again. Populations keep the proportions of their
        components.

        Where labels of the rows are clearly more or less certain than the densities let expect,
        because features depend on each other within components, every class is scaled by one
        factor for all groups, so that the weights of all rows together are the shares of labels.
        The attribute ``method`` says so. Weights of a group then depend on the other groups in
        ``X``, and those of a single group are its shares of labels.

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
            ``weight`` (by, component or population) float64, every row of which sums to one,
            ``standard_error`` of the same shape, and ``rows`` (by,) int64, with the names of the
            groups as the coordinate ``by`` in the order of the categories. Groups without a row, or
            whose rows all have the weight zero, are left out. Standard errors take rows for
            independent and densities for known. They are zero for a weight of zero, and do not hold
            for weights of a few rows. Rows with weights w count as ``(sum w)^2 / sum w^2`` rows.
            The attribute ``rows_without`` counts rows without a group.

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
        classes = self._classes_at(level)
        samples = open_samples(X, sample_dim=self.sample_dim, groups=by)
        assert samples.groups is not None
        variable, names = samples.groups.variable, samples.groups.names
        if variable in _TAKEN:
            raise ParameterError(
                f"{variable!r} is a name within the table itself; rename the variable"
            )
        # features by name or by position, as for every other answer
        samples = samples.with_views(self._open_again(samples if is_named(X) else X).views)
        script = group_weight_passes(classes, len(names), variable)
        sizes = _pass_sizes(classes, len(names), variable, samples.rows)
        fitted: GroupWeights = self._run(samples, script, sizes, **options).result
        kept = fitted.sums.mass.sum(axis=1) > 0
        if not kept.any():
            raise DataError(
                f"no row with a group in {variable!r} and a positive weight is left; look at the "
                "variable, the weights and the missing values"
            )
        if fitted.unsettled:
            message = (
                f"the weights of {fitted.unsettled} of {kept.sum()} groups of {variable!r} still "
                f"moved after {MOST_PASSES} passes, because their components hardly differ; use "
                "level='population', or fit fewer components"
            )
            warnings.warn(message, RefinementWarning, stacklevel=2)
        method = "maximum likelihood"
        if not is_calibrated(fitted, self._expected_certainty(classes), _DRAWN):
            fitted = scaled_to_labels(fitted)
            method += ", scaled to the labels of all rows"
        attrs = {
            **self._output_attrs(),
            "method": method,
            "rows_without": fitted.sums.rows_without,
        }
        level = "component" if classes.populations is None else "population"
        return _table(fitted, kept, names, (variable, level)).assign_attrs(attrs)

    def _classes_at(self, level: str | None) -> ClassDensities:
        """Return the densities of the components, or of populations where these are asked for."""
        if level is not None:
            check_choice("level", level, ("population", "component"))
        populations = self._row_function(("label",)).populations
        if level == "population" and populations is None:
            raise NoPopulationsError(
                "this model has no populations; fit it with n_populations, or use level='component'"
            )
        mixture = self._likelihood_mixture()
        return ClassDensities(mixture, None if level == "component" else populations)

    def _expected_certainty(self, classes: ClassDensities) -> NDArray[np.float64]:
        """Return the mean of the largest posterior probability over rows drawn from every class."""
        block, label = self._drawn_block(_DRAWN)
        of_class = label if classes.populations is None else classes.populations[label]
        statistic = GroupSums(classes, classes.n_classes)
        drawn = sum_in_memory(statistic, replace(block, sequence=of_class))
        overall = drawn.certainty.sum() / drawn.rows.sum()
        mean = np.full(classes.n_classes, overall)
        np.divide(drawn.certainty, drawn.rows, out=mean, where=drawn.rows > 0)
        return mean


def _pass_sizes(classes: ClassDensities, n_groups: int, variable: str, rows: int) -> list[PassSize]:
    """Return upper bounds of the passes."""
    passes = weight_passes(classes, np.ones((n_groups, classes.n_classes)), variable)
    sizes = []
    for wanted, times in zip(passes, (1, MOST_PASSES - 1), strict=True):
        checked = Checked(wanted.statistic)
        work_nbytes = checked.work_nbytes(checked.block_rows)
        sizes.append(PassSize(wanted.name, times, rows, checked.state_nbytes(), work_nbytes))
    return sizes


def _table(
    fitted: GroupWeights,
    kept: NDArray[np.bool_],
    names: tuple[str, ...],
    dims: tuple[str, str],
) -> xr.Dataset:
    """Return the weights of the groups that have any, with their names."""
    variance = np.diagonal(fitted.covariance, axis1=1, axis2=2)[kept]
    return xr.Dataset(
        {
            "weight": (dims, fitted.weights[kept]),
            "standard_error": (dims, np.sqrt(np.maximum(variance, 0.0))),
            "rows": (dims[:1], fitted.sums.rows[kept]),
        },
        {dims[0]: np.array(names, dtype=str)[kept]},
    )
