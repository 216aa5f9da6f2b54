"""Summary of a comparison for readers: changed populations, a table of all, and cautions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import xarray as xr

from bigtensor.abundance.sample_table import listed
from bigtensor.array_types import IntArray

LEVEL = 0.05
"""False discovery rate up to which a population is said to change."""

MOST_SHOWN = 20
"""Populations that a line or a table on the command line shows."""

_LARGEST_LOGARITHM = 700.0
"""Logarithm from which on numbers overflow."""


def surest_first(result: xr.Dataset) -> IntArray:
    """Return the positions of the populations, those with the smallest p values first.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    return np.argsort(result["p_value"].to_numpy(), kind="stable")


def changed_populations(result: xr.Dataset) -> list[str]:
    """Return the names of populations below the false discovery rate, the surest first.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    names = result[_level(result)].to_numpy()
    rates = result["false_discovery_rate"].to_numpy()
    return [str(names[place]) for place in surest_first(result) if rates[place] < LEVEL]


def changes_in_words(result: xr.Dataset) -> str:
    """Return how many populations change, with the names of the surest.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    changed, level = changed_populations(result), _level(result)
    names = f": {', '.join(changed[:MOST_SHOWN])}" if changed else ""
    count = f"{len(changed)} of {result.sizes[level]} {level}s"
    return f"{count} at a false discovery rate of {LEVEL:.0%}{names}"


def adjustment_in_words(result: xr.Dataset) -> str:
    """Return the further conditions, and which of them are numbers with one slope.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    numbers = result.attrs["adjusted_as_numbers"]
    return listed(
        f"{name} as a number" if name in numbers else name for name in result.attrs["adjusted_for"]
    )


def cautions(result: xr.Dataset) -> list[str]:
    """Return cautions for the reader of a comparison, sentences without their stops.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    notes = []
    if alone := result.attrs["samples_uninformative"]:
        notes.append(
            f"no other sample can be compared with {listed(alone)} where "
            f"{listed(result.attrs['adjusted_for'])} is held fixed, so that "
            f"{'it adds' if len(alone) == 1 else 'they add'} nothing to the comparison"
        )
    if changed_populations(result):
        notes.append(
            "shares sum to one: where one population grows, the shares of others shrink. Look "
            "first at odds ratios far from 1, and compare cells per volume if they were counted"
        )
    return notes


def star_legend(result: xr.Dataset) -> list[str]:
    """Return the meaning of a star beside an odds ratio, if there are several contrasts.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    if result.sizes["contrast"] < 2:
        return []
    return [
        f"a contrast at a false discovery rate of {LEVEL:.0%} among the tests of this contrast. "
        "The p value, the false discovery rate and what changed are of all contrasts together."
    ]


def summary_rows(
    result: xr.Dataset, *, most_groups: int | None = None
) -> Iterator[tuple[str, ...]]:
    """Yield the heads of a table, and its row for every population, the surest first.

    The columns are the population, its mean share in every group, its odds ratios, its p value and
    its false discovery rate.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    most_groups : int, optional
        For narrow tables. Of more groups no shares are shown, and of several contrasts the first
        ones are, without intervals.
    """
    level, contrasts = _level(result), result.sizes["contrast"]
    groups = [*map(str, result["group"].to_numpy())] if "group" in result else []
    with_interval = True
    if most_groups is not None:
        with_interval = contrasts == 1
        contrasts = min(contrasts, most_groups)
        groups = groups if len(groups) <= most_groups else []
    names = result[level].to_numpy()
    heads = [f"share in {group}" for group in groups]
    heads += [f"odds ratio {name}" for name in result["contrast"].to_numpy()[:contrasts]]
    yield (level, *heads, "p value", "false discovery rate")
    for place in surest_first(result):
        line = result.isel({level: int(place)})
        shares = line["group_weight"].to_numpy().tolist() if groups else []
        ratios = [_odds(line.isel(contrast=number), with_interval) for number in range(contrasts)]
        if result.sizes["contrast"] > 1:
            rates = line["contrast_false_discovery_rate"].to_numpy()
            ratios = [
                f"{ratio}{'*' if rate < LEVEL else ' '}"
                for ratio, rate in zip(ratios, rates, strict=False)
            ]
        tests = [_probability(float(line[name])) for name in ("p_value", "false_discovery_rate")]
        yield (str(names[place]), *(f"{share:.3%}" for share in shares), *ratios, *tests)


def _level(result: xr.Dataset) -> str:
    """Return the level of the weights, such as population."""
    return str(result["p_value"].dims[0])


def _odds(line: xr.Dataset, with_interval: bool) -> str:
    """Return an odds ratio, with its interval where there is room."""
    if math.isnan(float(line["log_odds_ratio"])):
        return "-"
    estimate, lower, upper = (
        "infinity" if logarithm > _LARGEST_LOGARITHM else f"{math.exp(logarithm):.3g}"
        for logarithm in (float(line[name]) for name in ("log_odds_ratio", "lower", "upper"))
    )
    return f"{estimate} ({lower} to {upper})" if with_interval else estimate


def _probability(value: float) -> str:
    """Return a p value or a false discovery rate."""
    return "-" if math.isnan(value) else f"{value:.2g}" if value >= 1e-4 else "< 0.0001"
