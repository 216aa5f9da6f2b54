"""Differential abundance: populations whose shares change with a condition of the samples."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.abundance.condition_warnings import (
    warn_of_numbered_names,
    warn_of_single_samples,
)
from bigtensor.abundance.design_matrix import Condition, complete_samples, design_matrix
from bigtensor.abundance.false_discovery import adjusted_p_values
from bigtensor.abundance.moderated_tests import coefficient_tests, fit_populations
from bigtensor.abundance.sample_table import SamplesLike, sample_table
from bigtensor.abundance.sample_weights import SampleWeights, WeightsLike, sample_weights
from bigtensor.abundance.working_logits import LEAST_CELLS
from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, ParameterError, Setting

CONFIDENCE = 0.95
"""Level of confidence intervals."""


def differential_abundance(
    weights: WeightsLike,
    samples: SamplesLike,
    by: str,
    *,
    adjust: str | Sequence[str] = (),
    groups: Collection[str] = (),
    reference: str | float | None = None,
) -> xr.Dataset:
    """Test which populations change their share with a condition of the samples.

    The logit of the weight of a population follows a linear model in the condition. Its variance
    is the sampling variance of the weight plus a variance between samples, which is estimated by
    restricted likelihood and moderated over populations.

    Parameters
    ----------
    weights : Dataset or path
        Weights of the populations in every sample with standard errors, from `weights_by` of a
        model. A path names the CSV file of ``bigtensor predict --by --table``. Counts of other
        programs are weights by `bigtensor.abundance.sample_weights.weights_of_counts`.
    samples : path, DataFrame or mapping
        Table of samples, such as a CSV file. The first column has the names of the samples, with or
        without the ending ``.fcs``. Other columns are conditions.
    by : str
        Column to compare. Texts are groups. Numbers are a covariate with a slope, unless `groups`
        or `reference` makes groups of them.
    adjust : str or sequence of str, optional
        Columns of further conditions, such as the batch, or the patient of paired samples. Patients
        and batches that are numbers have to be in `groups` too.
    groups : collection of str, optional
        Columns of numbers whose values are groups, such as a few concentrations.
    reference : str or number, optional
        Group of `by` that the others are compared with. By default the first one in natural order.
        With a reference, numbers are groups.

    Returns
    -------
    Dataset
        Along ``population`` (the level of `weights`): ``p_value`` of the F test that no contrast
        differs from zero, ``false_discovery_rate`` after Benjamini and Hochberg (1995),
        ``statistic``, ``degrees_of_freedom``, and ``between_sample_deviation``, the standard
        deviation of logits between samples. Along ``contrast`` too: ``log_odds_ratio`` (natural
        logarithm), ``standard_error``, ``lower`` and ``upper`` (ends of its 95 % confidence
        interval), ``contrast_p_value`` and ``contrast_false_discovery_rate``. An end is infinite if
        a group has no cell of the population. Slopes along numbers have finite ends. Of groups,
        ``group_weight`` (population, group) has the mean weight over the samples of each group, and
        ``group_samples`` their number.
        Populations without a row in any sample are NaN.
        The attribute ``adjusted_as_numbers`` names the columns of `adjust` that are numbers, each
        with one slope. The attributes ``samples_compared`` and ``samples_without`` count and name
        samples that were used, and that lack a value in one of the columns.
        ``samples_uninformative`` names samples that were used and add nothing, such as the only one
        of a batch that is adjusted for.

    Raises
    ------
    DataError
        When samples have no row in the table, when a column is missing or has one value only, or
        when there are too few samples.
    ParameterError
        When `reference` is no value of `by`, or `groups` names a column that is not used.

    Warns
    -----
    ConditioningWarning
        When whole numbers look like names of patients or batches, a few texts make groups of a
        column of numbers, names of groups differ in capital letters or spaces alone, or a group
        that is compared has one sample.
    MissingValueWarning
        When a text such as "NA" counts as a missing value.

    Notes
    -----
    Shares of a sample sum to one: if one population grows, all others shrink. Populations with the
    largest odds ratios are the ones to look at first.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtensor.abundance.sample_weights import weights_of_counts
    >>> counts = [[900, 80, 20], [880, 95, 25], [910, 75, 15], [880, 40, 80], [850, 52, 98]]
    >>> names = ["a1", "a2", "a3", "b1", "b2"]
    >>> weights = weights_of_counts(counts, names, ["B", "T", "NK"])
    >>> samples = {"sample": names, "treatment": ["none", "none", "none", "drug", "drug"]}
    >>> result = differential_abundance(weights, samples, "treatment", reference="none")
    >>> bool(result["false_discovery_rate"].sel(population="NK") < 0.05)
    True
    """
    groups = (groups,) if isinstance(groups, str) else groups
    adjust = (adjust,) if isinstance(adjust, str) else tuple(adjust)
    check_columns(by, adjust, groups)
    table = sample_weights(weights)
    if len(table.populations) < 2 and table.is_whole:
        raise DataError("there is one population only, whose share is one in every sample")
    matched = sample_table(samples).matched(table.samples)
    kept = complete_samples(matched, [by, *adjust])
    matched.warn_of_missing(dict.fromkeys([by, *adjust]))
    without = [name for place, name in enumerate(table.samples) if place not in set(kept)]
    table = table.of_samples(kept)
    matched = matched.matched(table.samples)
    design = design_matrix(
        matched, by, adjust, groups, None if reference is None else str(reference)
    )
    numbers = [entry for entry in design.further if not entry.groups]
    for entry in numbers:
        warn_of_numbered_names(entry.name, entry.values)
    uninformative = design.uninformative
    codes = np.where(uninformative, -1, design.condition.codes)
    warn_of_single_samples(
        matched, by, design.condition.groups, codes, by_default=reference is None
    )
    result = _tested(table, design.matrix, design.tested, design.condition)
    return result.assign_attrs(
        compared=by,
        adjusted_for=list(adjust),
        adjusted_as_numbers=[entry.name for entry in numbers],
        samples_compared=len(kept),
        samples_without=without,
        samples_uninformative=[table.samples[place] for place in np.flatnonzero(uninformative)],
    )


def check_columns(by: str, adjust: Sequence[str], groups: Collection[str]) -> None:
    """Raise a ParameterError for columns that cannot be compared together.

    Parameters
    ----------
    by, adjust, groups
        As for `differential_abundance`.
    """
    if not isinstance(by, str):
        raise ParameterError(Setting("by") + f" is {by!r}; expected the name of one column")
    if by in adjust:
        raise ParameterError(
            f"{by} cannot be compared and adjusted for; leave it out of " + Setting("adjust")
        )
    unused = [name for name in groups if name not in (by, *adjust)]
    if unused:
        raise ParameterError(
            Setting("groups")
            + f" has columns that the comparison does not use: {', '.join(unused)}; add them to "
            + Setting("adjust")
            + ", or leave them out"
        )


def group_samples(result: xr.Dataset) -> dict[str, int]:
    """Return the number of samples of every group; empty for a slope along numbers.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    if "group" not in result:
        return {}
    sizes = result["group_samples"].to_numpy().tolist()
    return dict(zip(map(str, result["group"].to_numpy()), sizes, strict=True))


