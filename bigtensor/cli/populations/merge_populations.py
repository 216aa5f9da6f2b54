"""``bigtensor merge-populations``: one population of several, by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import ADDRESS, overwrite_option
from bigtensor.cli.populations.named_populations import (
    check_out,
    dropped_names,
    load_mixture,
    own_names,
    populations_of,
    save_changed,
)

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.command("merge-populations", cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="MODEL.zarr")
@click.argument("groups", nargs=-1, required=True, metavar="2,18...")
@click.option(
    "--out",
    type=ADDRESS,
    metavar="MODEL.zarr",
    help="Write the model here, and leave the first one as it is.",
)
@overwrite_option
def merge_populations(
    model_path: Address, groups: tuple[str, ...], out: Address | None, overwrite: bool
) -> None:
    """Make one population of several, by number or name.

    Each argument lists the populations that become one, such as 2,18 or 'CD4 T,7'. Put a name with
    a comma in double quotes, such as '"CD8, T",7'. No data are read. Populations are then numbered
    by weight again, the largest as 0, so that labels have to be predicted again. The merged
    population keeps a name if exactly one of its parts has one.
    """
    check_out(model_path, out, overwrite=overwrite)
    model = load_mixture(model_path)
    before, names = len(model.population_names_), own_names(model)
    model.merge_populations(*map(populations_of, groups))
    action = f"{before} populations merged into {len(model.population_weights_)}"
    action += dropped_names(names, model)
    save_changed(model, model_path, out, overwrite=overwrite, action=action)
