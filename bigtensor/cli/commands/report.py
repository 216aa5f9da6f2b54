"""``bigtensor report``: a fitted model as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import (
    ADDRESS,
    DATA,
    PATH,
    SAMPLES_HELP,
    adjust_option,
    groups_option,
    overwrite_option,
    reference_option,
)
from bigtensor.cli.output import say, seconds_taken
from bigtensor.cli.progress import reporter
from bigtensor.engine.progress.reporter import duration

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address


@click.command(cls=Command)
@click.argument("model_path", type=ADDRESS, metavar="MODEL.zarr")
@click.option(
    "--data",
    type=DATA,
    required=True,
    metavar="CELLS.zarr",
    help="The rows that the report shows a sample of.",
)
@click.option(
    "--labels",
    type=DATA,
    metavar="LABELS.zarr",
    help="Labels of all rows, as 'bigtensor predict' writes them. Without them, shares "
    "of labels come from a sample of the rows.",
)
@click.option(
    "--truth",
    metavar="VARIABLE",
    help="Variable of the data with the known class of every row; label where not given.",
)
@click.option(
    "--metadata",
    "samples",
    type=PATH,
    metavar="SAMPLES.csv",
    help=SAMPLES_HELP,
)
@click.option(
    "--by", metavar="COLUMN", help="Column of --metadata that the populations are compared by."
)
@adjust_option
@groups_option
@reference_option
@click.option(
    "--out", type=ADDRESS, required=True, metavar="REPORT.html", help="The file to write."
)
@overwrite_option
def report(
    model_path: Address,
    data: str,
    labels: str | None,
    truth: str | None,
    samples: Path | None,
    by: str | None,
    adjust: tuple[str, ...],
    groups: tuple[str, ...],
    reference: str | None,
    out: Address,
    overwrite: bool,
) -> None:
    """Describe a fitted model in one HTML file."""
    from bigtensor.models.contract.model_files import load_model
    from bigtensor.report.html import write_report

    model = load_model(model_path)
    with reporter() as progress:
        write_report(
            model,
            out,
            data=data,
            labels=labels,
            truth=truth,
            samples=samples,
            by=by,
            adjust=adjust,
            groups=groups,
            reference=reference,
            overwrite=overwrite,
            listeners=[progress.listen],
        )
    seconds = seconds_taken()
    say(f"report     {out}, {duration(seconds)} in all", {"report": out, "seconds": seconds})
