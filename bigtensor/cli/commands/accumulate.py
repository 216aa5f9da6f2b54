"""``bigtensor accumulate``: the sums of one pass over a store, to be merged with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.checkpoints import check_checkpoint, checkpoint_option, kept_if_interrupted
from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.conditions import (
    rows_that_meet,
    shares_as_facts,
    shares_in_words,
    where_option,
)
from bigtensor.cli.options import (
    ADDRESS,
    DATA,
    missing_option,
    overwrite_option,
    refuse_inputs,
    runtime_options,
)
from bigtensor.cli.output import say, seconds_taken, took_in_all
from bigtensor.cli.progress import reporter
from bigtensor.cli.sequences import in_order, sequence_option
from bigtensor.cli.workers import started

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="PREPARED.zarr|MODEL.zarr")
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option(
    "--out", type=ADDRESS, required=True, metavar="STATISTICS.zarr", help="The statistics to write."
)
@checkpoint_option
@where_option("Sum the rows that meet a condition.")
@sequence_option
@runtime_options
@missing_option
@overwrite_option
def accumulate(
    model_path: Address,
    cells: str,
    out: Address,
    checkpoint: str | None,
    condition: str | None,
    sequence: str | None,
    where: dict[str, Any],
    missing: str | None,
    overwrite: bool,
) -> None:
    """Sum what the next round of a model needs of a store.

    A prepared model gives the sums of the first round, a solved one those of a refinement.
    STATISTICS.zarr holds sums and no row; its size does not depend on the number of rows.
    """
    refuse_inputs(out, model_path, cells)
    check_checkpoint(checkpoint, cells, out, model_path)
    when_interrupted([out], kept_if_interrupted(checkpoint))
    from bigtensor.data.stores.outputs import check_target
    from bigtensor.models.contract.model_files import load_model

    check_target(out, overwrite=overwrite)
    model = load_model(model_path, fitted=False)
    if missing is not None:
        model.set_params(missing=missing)
    all_rows = in_order(cells, sequence, model)
    rows = rows_that_meet(condition, all_rows, cells, model)
    with started(where) as running, reporter() as progress:
        statistics = model.accumulate(
            rows,
            checkpoint=checkpoint,
            listeners=[progress.listen],
            **running,
        )
    statistics.save(out, overwrite=overwrite)
    left_out, seconds = statistics.rows_left_out, seconds_taken()
    facts = {
        "statistics": out,
        "pass": statistics.pass_name,
        "rows": statistics.rows,
        "rows_left_out": left_out,
        "seconds": seconds,
    }
    say(
        shares_in_words(rows)
        + f"statistics {out}: {statistics.pass_name} of {statistics.rows:,} rows"
        + (f", {left_out:,} left out" if left_out else "")
        + f"\n{took_in_all(seconds)}",
        {**facts, **shares_as_facts(rows)},
    )
