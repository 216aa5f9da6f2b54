"""Section of a report on the samples: shares of populations, a map, and groups of samples."""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from bigtensor.abundance.comparison_summary import (
    adjustment_in_words,
    cautions,
    changes_in_words,
    star_legend,
    summary_rows,
    surest_first,
)
from bigtensor.abundance.differential import differential_abundance, group_samples
from bigtensor.abundance.natural_order import natural_order
from bigtensor.abundance.sample_table import SampleTable, listed
from bigtensor.models.answers.weights_by import UNLIKE_FIT
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.report_blocks import (
    Block,
    Cell,
    Group,
    Notice,
    Section,
    Table,
    Words,
)
from bigtensor.report.samples.abundance_figures import (
    map_of_samples,
    shares_by_group,
    shares_by_sample,
)
from bigtensor.report.tables import composition_table

LEAST_MAPPED = 3
"""Samples from which on a map of them says more than their shares."""


@dataclass(frozen=True, eq=False)
class SampleGroups:
    """Condition of the samples that a report compares.

    Attributes
    ----------
    samples : SampleTable
        Conditions of the samples.
    by : str
        Column of the table.
    adjust : tuple of str
        Columns of further conditions.
    groups : tuple of str
        Columns of numbers whose values are groups.
    reference : str or number, optional
        Group that the others are compared with.
    """

    samples: SampleTable
    by: str
    adjust: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    reference: str | float | None = None


def sample_section(
    weights: xr.Dataset, level: LabelLevel, groups: SampleGroups | None = None
) -> Section:
    """Return the section on the samples.

    Parameters
    ----------
    weights : Dataset
        From `weights_by`, at the level of the labels.
    level : LabelLevel
        Level of the labels.
    groups : SampleGroups, optional
        Condition to compare samples by.
    """
    conditions = () if groups is None else (groups.samples, groups.by)
    lead = Words(
        f"Share of every {level.name} in every sample. A share is a mixing weight, which counts "
        "the probabilities of all rows."
    )
    figures: list[Block] = [shares_by_sample(weights, *conditions)]
    if weights.sizes["sample_id"] >= LEAST_MAPPED and level.count > 1:
        figures.append(map_of_samples(weights, *conditions))
    blocks: list[Block] = [lead, Group(tuple(figures), layout="halves")]
    if groups is not None:
        blocks += _comparison(weights, level, groups)
    blocks.append(Group((_table(weights, level),), "All weights, with standard errors", "folded"))
    return Section("samples", "Composition of every sample", tuple(blocks), "Samples")


def unlike_notices(weights: xr.Dataset) -> list[Notice]:
    """Return a warning of samples whose rows do not follow the densities of the fit.

    Parameters
    ----------
    weights : Dataset
        From `weights_by`.
    """
    sentence = weights.attrs.get(UNLIKE_FIT)
    if sentence is None:
        return []
    return [Notice("warning", f"{sentence[0].upper()}{sentence[1:]}.")]


def _comparison(weights: xr.Dataset, level: LabelLevel, groups: SampleGroups) -> list[Block]:
    """Return the changed populations, a table of odds ratios, and the shares by group."""
    result = differential_abundance(
        weights,
        *(groups.samples, groups.by),
        adjust=groups.adjust,
        groups=groups.groups,
        reference=groups.reference,
    )
    sentences = [_compared(result), f"Changed: {changes_in_words(result)}."]
    sentences += [f"{caution[0].upper()}{caution[1:]}." for caution in cautions(result)]
    figure = shares_by_group(weights, groups.samples, groups.by, result=result)
    blocks = (
        Words(" ".join(sentences)),
        _odds_ratios(result, level),
        Words(_dots(result, level)),
        figure,
    )
    return [Group(blocks, f"Change with {groups.by}")]


def _odds_ratios(result: xr.Dataset, level: LabelLevel) -> Table:
    """Return the table that ``bigtensor compare`` prints, with intervals of all contrasts."""
    head, *rows = summary_rows(result)
    order = surest_first(result).tolist()
    other = "group than in the reference" if "group" in result else "sample with a larger value"
    caption = (
        f"An odds ratio above 1 says that the share of the {level.name} is larger in the {other}, "
        "below 1 that it is smaller. Its 95 % confidence interval is in brackets."
    )
    if "group" in result:
        caption += " The share in a group is the mean of its samples."
    return Table(
        head,
        tuple(
            (
                Cell(level.numbered_names[place], colour=place),
                *(Cell(text.strip()) for text in row[1:]),
            )
            for place, row in zip(order, rows, strict=True)
        ),
        " ".join([caption, *(f"A star is {legend}" for legend in star_legend(result))]),
    )


def _dots(result: xr.Dataset, level: LabelLevel) -> str:
    """Return the explanation of the figure of shares by group."""
    words = (
        f"A dot is a sample, with the standard error of its share. FDR is the false discovery rate "
        f"of a change of the {level.name} with {result.attrs['compared']}. The {level.name}s with "
        "the smallest values come first."
    )
    if "group" not in result:
        return (
            f"{words} Numbers that would cover each other, such as doses, stand at equal distances."
        )
    words += " The black line is the median of the shares of a group"
    adjusted = result.attrs["adjusted_for"]
    return words + (f", which are not adjusted for {listed(adjusted)}." if adjusted else ".")


def _compared(result: xr.Dataset) -> str:
    """Return the numbers of samples, the further conditions, and the samples that were left out."""
    by, adjusted = result.attrs["compared"], result.attrs["adjusted_for"]
    without = result.attrs["samples_without"]
    words = f"{result.attrs['samples_compared']} samples were compared"
    if sizes := group_samples(result):
        words += f" ({listed(f'{group}: {count}' for group, count in sizes.items())})"
    words += (
        f", adjusted for {adjustment_in_words(result)}."
        if adjusted
        else " without adjustment for further conditions."
    )
    if without:
        words += f" Left out without a value of {listed([by, *adjusted])}: {listed(without)}."
    return words


def _table(weights: xr.Dataset, level: LabelLevel) -> Table:
    """Return the weights of all samples in natural order."""
    names = [str(name) for name in weights["sample_id"].values]
    order = natural_order(names)
    return composition_table(
        [names[place] for place in order],
        weights["rows"].to_numpy()[order],
        weights["weight"].to_numpy()[order],
        weights["standard_error"].to_numpy()[order],
        level.name,
        columns=level.numbered_names,
        method=weights.attrs["method"],
    )
