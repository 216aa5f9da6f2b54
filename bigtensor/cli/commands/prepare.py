"""``bigtensor prepare``: a model that many sites can accumulate statistics with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import when_interrupted
from bigtensor.cli.commands.fit import in_views
from bigtensor.cli.conditions import (
    rows_that_meet,
    shares_as_facts,
    shares_in_words,
    where_option,
)
from bigtensor.cli.model_options import ModelCommand, unfitted_model, unused_in_rounds
from bigtensor.cli.options import (
    ADDRESS,
    DATA,
    count,
    missing_option,
    overwrite_option,
    refuse_inputs,
    refuse_options,
    runtime_options,
    seed_option,
)
from bigtensor.cli.output import say, seconds_taken
from bigtensor.cli.progress import reporter
from bigtensor.cli.workers import started
from bigtensor.engine.progress.reporter import duration

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.command(cls=ModelCommand, in_rounds=True)
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option(
    "--out",
    type=ADDRESS,
    required=True,
    metavar="PREPARED.zarr",
    help="The prepared model to write.",
)
@click.option(
    "--rows",
    type=count(),
    metavar="N",
    help="Rows that are expected in all: bandwidths shrink with them. By default those of "
    "CELLS.zarr.",
)
@where_option("Use the rows that meet a condition.")
@runtime_options
@seed_option
@missing_option
@overwrite_option
def prepare(
    cells: str,
    out: Address,
    rows: int | None,
    model: str,
    parameters: dict[str, Any],
    condition: str | None,
    where: dict[str, Any],
    seed: int,
    missing: str | None,
    overwrite: bool,
) -> None:
    """Prepare a model from pilot data, for statistics that are merged.

    Bandwidths, landmarks, directions and grids are chosen from a sample of CELLS.zarr, which should
    be like the rows to come. Send a copy of PREPARED.zarr to every site. It holds no rows, except
    that landmarks of kernels may be rows: by default an outlying row that is a cluster of its own,
    and every landmark with --landmarks other than kmeans.
    """
    refuse_inputs(out, cells)
    refuse_options(unused_in_rounds(model), "in a fit in rounds")
    when_interrupted([out])
    from bigtensor.data.stores.outputs import check_target

    prepared = unfitted_model(model, parameters, missing=missing, random_state=seed)
    check_target(out, overwrite=overwrite)
    pilot = rows_that_meet(condition, cells, cells, prepared)
    with started(where) as running, reporter() as progress:
        prepared.prepare(pilot, rows=rows, listeners=[progress.listen], **running)
    prepared.save(out, overwrite=overwrite)
    diagnostics = prepared.diagnostics_
    read = sum(entry["rows"] for entry in diagnostics["passes"])
    described, seconds = prepared.description.facts(prepared), seconds_taken()
    views = in_views(prepared.description.size(described), prepared)
    expected = rows or diagnostics["rows"]
    say(
        shares_in_words(pilot) + f"prepared   {out}: {views}, for {expected:,} rows\n"
        f"pilot      {read:,} rows read, {duration(seconds)} in all\n"
        f"next       bigtensor accumulate {out} CELLS.zarr --out STATISTICS.zarr",
        {
            "model": out,
            **described,
            "views": prepared.views_.as_mapping(),
            "rows": expected,
            "rows_read": read,
            "seconds": seconds,
            **shares_as_facts(pilot),
        },
    )
