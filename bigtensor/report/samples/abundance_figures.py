"""Figures made of weights of samples and of a table of samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bigtensor.abundance.comparison_summary import surest_first
from bigtensor.abundance.design_matrix import grouped
from bigtensor.abundance.distances import classical_scaling, composition_distances
from bigtensor.abundance.exports import samples_with_conditions
from bigtensor.abundance.sample_table import SamplesLike
from bigtensor.abundance.sample_weights import SampleWeights, WeightsLike, sample_weights
from bigtensor.array_types import IntArray
from bigtensor.models.words.sample_figures import (
    NOT_RECORDED,
    GroupedShares,
    SampleMap,
    StackedBars,
)

MOST_PANELS = 12
"""Populations with a panel of their own: three rows of four."""

MOST_GROUPS = 12
"""Values of a column up to which they are groups in a figure. More of them have no legend."""


def shares_by_sample(
    weights: WeightsLike, samples: SamplesLike | None = None, by: str | None = None
) -> StackedBars:
    """Return stacked bars of shares, samples in natural order within their group.

    Parameters
    ----------
    weights, samples, by
        As for `bigtensor.differential_abundance`. Without a table there are no groups.
    """
    table, code, groups = _with_groups(weights, samples, by)
    order = np.argsort(code, kind="stable")
    table, code = table.of_samples(order), code[order]
    biggest = table.populations[int((table.rows @ table.weight).argmax())]
    return StackedBars(
        f"Shares of {len(table.populations)} {table.level}s in {len(table.samples)} samples; the "
        f"largest is {biggest}.",
        table.weight,
        table.samples,
        table.populations,
        tuple(groups[number] if number >= 0 else NOT_RECORDED for number in code) if groups else (),
        by or "",
    )


def map_of_samples(
    weights: WeightsLike, samples: SamplesLike | None = None, by: str | None = None
) -> SampleMap:
    """Return a map of samples by classical scaling of the distances of their compositions.

    Parameters
    ----------
    weights, samples, by
        As for `bigtensor.differential_abundance`. Without a table there are no groups.
    """
    table, code, groups = _with_groups(weights, samples, by)
    coordinates, explained = classical_scaling(composition_distances(table))
    return SampleMap(
        f"Map of {len(table.samples)} samples: samples of like composition are near each other.",
        coordinates,
        explained,
        table.samples,
        code,
        groups,
        by or "",
    )


def shares_by_group(
    weights: WeightsLike,
    samples: SamplesLike,
    by: str,
    *,
    result: xr.Dataset | None = None,
    populations: Sequence[str] | None = None,
) -> GroupedShares:
    """Return the shares of populations in every sample by group, or along a number.

    Parameters
    ----------
    weights, samples, by
        As for `bigtensor.differential_abundance`.
    result : Dataset, optional
        Of `bigtensor.differential_abundance`. Populations are in the order of their p values, and
        headings have the false discovery rate.
    populations : sequence of str, optional
        Populations to show. By default the first `MOST_PANELS`.
    """
    table, conditions = samples_with_conditions(weights, samples)
    column = conditions.column(by)
    without = () if result is None else result.attrs["samples_without"]
    shown = [
        place
        for place, (name, text) in enumerate(zip(table.samples, column, strict=True))
        if text and name not in without
    ]
    table, texts = table.of_samples(shown), [column[place] for place in shown]
    as_groups = result is not None and "group" in result
    code, groups, values = grouped(texts, as_groups or len(set(texts)) < 2)
    chosen = [*(populations or _by_p_value(table, result))][:MOST_PANELS]
    numbers = [table.populations.index(name) for name in chosen]
    return GroupedShares(
        f"Shares of {len(chosen)} {table.level}s in {len(texts)} samples by {by}.",
        tuple(_title(name, table.level, result) for name in chosen),
        table.weight[:, numbers],
        table.standard_error[:, numbers],
        code.astype(np.float64) if groups else values,
        groups,
        by,
        tuple(numbers),
    )


def _with_groups(
    weights: WeightsLike, samples: SamplesLike | None, by: str | None
) -> tuple[SampleWeights, IntArray, tuple[str, ...]]:
    """Return weights, and number and names of the groups; -1 for samples without one."""
    if samples is None or by is None:
        table = sample_weights(weights)
        return table, np.full(len(table.samples), -1, np.int64), ()
    table, conditions = samples_with_conditions(weights, samples)
    column = conditions.column(by)
    code, groups, _ = grouped([text for text in column if text], True)
    whole = np.full(len(column), -1, np.int64)
    if len(groups) <= MOST_GROUPS:
        whole[np.array([bool(text) for text in column], bool)] = code
        return table, whole, groups
    return table, whole, ()


def _by_p_value(table: SampleWeights, result: xr.Dataset | None) -> list[str]:
    """Return the populations, those with the smallest p values first."""
    if result is None:
        return list(table.populations)
    level = str(result["p_value"].dims[0])
    return [str(result[level].to_numpy()[place]) for place in surest_first(result)]


def _title(name: str, level: str, result: xr.Dataset | None) -> str:
    """Return the heading of a panel."""
    title = f"{level} {name}" if name.isdigit() else name
    if result is None:
        return title
    rate = float(result["false_discovery_rate"].sel({str(result["p_value"].dims[0]): name}))
    if np.isnan(rate):
        return title
    return f"{title}\nFDR {rate:.2g}" if rate >= 1e-4 else f"{title}\nFDR < 0.0001"
