"""A comparison in words: which populations change, and a small table."""

from __future__ import annotations

import math
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.abundance.differential import group_samples

if TYPE_CHECKING:
    import xarray as xr

LEVEL = 0.05
"""False discovery rate up to which a population is said to change."""

MOST_ROWS, MOST_GROUPS = 20, 4
"""Populations and groups that are shown. The file holds all."""

_LARGEST_LOGARITHM = 700.0
"""Logarithm from which on numbers overflow."""


def comparison_facts(result: xr.Dataset) -> dict[str, Any]:
    """Return a comparison as ``--json`` prints it.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    level = str(result["p_value"].dims[0])
    populations = []
    for name in result[level].to_numpy():
        line = result.sel({level: name})
        entry: dict[str, Any] = {"name": str(name)}
        entry |= {
            variable: float(line[variable])
            for variable in ("p_value", "false_discovery_rate", "between_sample_deviation")
        }
        if "group" in line:
            entry["shares"] = dict(
                zip(
                    map(str, line["group"].to_numpy()),
                    line["group_weight"].to_numpy().tolist(),
                    strict=True,
                )
            )
        entry["contrasts"] = [
            {"contrast": str(contrast)}
            | {
                str(variable): float(line[variable].sel(contrast=contrast))
                for variable in line
                if "contrast" in line[variable].dims
            }
            for contrast in line["contrast"].to_numpy()
        ]
        populations.append(entry)
    return {
        "compared": result.attrs["compared"],
        "adjusted_for": result.attrs["adjusted_for"],
        "samples": result.attrs["samples_compared"],
        "group_samples": group_samples(result),
        "samples_without": result.attrs["samples_without"],
        "level": level,
        "populations": populations,
        "changed": changed_populations(result),
    }


def changed_populations(result: xr.Dataset) -> list[str]:
    """Return the names of populations below the false discovery rate, the surest first.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    level = str(result["p_value"].dims[0])
    rates = result["false_discovery_rate"].to_numpy()
    order = np.argsort(result["p_value"].to_numpy(), kind="stable")
    return [str(result[level].to_numpy()[place]) for place in order if rates[place] < LEVEL]


def comparison_in_words(result: xr.Dataset) -> str:
    """Return which populations change, and a table of the surest ones.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    level = str(result["p_value"].dims[0])
    by, adjusted = result.attrs["compared"], result.attrs["adjusted_for"]
    changed, count = changed_populations(result), result.sizes[level]
    names = f": {', '.join(changed[:MOST_ROWS])}" if changed else ""
    also = f", adjusted for {', '.join(adjusted)}" if adjusted else ""
    lines = [
        f"compared   {by} in {result.attrs['samples_compared']} samples{_sizes(result)}{also}",
        f"changed    {len(changed)} of {count} {level}s at a false discovery rate of "
        f"{LEVEL:.0%}{names}",
    ]
    if result.attrs["samples_without"]:
        without = ", ".join(result.attrs["samples_without"][:MOST_ROWS])
        lines.append(f"left out   {without}: no value of {', '.join([by, *adjusted])}")
    if "group" not in result:
        lines.append(f"note       --groups {by} compares the values of {by} as groups")
    lines += [
        f"note       {name} is adjusted for as a number; with --groups {name} as names, such as "
        "those of patients"
        for name in result.attrs["adjusted_as_numbers"]
    ]
    if result.sizes["contrast"] > 1:
        lines.append(
            f"* a contrast at a false discovery rate of {LEVEL:.0%} among the tests of this "
            "contrast. The line 'changed' tests all contrasts of a population together."
        )
    if count > MOST_ROWS:
        lines.append(f"shown      {MOST_ROWS} of {count} {level}s, the surest first")
    return "\n".join([*lines, *_table(result, level)])


def _sizes(result: xr.Dataset) -> str:
    """Return the numbers of samples of the groups in words."""
    listing = [f"{group}: {count}" for group, count in group_samples(result).items()]
    more = f" and {len(listing) - MOST_ROWS} more groups" if len(listing) > MOST_ROWS else ""
    return f" ({', '.join(listing[:MOST_ROWS])}{more})" if listing else ""


def _table(result: xr.Dataset, level: str) -> list[str]:
    """Return the lines of the table: mean shares, odds ratios and false discovery rates."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    shown.add_column(level, no_wrap=True)
    groups = [*map(str, result["group"].to_numpy())] if "group" in result else []
    groups = groups if len(groups) <= MOST_GROUPS else []
    contrasts = [*map(str, result["contrast"].to_numpy())][:MOST_GROUPS]
    heads = [f"share in {group}" for group in groups]
    heads += [f"odds ratio {contrast}" for contrast in contrasts]
    for head in (*heads, "false discovery rate"):
        shown.add_column(head, justify="right")
    order = np.argsort(result["p_value"].to_numpy(), kind="stable")[:MOST_ROWS]
    for place in order:
        line = result.isel({level: int(place)})
        cells = [f"{line['group_weight'].sel(group=group):.3%}" for group in groups]
        cells += [_odds(line.sel(contrast=name), len(contrasts) == 1) for name in contrasts]
        shown.add_row(str(line[level].item()), *cells, _rate(float(line["false_discovery_rate"])))
    text = StringIO()
    Console(file=text, width=160, markup=False, highlight=False, emoji=False).print(shown)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _odds(line: xr.Dataset, with_interval: bool) -> str:
    """Return an odds ratio, with its interval or with a star if the contrast is sure."""
    if math.isnan(float(line["log_odds_ratio"])):
        return "-"
    estimate, lower, upper = (
        "infinity" if logarithm > _LARGEST_LOGARITHM else f"{math.exp(logarithm):.3g}"
        for logarithm in (float(line[name]) for name in ("log_odds_ratio", "lower", "upper"))
    )
    if with_interval:
        return f"{estimate} ({lower} to {upper})"
    return f"{estimate}{'*' if line['contrast_false_discovery_rate'] < LEVEL else ' '}"


def _rate(value: float) -> str:
    """Return a false discovery rate."""
    return "-" if math.isnan(value) else f"{value:.2g}" if value >= 1e-4 else "< 0.0001"
