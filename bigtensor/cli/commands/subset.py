"""``bigtensor subset``: a store of the rows that meet a condition or have a population's label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.conditions import shares_as_facts, shares_in_words, where_option
from bigtensor.cli.options import ADDRESS, DATA, overwrite_option, refuse_inputs
from bigtensor.cli.output import one_line, say, seconds_taken, took_in_all
from bigtensor.cli.progress import reporter

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.command(cls=Command)
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option(
    "--out", type=ADDRESS, required=True, metavar="SUBSET.zarr", help="The store to write."
)
@where_option("Keep the rows that meet a condition.")
@click.option(
    "--labels",
    metavar="LABELS.zarr",
    help="Labels of these rows, as 'bigtensor predict' writes them; with --population.",
)
@click.option(
    "--population",
    "populations",
    multiple=True,
    metavar="NAME",
    help="Keep the rows of this population, by its name or number; repeat for several.",
)
@overwrite_option
def subset(
    cells: str,
    out: Address,
    condition: str | None,
    labels: str | None,
    populations: tuple[str, ...],
    overwrite: bool,
) -> None:
    """Make a store of some rows of a store.

    The rows meet a condition, or have the label of a population, or both. Attributes, features and
    variables of the rows are kept. The variable source_row holds the row that each row had before.
    """
    if condition is None and not populations:
        raise click.UsageError("give --where CONDITION, or --labels LABELS.zarr and --population")
    if (labels is None) != (not populations):
        raise click.UsageError("--labels and --population belong together; give both")
    refuse_inputs(out, cells, *([] if labels is None else [labels]))
    when_interrupted([out])
    from bigtensor.data.exporters.subset import write_subset

    with reporter() as progress, progress.rows("subset") as advance:
        summary = write_subset(
            cells,
            out,
            where=condition,
            labels=labels,
            populations=populations,
            overwrite=overwrite,
            progress=advance,
        )
    shares, seconds = summary.shares, seconds_taken()
    omitted = ", ".join(map(one_line, summary.omitted))
    say(
        shares_in_words(shares)
        + f"data       {out}: {shares.kept:,} rows x {len(summary.features)} features"
        + (f"\nomitted    {omitted}" if omitted else "")
        + f"\n{took_in_all(seconds)}",
        {
            "data": out,
            "rows": shares.kept,
            "features": summary.features,
            "omitted": summary.omitted,
            "seconds": seconds,
            **shares_as_facts(shares),
        },
    )
