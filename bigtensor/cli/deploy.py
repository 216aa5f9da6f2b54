"""``bigtensor deploy``: the files that run a fit on a cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.fit import fit
from bigtensor.cli.model_options import collect_parameters
from bigtensor.cli.options import PATH, count, size
from bigtensor.cli.output import complain, say
from bigtensor.cli.recipes import KINDS, Job, filled_files
from bigtensor.cli.sequences import in_order

if TYPE_CHECKING:
    from bigtensor.engine.plan import Plan

DEFAULT_FIT = ("fit", "cells.zarr", "--out", "model.zarr")
DEFAULT_MEMORY = 4 * 2**30
MEMORY_STEP = 256 * 2**20
"""Planned memory is rounded up to a multiple of it."""

_TIME = re.compile(r"\d{1,3}:[0-5]\d:[0-5]\d")


class _DeployCommand(Command):
    """Command whose options end where the command that it deploys begins."""

    allow_interspersed_args = False


def _time(value: Any) -> str:
    """Return a running time such as 04:00:00."""
    if not _TIME.fullmatch(str(value)):
        raise click.BadParameter(f"{value!r} is not a time such as 04:00:00 (hours first)")
    return str(value)


@click.group()
def deploy() -> None:
    """Print the files that run a fit on a cluster.

    'bigtensor deploy slurm --workers 40 fit cells.zarr --components 12 --out model.zarr' prints
    them for this fit. The memory of a worker comes from the plan of the fit.
    """


def _command(kind: str, summary: str) -> click.Command:
    """Return the command that prints the files of a kind of cluster."""

    @deploy.command(kind, cls=_DeployCommand, short_help=summary)
    @click.argument(
        "command", nargs=-1, type=click.UNPROCESSED, metavar="[fit CELLS.zarr FIT_OPTIONS]"
    )
    @click.option(
        "--workers",
        type=count(),
        default=4,
        show_default=True,
        metavar="N",
        help="Worker processes of one thread.",
    )
    @click.option(
        "--memory",
        "memory_limit",
        type=size,
        metavar="SIZE",
        help="Memory of a worker, such as 4GiB; from the plan of the fit by default.",
    )
    @click.option(
        "--time",
        type=_time,
        default="04:00:00",
        show_default=True,
        metavar="HH:MM:SS",
        help="Longest running time of a job.",
    )
    @click.option(
        "--out",
        type=PATH,
        metavar="FOLDER",
        help="A new folder to write the files to, in place of printing them.",
    )
    def print_files(
        command: tuple[str, ...],
        workers: int,
        memory_limit: int | None,
        time: str,
        out: Path | None,
    ) -> None:
        arguments = command or DEFAULT_FIT
        if not any(entry.partition("=")[0] == "--checkpoint" for entry in arguments):
            arguments = (*arguments, "--checkpoint", "parts")
        options = _fit_options(arguments)
        model, data = _model(options), str(options["cells"])
        plan = _plan(model, data, options["sequence"], memory_limit) if command else None
        if plan is not None and workers > plan.tasks:
            complain(f"note: a pass has {plan.tasks} tasks; more workers have nothing to do")
        memory = memory_limit or (DEFAULT_MEMORY if plan is None else _needed(plan))
        job = Job(
            workers=workers,
            memory=memory,
            time=time,
            command=arguments,
            model=model,
            data=data,
            out=str(options["out"]),
            checkpoint=options["checkpoint"],
        )
        files = filled_files(kind, job)
        if out is None:
            say("\n".join(f"==> {name} <==\n{text}" for name, text in files.items()))
            return
        _write(out, files)

    print_files.help = (
        f"Print the files for {summary}\n\n"
        "The job runs the command that follows the options, 'fit CELLS.zarr' with any option of "
        "'bigtensor fit'. A checkpoint is added to it, so that a job that begins again continues. "
        "The memory of a worker comes from the plan of this fit."
    )
    return print_files


for _kind, _summary in KINDS.items():
    _command(_kind, _summary)


def _fit_options(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of ``bigtensor fit``, with those of the model collected.

    Raises
    ------
    click.UsageError
        When the arguments are not those of ``bigtensor fit``.
    """
    if arguments[0] != "fit":
        raise click.UsageError(
            f"{arguments[0]!r} cannot be deployed, only 'fit'; the job scripts take any other "
            "command as their arguments"
        )
    parent = click.get_current_context()
    with fit.make_context("fit", list(arguments[1:]), parent=parent) as context:
        return collect_parameters(context.params)


def _model(options: Mapping[str, Any]) -> Any:
    """Return the model that ``bigtensor fit`` makes of its options."""
    from bigtensor.models.registry import model_class

    return model_class(options["model"])(
        **options["parameters"],
        missing=options["missing"] or "raise",
        weights=options["weights"],
        random_state=options["seed"],
    )


def _plan(model: Any, data: str, sequence: str | None, memory_limit: int | None) -> Plan | None:
    """Return the plan of the process that holds most; None where the data cannot be read here.

    Raises
    ------
    PlanError
        When it does not fit into the memory.
    """
    from bigtensor.errors import StoreReadError

    try:
        # a thread of this process stands for the driver, which holds more than a worker
        plan: Plan = model.plan(
            in_order(data, sequence, model),
            scheduler="threads",
            workers=1,
            memory_limit=memory_limit,
        )
    except StoreReadError as error:
        complain(f"note: the memory of a worker comes from no plan: {error}")
        return None
    return plan.check()


def _needed(plan: Plan) -> int:
    """Return the memory of a process in which a plan fits."""
    from bigtensor.engine.plan import USABLE

    return math.ceil(plan.projected_nbytes / USABLE / MEMORY_STEP) * MEMORY_STEP


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write files to a new folder."""
    from bigtensor.errors import OutputError

    when_interrupted([folder])
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise OutputError(f"{folder} exists; give a new folder with --out") from error
    for name, text in files.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            path.chmod(0o755)
    say(f"files      {folder}: {', '.join(files)}\nnext       read {folder / 'README.md'}")
