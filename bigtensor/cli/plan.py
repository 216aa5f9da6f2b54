"""``bigtensor plan``: what a fit would read and hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bigtensor.cli.command import Command, in_options
from bigtensor.cli.model_options import model_options
from bigtensor.cli.options import PATH, runtime, runtime_options


@click.command(cls=Command)
@click.argument("cells", type=PATH, metavar="CELLS.zarr")
@model_options
@runtime_options
def plan(
    cells: Path,
    parameters: dict[str, Any],
    workers: int | None,
    scheduler: str | None,
    memory_limit: int | None,
) -> None:
    """Say what a fit would read and hold.

    No row is read, and no worker is started.
    """
    where = runtime(workers, scheduler, memory_limit)
    from bigtensor.models.kernel_mixture import KernelMixture

    planned = KernelMixture(**parameters).plan(str(cells), **where)
    click.echo(in_options(str(planned), click.get_current_context().command))
