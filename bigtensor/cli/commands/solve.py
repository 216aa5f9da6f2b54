"""``bigtensor solve``: a model from statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bigtensor.cli.command import Command
from bigtensor.cli.commands.fit import result_in_words
from bigtensor.cli.options import ADDRESS, overwrite_option, refuse_inputs
from bigtensor.cli.output import say
from bigtensor.models.words.suggested_facts import suggested_name_facts

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="PREPARED.zarr|MODEL.zarr")
@click.argument("statistics", type=ADDRESS, metavar="STATISTICS.zarr")
@click.option(
    "--out", type=ADDRESS, required=True, metavar="MODEL.zarr", help="The model to write."
)
@overwrite_option
def solve(model_path: Address, statistics: Address, out: Address, overwrite: bool) -> None:
    """Find the components from the statistics of a round.

    MODEL.zarr answers like any fitted model. With it, 'bigtensor accumulate' gives the statistics
    of the next round, which refines the model.
    """
    refuse_inputs(out, model_path, statistics)
    from bigtensor.data.stores.outputs import check_target
    from bigtensor.models.contract.model_files import load_model

    check_target(out, overwrite=overwrite)
    model = load_model(model_path, fitted=False)
    model.solve(statistics)
    model.save(out, overwrite=overwrite)
    rounds = [entry["name"] for entry in model.diagnostics_["passes"]]
    described = {**model.description.facts(model), **suggested_name_facts(model)}
    rows = model.diagnostics_["rows"]
    next_pass = model.next_pass
    onwards = (
        "nothing: the model has had all its passes"
        if next_pass is None
        else f"bigtensor accumulate {out} CELLS.zarr --out STATISTICS.zarr (pass {next_pass!r})"
    )
    say(
        f"{result_in_words(model, described, out)}solved     {', '.join(rounds)}; {rows:,} rows\n"
        f"next       {onwards}",
        {
            "model": out,
            **described,
            "views": model.views_.as_mapping(),
            "rounds": rounds,
            "rows": rows,
            "next_pass": next_pass,
        },
    )
