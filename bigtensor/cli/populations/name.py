"""``bigtensor name``: names of the populations of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import ADDRESS, PATH, overwrite_option
from bigtensor.cli.output import say
from bigtensor.cli.populations.named_populations import (
    check_out,
    load_mixture,
    marker_thresholds,
    population_facts,
    population_lines,
    save_changed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from bigtensor.data.addresses.store_address import Address


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="MODEL.zarr")
@click.argument("names", type=PATH, required=False, metavar="[NAMES.csv]")
@click.option(
    "--out",
    type=ADDRESS,
    metavar="FILE",
    help="With NAMES.csv: write the named model here, and leave MODEL.zarr as it is. Without: the "
    "CSV file to write, for you to edit.",
)
@overwrite_option
def name(model_path: Address, names: Path | None, out: Address | None, overwrite: bool) -> None:
    """Name the populations of a model.

    NAMES.csv has the columns population (a number, or a present name) and name. Populations that
    it does not list keep their names, and an empty name removes one. Names are kept in the model
    and shown in labels, tables, reports and exports.

    Without NAMES.csv, the populations are listed with suggested names, such as 'CD3+ CD4+ CD69-'. A
    marker is used if it has two modes over all populations, and a population is positive if most of
    its rows lie above the lowest point between them. With --out names.csv the list is written as a
    file to edit.
    """
    from bigtensor.cli.populations.population_names_file import read_names, write_names

    if names is None:
        _list(model_path, out, overwrite=overwrite, write=write_names)
        return
    check_out(model_path, out, overwrite=overwrite)
    new_names = read_names(names)
    model = load_mixture(model_path).rename_populations(new_names)
    count = len([1 for text in new_names.values() if text])
    save_changed(model, model_path, out, overwrite=overwrite, action=f"{count} populations named")


def _list(
    model_path: Address,
    out: Address | None,
    *,
    overwrite: bool,
    write: Callable[[Sequence[Mapping[str, Any]], Address], None],
) -> None:
    """Print the populations with suggested names, and write them as a table to edit."""
    from bigtensor.data.stores.outputs import check_target_file

    if out is not None:
        check_target_file(out, overwrite=overwrite)
    model = load_mixture(model_path)
    rows = population_facts(model)
    words = ["populations", *population_lines(rows)]
    if out is None:
        words.append("next       'bigtensor name' with --out names.csv writes a table to edit")
    else:
        write(rows, out)
        words.append(f"table      {out}: edit the names, and run 'bigtensor name' with this file")
    facts = {
        "model": str(model_path),
        "populations": rows,
        "thresholds": marker_thresholds(model),
        "table": out,
    }
    say("\n".join(words), facts)