def _tested(
    weights: SampleWeights, matrix: FloatArray, tested: slice, condition: Condition
) -> xr.Dataset:
    """Return the tests of all populations, NaN for those that no sample or every row has."""
    cells = weights.rows @ weights.weight
    present = (cells > 0) & (cells < weights.rows.sum())
    if not present.any():
        raise DataError("no population has a part of the rows; look at the weights")
    fitted = fit_populations(weights.of_populations(present), matrix)
    together = coefficient_tests(fitted, tested)
    contrasts = [
        coefficient_tests(fitted, slice(place, place + 1))
        for place in range(tested.start, tested.stop)
    ]
    p_values = np.column_stack([test.p_value for test in contrasts])
    estimates, errors, margins = (
        np.column_stack(columns) / condition.scale
        for columns in zip(
            *((test.estimate, test.standard_error, test.margin(CONFIDENCE)) for test in contrasts),
            strict=True,
        )
    )
    by_population = {
        "p_value": together.p_value,
        "false_discovery_rate": adjusted_p_values(together.p_value),
        "statistic": together.statistic,
        "degrees_of_freedom": together.degrees_of_freedom,
        "between_sample_deviation": fitted.deviations,
    }
    by_contrast = {
        "log_odds_ratio": estimates,
        "standard_error": errors,
        "lower": estimates - margins,
        "upper": estimates + margins,
        "contrast_p_value": p_values,
        "contrast_false_discovery_rate": np.column_stack([*map(adjusted_p_values, p_values.T)]),
    }
    level = weights.level
    variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {
        name: ((level, "contrast")[: values.ndim], _with_absent(values, present))
        for name, values in (by_population | by_contrast).items()
    }
    coordinates = {level: list(weights.populations), "contrast": list(condition.contrasts)}
    if condition.groups:
        members = condition.codes == np.arange(len(condition.groups))[:, None]
        samples = members.sum(axis=1)
        variables["group_weight"] = ((level, "group"), (members @ weights.weight).T / samples)
        variables["group_samples"] = (("group",), samples)
        coordinates["group"] = list(condition.groups)
        for name, end, is_open in zip(
            ("lower", "upper"), (-np.inf, np.inf), _open_ends(weights, members), strict=True
        ):
            values = variables[name][1]
            values[is_open & ~np.isnan(values)] = end
    return xr.Dataset(variables, coordinates)


def _open_ends(
    weights: SampleWeights, members: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return lower and upper ends of intervals that are infinite, (populations, contrasts) each.

    Without a cell of the population in a group, its share may be as small as one likes.
    """
    rows = members * weights.rows
    cells = rows @ weights.weight
    absent = cells < LEAST_CELLS
    alone = rows.sum(axis=1, keepdims=True) - cells < LEAST_CELLS
    return (absent[1:] | alone[:1]).T, (absent[:1] | alone[1:]).T


def _with_absent(values: FloatArray, present: np.ndarray) -> FloatArray:
    """Return values of all populations, NaN for those that are absent."""
    whole = np.full((len(present), *values.shape[1:]), np.nan)
    whole[present] = values
    return whole
