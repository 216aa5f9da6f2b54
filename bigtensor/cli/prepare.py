"""``bigtensor prepare``: a model that many sites can accumulate statistics with."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.model_options import model_options
from bigtensor.cli.options import (
    DATA,
    PATH,
    count,
    missing_option,
    overwrite_option,
    refuse_inputs,
    runtime,
    runtime_options,
    seed_option,
)
from bigtensor.cli.output import say
from bigtensor.cli.progress import duration, reporter
from bigtensor.cli.workers import started


@click.command(cls=Command)
@click.argument("cells", type=DATA, metavar="CELLS.zarr")
@click.option(
    "--out", type=PATH, required=True, metavar="PREPARED.zarr", help="The prepared model to write."
)
@click.option(
    "--rows",
    type=count(),
    metavar="N",
    help="Rows that are expected in all: bandwidths shrink with them. By default those of "
    "CELLS.zarr.",
)
@model_options
@runtime_options
@seed_option
@missing_option
@overwrite_option
def prepare(
    cells: str,
    out: Path,
    rows: int | None,
    parameters: dict[str, Any],
    workers: int | None,
    scheduler: str | None,
    memory_limit: int | None,
    seed: int,
    missing: str | None,
    overwrite: bool,
) -> None:
    """Prepare a model from pilot data, for statistics that are merged.

    Bandwidths, landmarks, directions and grids are chosen from a sample of CELLS.zarr, which should
    be like the rows to come. PREPARED.zarr holds no row: send a copy of it to every site.
    """
    refuse_inputs(out, cells)
    where = runtime(workers, scheduler, memory_limit)
    when_interrupted([out])
    from bigtensor.data.targets import check_target
    from bigtensor.models.kernel_mixture import KernelMixture

    model = KernelMixture(**parameters, missing=missing or "raise", random_state=seed)
    check_target(out, overwrite=overwrite)
    begin = time.perf_counter()
    with started(where) as running, reporter() as progress:
        model.prepare(cells, rows=rows, listeners=[progress.listen], **running)
    model.save(out, overwrite=overwrite)
    expected = rows or model.diagnostics_["rows"]
    say(
        f"prepared   {out}: {model.n_components} components in {len(model.views_.names)} views, "
        f"for {expected:,} rows\n"
        f"pilot      {model.diagnostics_['sample_rows']:,} rows, "
        f"{duration(time.perf_counter() - begin)}\n"
        f"next       bigtensor accumulate {out} CELLS.zarr --out STATISTICS.zarr"
    )
