"""``bigtensor panel``: the channels of FCS files with markers and roles, as a table to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from bigtensor.cli.command import Command
from bigtensor.cli.commands.importing import left_out_line, show_unreadable_files
from bigtensor.cli.options import PATH, WordChoice, count, overwrite_option, refuse_inputs
from bigtensor.cli.output import one_line, printable, say
from bigtensor.errors import UnreadableFilesError


@click.command(cls=Command)
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE|FOLDER...")
@click.option("--out", type=PATH, required=True, metavar="PANEL.csv", help="The table to write.")
@click.option(
    "--offsets",
    type=WordChoice(["header", "text"]),
    help="Which part of a file to believe if its header and its text disagree on where the events "
    "lie.",
)
@click.option(
    "--dataset",
    type=count(0),
    default=0,
    metavar="N",
    help="Which data set of a file that holds several; 0 is the first.",
)
@overwrite_option
def panel(
    files: tuple[Path, ...],
    out: Path,
    offsets: Literal["header", "text"] | None,
    dataset: int,
    overwrite: bool,
) -> None:
    """Write the panel of FCS files: channel, marker and role of every channel.

    Roles follow from the names of the channels and from a sample of the events. Edit the table and
    give it to 'bigtensor import --panel'. Roles are use, scatter, time, viability, barcode, empty
    and ignore. A fit uses the features of the role use by default.
    """
    refuse_inputs(out, *files)
    from bigtensor.data.importers.fcs.file_panel import describe_panel
    from bigtensor.data.stores.outputs import check_target_file

    check_target_file(out, overwrite=overwrite)
    try:
        described = describe_panel(files, dataset=dataset, offsets=offsets)
    except UnreadableFilesError as error:
        show_unreadable_files(error)
    written = described.panel
    written.to_csv(out, overwrite=overwrite)
    used, left_out = list[str](), dict[str, list[str]]()
    for name, role in zip(written.features, described.roles, strict=True):
        (used if role.role == "use" else left_out.setdefault(role.reason, [])).append(name)
    words = (
        f"panel      {out}: {len(written.channels)} channels of {described.files} "
        f"file{'s' * (described.files != 1)}\n"
        f"use        {', '.join(map(one_line, used)) or 'none'}\n" + left_out_line(left_out)
    )
    if described.unnamed:
        words += (
            f"no marker  {', '.join(map(one_line, described.unnamed))}; the role of a channel that "
            "is not stained is empty\n"
        )
    rows = zip(written.channels, written.markers, described.roles, strict=True)
    say(
        words + f"next       edit it, and import the files with --panel {printable(str(out))}",
        {
            "path": out,
            "files": described.files,
            "channels": [
                {"channel": channel, "marker": marker, "role": role.role, "reason": role.reason}
                for channel, marker, role in rows
            ],
        },
    )
