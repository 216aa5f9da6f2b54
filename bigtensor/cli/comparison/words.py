"""A comparison in words: which populations change, and a small table."""

from __future__ import annotations

from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING, Any

from bigtensor.abundance.comparison_summary import (
    MOST_SHOWN,
    adjustment_in_words,
    cautions,
    changed_populations,
    changes_in_words,
    star_legend,
    summary_rows,
)
from bigtensor.abundance.differential import group_samples

if TYPE_CHECKING:
    import xarray as xr

MOST_GROUPS = 4
"""Groups that are shown. The file holds all."""


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
        "samples_uninformative": result.attrs["samples_uninformative"],
        "level": level,
        "populations": populations,
        "changed": changed_populations(result),
    }


def comparison_in_words(result: xr.Dataset) -> str:
    """Return which populations change, and a table of the surest ones.

    Parameters
    ----------
    result : Dataset
        Of `differential_abundance`.
    """
    level = str(result["p_value"].dims[0])
    by, adjusted = result.attrs["compared"], result.attrs["adjusted_for"]
    count = result.sizes[level]
    also = f", adjusted for {adjustment_in_words(result)}" if adjusted else ""
    lines = [
        f"compared   {by} in {result.attrs['samples_compared']} samples{_sizes(result)}{also}",
        f"changed    {changes_in_words(result)}",
    ]
    if result.attrs["samples_without"]:
        without = ", ".join(result.attrs["samples_without"][:MOST_SHOWN])
        lines.append(f"left out   {without}: no value of {', '.join([by, *adjusted])}")
    if "group" not in result:
        lines.append(
            f"note       a trend along {by} was compared; --groups {by} compares its values "
            "as groups"
        )
    lines += [f"note       {caution}" for caution in cautions(result)]
    lines += [f"* {legend}" for legend in star_legend(result)]
    if count > MOST_SHOWN:
        lines.append(f"shown      {MOST_SHOWN} of {count} {level}s, the surest first")
    return "\n".join([*lines, *_table(result)])


def _sizes(result: xr.Dataset) -> str:
    """Return the numbers of samples of the groups in words."""
    listing = [f"{group}: {count}" for group, count in group_samples(result).items()]
    more = f" and {len(listing) - MOST_GROUPS} more groups" if len(listing) > MOST_GROUPS else ""
    return f" ({', '.join(listing[:MOST_GROUPS])}{more})" if listing else ""


def _table(result: xr.Dataset) -> list[str]:
    """Return the lines of the table: mean shares, odds ratios and false discovery rates."""
    from rich.console import Console
    from rich.table import Table

    head, *rows = islice(summary_rows(result, most_groups=MOST_GROUPS), MOST_SHOWN + 1)
    shown = Table(box=None, pad_edge=False)
    shown.add_column(head[0], no_wrap=True)
    for title in head[1:]:
        shown.add_column(title, justify="right")
    for row in rows:
        shown.add_row(*row)
    text = StringIO()
    Console(file=text, width=160, markup=False, highlight=False, emoji=False).print(shown)
    return [line.rstrip() for line in text.getvalue().splitlines()]
