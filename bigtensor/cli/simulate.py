"""``bigtensor simulate``: rows with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import PATH, components_option, count, overwrite_option, seed_option
from bigtensor.cli.output import say
from bigtensor.cli.progress import reporter


@click.command(cls=Command)
@click.argument("kind", type=click.Choice(["kernel-mixture", "cytometry"]))
@click.argument("out", type=PATH, metavar="OUT.zarr")
@click.option("--rows", type=count(), required=True, help="Number of rows, such as 1e6.")
@components_option
@seed_option
@overwrite_option
def simulate(kind: str, out: Path, rows: int, components: int, seed: int, overwrite: bool) -> None:
    """Write rows with known truth to a store.

    kernel-mixture: three views of one feature each, Gaussian components. cytometry: cells of six
    skewed and heavy-tailed markers, populations of very different sizes, four samples.
    """
    from bigtensor.data.simulate import write_cytometry, write_kernel_mixture

    with reporter() as progress, progress.rows("simulate") as advance:
        common: dict[str, Any] = {
            "random_state": seed,
            "overwrite": overwrite,
            "progress": advance,
        }
        if kind == "cytometry":
            write_cytometry(out, rows, components, **common)
        else:
            write_kernel_mixture(out, rows, components, **common)
    say(f"data       {out}: {rows:,} rows of {components} components, with their labels")
