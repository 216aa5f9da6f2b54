"""``bigtensor cut``: another number of populations, without another fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import ADDRESS, overwrite_option
from bigtensor.cli.options import count as whole_number
from bigtensor.cli.populations.named_populations import (
    check_out,
    dropped_names,
    load_mixture,
    own_names,
    save_changed,
)

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


def _count(value: str | int) -> int | str:
    """Return a number of populations, or ``auto``."""
    return "auto" if value == "auto" else whole_number()(value)


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="MODEL.zarr")
@click.argument("count", type=_count, metavar="COUNT|auto")
@click.option(
    "--out",
    type=ADDRESS,
    metavar="MODEL.zarr",
    help="Write the model here, and leave the first one as it is.",
)
@overwrite_option
def cut(model_path: Address, count: int | str, out: Address | None, overwrite: bool) -> None:
    """Merge the components of a model into COUNT populations.

    Components are many small clusters, which a tree merges step by step. No data are read.
    Populations that stay the same set of components keep their names. Populations that were merged
    by hand are separate again. With auto, the number is chosen as in a fit.
    """
    from bigtensor.errors import NoPopulationsError, ParameterError

    check_out(model_path, out, overwrite=overwrite)
    model = load_mixture(model_path)
    components, names = len(model.weights_), own_names(model)
    if not isinstance(count, str) and count > components:
        raise ParameterError(
            f"{model_path} has {components} components, too few for {count} populations; give at "
            f"most {components}"
        )
    try:
        model.cut_populations(count)
    except NoPopulationsError as error:
        raise NoPopulationsError(
            f"{model_path} has no tree of components to cut; fit it with --populations, or unite "
            "populations with 'bigtensor merge-populations'"
        ) from error
    action = f"cut into {len(model.population_weights_)} populations"
    action += dropped_names(names, model)
    save_changed(model, model_path, out, overwrite=overwrite, action=action)
