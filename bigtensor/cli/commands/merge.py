"""``bigtensor merge``: the statistics of many stores as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import ADDRESS, overwrite_option, refuse_inputs
from bigtensor.cli.output import say

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.command(cls=Command)
@click.argument("sources", type=ADDRESS, nargs=-1, required=True, metavar="STATISTICS.zarr...")
@click.option(
    "--out", type=ADDRESS, required=True, metavar="MERGED.zarr", help="The statistics to write."
)
@overwrite_option
def merge(sources: tuple[Address, ...], out: Address, overwrite: bool) -> None:
    """Add statistics of different rows, accumulated with copies of one model."""
    refuse_inputs(out, *sources)
    from bigtensor.data.stores.outputs import check_target
    from bigtensor.models.contract.statistics_file import merge as add

    check_target(out, overwrite=overwrite)
    merged = add(sources)
    merged.save(out, overwrite=overwrite)
    name, rows, parts = merged.pass_name, merged.rows, len(merged.parts)
    say(
        f"statistics {out}: {name} of {rows:,} rows in {parts} part{'s' * (parts != 1)}",
        {"statistics": out, "pass": name, "rows": rows, "parts": parts},
    )
