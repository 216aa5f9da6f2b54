"""Tables of samples and of comparisons as rows of cells, the first row with names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import xarray as xr

from bigtensor.abundance.sample_table import SampleTable
from bigtensor.abundance.sample_weights import SampleWeights

Cell: TypeAlias = "str | int | float"
"""Text or number."""

Rows: TypeAlias = list[list[Cell]]
"""Rows of cells."""


def share_rows(weights: SampleWeights, samples: SampleTable) -> Rows:
    """Return expected counts and shares, one row for every population of every sample.

    Parameters
    ----------
    weights : SampleWeights
        Of n samples.
    samples : SampleTable
        Conditions of the same samples in the same order.
    """
    counts = weights.counts()
    head = [weights.by, *samples.columns, "rows", weights.level]
    table: Rows = [[*head, "estimated_count", "share", "standard_error"]]
    for place, sample in enumerate(weights.samples):
        conditions: Sequence[Cell] = [values[place] for values in samples.columns.values()]
        for number, population in enumerate(weights.populations):
            table.append(
                [
                    *(sample, *conditions, int(weights.rows[place]), population),
                    int(counts[place, number]),
                    float(weights.weight[place, number]),
                    float(weights.standard_error[place, number]),
                ]
            )
    return table


def comparison_rows(result: xr.Dataset) -> Rows:
    """Return the result of a comparison, one row for every contrast of every population.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    level = str(result["p_value"].dims[0])
    groups = [f"share_{name}" for name in result["group"].to_numpy()] if "group" in result else []
    of_contrast = [
        *("log_odds_ratio", "standard_error", "lower", "upper"),
        *("contrast_p_value", "contrast_false_discovery_rate"),
    ]
    of_population = ["p_value", "false_discovery_rate", "between_sample_deviation"]
    table: Rows = [[level, "contrast", "odds_ratio", *of_contrast, *of_population, *groups]]
    for population in result[level].to_numpy():
        line = result.sel({level: population})
        shared = [float(line[name]) for name in of_population]
        shares = line["group_weight"].to_numpy().tolist() if groups else []
        for contrast in result["contrast"].to_numpy():
            values = [float(line[name].sel(contrast=contrast)) for name in of_contrast]
            ratio = float(np.exp(values[0]))
            table.append([str(population), str(contrast), ratio, *values, *shared, *shares])
    return table
