"""Table of the mixing weights of every patient or file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.data.rows.data_like import DataLike, RowVariableLike
from bigtensor.errors import ConditioningWarning, NoPopulationsError, Setting, warn
from bigtensor.models.answers.fitted_mixture import FittedMixture
from bigtensor.models.answers.group_table import (
    check_table_variable,
    require_some_group,
    warn_of_absent_weights,
)
from bigtensor.models.answers.group_weights import (
    MOST_PASSES,
    GroupWeights,
    group_weight_passes,
    is_calibrated,
    log_density_deficits,
    scaled_to_labels,
    weight_passes,
)
from bigtensor.models.contract.opening_for_answers import KnowsFeatures, open_with_groups
from bigtensor.models.contract.parameters import check_choice
from bigtensor.models.contract.run import RunOptions, RunsPasses
from bigtensor.models.contract.script import PlannedPass
from bigtensor.models.words.convergence_warning import ConvergenceWarning
from bigtensor.statistics.densities.class_densities import ClassDensities
from bigtensor.statistics.densities.group_sums import GroupSums, GroupSumsResult
from bigtensor.statistics.in_memory import sum_in_memory

_TAKEN = (
    "component",
    "population",
    "component_name",
    "population_name",
    "weight",
    "standard_error",
    "rows",
)
"""Names of the dimensions and variables of the table."""

UNLIKE_FIT = "unlike_fit"
"""Attribute of the table with a sentence on groups whose rows do not follow the densities."""

_DRAWN = 20_000
"""Rows drawn from the densities, to see how hard they let labels be, and how likely rows are."""

_LISTED = 5
"""Groups that a message lists."""


class WeighsGroups(KnowsFeatures, RunsPasses, Protocol):
    """A fitted mixture whose weights are estimated group by group."""

    diagnostics_: dict[str, Any]
    missing: str

    @property
    def population_names_(self) -> NDArray[np.object_]:
        """Names of the populations, or of the components if the model has no populations."""

    def output_attrs(self) -> dict[str, Any]:
        """Return the attributes of every labelled output."""

    def _mixture(self) -> FittedMixture:
        """Return the solution, or raise sklearn's NotFittedError."""


def weights_of_groups(
    model: WeighsGroups,
    X: DataLike,
    by: str | RowVariableLike,
    sample_weight: RowVariableLike | None,
    level: str | None,
    options: RunOptions,
) -> xr.Dataset:
    """Return the mixing weights of every group; see `MixtureAnswers.weights_by`.

    Parameters
    ----------
    model : MixtureAnswers
        Fitted mixture whose components or populations are weighed.
    X, by, sample_weight, level, options
        As for `MixtureAnswers.weights_by`.
    """
    fitted_mixture = model._mixture()
    classes = _classes_at(level, fitted_mixture)
    labelled = "component" if classes.populations is None else "population"
    samples = open_with_groups(model, X, by, sample_weight=sample_weight)
    assert samples.groups is not None
    warn_of_absent_weights(model, samples)
    groups, variable = samples.groups, samples.groups.variable
    check_table_variable(variable, _TAKEN)
    script = group_weight_passes(classes, len(groups.names), variable)
    planned = _planned_passes(classes, len(groups.names), variable)
    fitted: GroupWeights = model.run_passes(samples, script, planned, **options).result
    kept = fitted.sums.mass.sum(axis=1) > 0
    require_some_group(kept, variable)
    if fitted.unsettled:
        message = (
            f"the weights of {fitted.unsettled} of {kept.sum()} groups of {variable!r} still "
            f"moved after {MOST_PASSES} passes, because their components hardly differ; use "
            + Setting("level", "population")
            + ", or fit fewer components"
        )
        warn(message, ConvergenceWarning)
    method = "maximum likelihood"
    drawn = _drawn_sums(classes, fitted_mixture)
    unlike = ""
    # rows with gaps lack the densities of some features, and cannot be compared with whole rows
    if model.missing != "marginalise":
        deficits = log_density_deficits(fitted, _class_means(drawn.log_density, drawn.rows))
        unlike = _unlike_fit(deficits, groups.labels)
    if unlike:
        warn(unlike, ConditioningWarning)
    if not is_calibrated(fitted, _class_means(drawn.certainty, drawn.rows), _DRAWN):
        fitted = scaled_to_labels(fitted)
        method += ", scaled to the labels of all rows"
    attrs = {
        **model.output_attrs(),
        "method": method,
        "rows_without": fitted.sums.rows_without,
    }
    if unlike:
        attrs[UNLIKE_FIT] = unlike
    table = _table(fitted, kept, groups.labels, (variable, labelled)).assign_attrs(attrs)
    if labelled == "component" and fitted_mixture.populations is not None:
        return table
    return table.assign_coords({f"{labelled}_name": (labelled, model.population_names_)})


def _classes_at(level: str | None, fitted: FittedMixture) -> ClassDensities:
    """Return the densities of the components, or of populations where these are asked for."""
    if level is not None:
        check_choice("level", level, ("population", "component"))
    populations = None if fitted.populations is None else fitted.populations.of_component
    if level == "population" and populations is None:
        raise NoPopulationsError(
            "this model has no populations; fit it with "
            + Setting("n_populations")
            + ", or use "
            + Setting("level", "component")
        )
    mixture = fitted.likelihood_mixture()
    return ClassDensities(mixture, None if level == "component" else populations)


def _drawn_sums(classes: ClassDensities, fitted: FittedMixture) -> GroupSumsResult:
    """Return the sums over rows drawn from every class."""
    values, label = fitted.draw(_DRAWN, np.random.default_rng(0))
    block = Block(values, fitted.slices, 0, _DRAWN)
    of_class = label if classes.populations is None else classes.populations[label]
    statistic = GroupSums(classes, classes.n_classes)
    return sum_in_memory(statistic, replace(block, group=of_class))


def _class_means(sums: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of every class, or of all rows for a class from which none was drawn."""
    mean = np.full(len(sums), sums.sum() / rows.sum())
    np.divide(sums, rows, out=mean, where=rows > 0)
    return mean


def _unlike_fit(deficits: NDArray[np.float64], labels: NDArray[Any]) -> str:
    """Return a sentence on the groups whose rows do not follow the densities; empty for none."""
    far = np.flatnonzero(deficits)
    if not far.size:
        return ""
    names = ", ".join(
        f"{labels[group]} ({deficits[group]:.1f})" for group in far[:_LISTED].tolist()
    )
    more = f" and {far.size - _LISTED:,} more" if far.size > _LISTED else ""
    return (
        "rows of these groups are less likely under the densities of the fit than rows of their "
        f"populations should be, in nats a row: {names}{more}; their shares may be wrong by many "
        "standard errors and contradict the labels, so check that gains (voltages), transform and "
        "compensation are those of the fit"
    )


def _planned_passes(classes: ClassDensities, n_groups: int, variable: str) -> list[PlannedPass]:
    """Return upper bounds of the passes."""
    passes = weight_passes(classes, np.ones((n_groups, classes.n_classes)), variable)
    return [
        PlannedPass(pass_, times) for pass_, times in zip(passes, (1, MOST_PASSES - 1), strict=True)
    ]


def _table(
    fitted: GroupWeights,
    kept: NDArray[np.bool_],
    labels: NDArray[Any],
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
        {dims[0]: labels[kept]},
    )
