"""Section of a report on the samples: shares of populations, a map, and groups of samples."""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from bigtensor.abundance.differential import differential_abundance, group_samples
from bigtensor.abundance.natural_order import natural_order
from bigtensor.abundance.sample_table import SampleTable, listed
from bigtensor.models.words.label_level import LabelLevel
from bigtensor.models.words.report_blocks import Block, Group, Section, Table, Words
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
    """

    samples: SampleTable
    by: str
    adjust: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


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


def _comparison(weights: xr.Dataset, level: LabelLevel, groups: SampleGroups) -> list[Block]:
    """Return the shares by group, with the false discovery rates of their differences."""
    result = differential_abundance(
        weights, groups.samples, groups.by, adjust=groups.adjust, groups=groups.groups
    )
    words = (
        f"A dot is a sample, with the standard error of its share. FDR is the false discovery rate "
        f"of a change of the {level.name} with {groups.by}, of which a value below 0.05 usually "
        f"counts as a finding. The {level.name}s with the smallest values come first. Numbers that "
        f"would cover each other, such as doses, stand at equal distances. {_compared(result)}"
    )
    figure = shares_by_group(weights, groups.samples, groups.by, result=result)
    return [Group((Words(words), figure), f"Change with {groups.by}")]


def _compared(result: xr.Dataset) -> str:
    """Return what was compared, adjusted for and left out."""
    by, adjusted = result.attrs["compared"], result.attrs["adjusted_for"]
    without = result.attrs["samples_without"]
    words = f"{result.attrs['samples_compared']} samples were compared"
    if sizes := group_samples(result):
        words += f" ({listed(f'{group}: {count}' for group, count in sizes.items())})"
    words += (
        f", adjusted for {listed(adjusted)}."
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
