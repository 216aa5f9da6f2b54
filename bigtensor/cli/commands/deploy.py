"""``bigtensor deploy``: the files that run a fit on a cluster."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.checkpoints import check_checkpoint
from bigtensor.cli.command import Command, when_interrupted
from bigtensor.cli.commands.fit import fit
from bigtensor.cli.conditions import rows_that_meet
from bigtensor.cli.model_options import collect_parameters, unfitted_model
from bigtensor.cli.options import PATH, count, refuse_inputs, size
from bigtensor.cli.output import complain, say
from bigtensor.cli.recipes import KINDS, Job, filled_files
from bigtensor.cli.sequences import in_order

if TYPE_CHECKING:
    from bigtensor.engine.plan import Plan
    from bigtensor.models.contract.estimator import Estimator

DEFAULT_FIT = ("fit", "cells.zarr", "--out", "model.zarr")
DEFAULT_MEMORY = 4 * 2**30
"""Memory of a worker where there is no plan and no option."""

MEMORY_STEP = 256 * 2**20
"""Planned memory is rounded up to a multiple of it."""

_HELP = (
    "Type the fit after the options, as on one machine but without the word 'bigtensor'. Leave out "
    "the options that say where it runs, such as --workers. A checkpoint is added to the fit, so "
    "that a job that starts again continues. The memory of a worker comes from the plan of the fit."
)

_LEFT_OUT = "leave it out"
_PLACES = {
    "scheduler": _LEFT_OUT,
    "scheduler_file": _LEFT_OUT,
    "tls_ca_file": _LEFT_OUT,
    "tls_cert": _LEFT_OUT,
    "tls_key": _LEFT_OUT,
    "workers": "give it before 'fit'",
    "memory_limit": "give --memory before 'fit'",
}
"""Remedies for options of ``bigtensor fit`` that say where it runs, which is what a recipe is for.
The keys are the names of their values."""


def _time(value: object) -> str:
    """Return a running time such as 04:00:00. Days before the hours, as in 1-02, become hours."""
    text = str(value)
    days, dash, clock = text.rpartition("-")
    hours, *rest = clock.split(":")
    whole = text.isascii() and all(part.isdecimal() for part in (days or "0", hours, *rest))
    if dash:
        rest += ["00"] * (2 - len(rest))
        whole = whole and days != "" and int(hours) < 24
    short = len(rest) == 2 and all(len(part) == 2 and part < "60" for part in rest)
    if not (whole and short and (dash or len(hours) >= 2)):
        raise click.BadParameter(
            f"{value!r} is not a time; give hours, minutes and seconds, such as 04:00:00, or days "
            "and at most 23 hours, such as 1-02:00:00. Minutes and seconds are at most 59, and "
            "hours without days may be more than 24"
        )
    if not text.strip("0:-"):
        raise click.BadParameter(
            f"{value!r} is no time to run in; give the longest time that a job may take, such as "
            "04:00:00"
        )
    if dash:
        hours = f"{24 * int(days) + int(hours):02}"
    return ":".join((hours, *rest))


@click.group()
def deploy() -> None:
    """Write the files that run a fit on a cluster.

    'bigtensor deploy slurm --workers 40 --out job fit cells.zarr --components 12 --out model.zarr'
    writes them to the folder 'job'. Without the first --out, the files are printed. The memory of a
    worker comes from the plan of the fit.
    """


class _DeployCommand(Command):
    """Command that prints the files of a kind of cluster.

    Its options end where the command that it deploys begins.
    """

    allow_interspersed_args = False

    def __init__(self, kind: str) -> None:
        summary = KINDS[kind]
        super().__init__(
            kind,
            callback=functools.partial(_deploy, kind),
            short_help=summary,
            help=f"{summary}\n\n{_HELP}",
            params=[
                click.Argument(
                    ["command"],
                    nargs=-1,
                    type=click.UNPROCESSED,
                    metavar="[fit CELLS.zarr FIT_OPTIONS]",
                ),
                click.Option(
                    ["--workers"],
                    type=count(),
                    default=4,
                    show_default=True,
                    metavar="N",
                    help="Worker processes of one thread.",
                ),
                click.Option(
                    ["--memory", "memory_limit"],
                    type=size,
                    metavar="SIZE",
                    help="Memory of a worker, such as 4GiB. By default it comes from the plan of "
                    "the fit, or is 4GiB if the data cannot be read here.",
                ),
                click.Option(
                    ["--time"],
                    type=_time,
                    default="04:00:00",
                    show_default=True,
                    metavar="HH:MM:SS",
                    help="Longest running time of a job, or D-HH:MM:SS with days.",
                ),
                click.Option(
                    ["--out"],
                    type=PATH,
                    metavar="FOLDER",
                    help="New folder for the files. Without it, the files are printed.",
                ),
            ],
        )


def _deploy(
    kind: str,
    command: tuple[str, ...],
    workers: int,
    memory_limit: int | None,
    time: str,
    out: Path | None,
) -> None:
    """Print or write the files of a kind, filled in for a command."""
    arguments = command or DEFAULT_FIT
    if not any(entry.partition("=")[0] == "--checkpoint" for entry in arguments):
        arguments = (*arguments, "--checkpoint", "parts")
    options = _fit_options(arguments)
    model = unfitted_model(
        options["model"],
        options["parameters"],
        missing=options["missing"],
        weights=options["weights"],
        random_state=options["seed"],
    )
    plan = _plan(model, options, memory_limit) if command else None
    if plan is not None and workers > plan.tasks:
        complain(
            f"note: a pass has {plan.tasks} task{'s' * (plan.tasks != 1)}, so some of the "
            f"{workers} workers have nothing to do; give --workers {plan.tasks}"
        )
    job = Job(
        workers=workers,
        memory=memory_limit or (DEFAULT_MEMORY if plan is None else _needed(plan)),
        time=time,
        command=arguments,
        model=model,
        data=str(options["cells"]),
        sequence=options["sequence"],
        condition=options["condition"],
        overwrite=options["overwrite"],
        wait=options["wait_for_workers"],
        out=str(options["out"]),
        checkpoint=options["checkpoint"],
    )
    if kind == "snakemake":
        _refuse_wildcards(job.data, job.out)
    files = filled_files(kind, job, "job" if out is None else str(out))
    if out is None:
        say("\n".join(f"==> {name} <==\n{text}" for name, text in files.items()), {"files": files})
    else:
        _write(out, files)


for _kind in KINDS:
    deploy.add_command(_DeployCommand(_kind))


def _refuse_wildcards(*paths: str) -> None:
    """Raise a UsageError for a path in which Snakemake would fill in wildcards."""
    for path in paths:
        if {*path} & {*"{}"}:
            raise click.UsageError(
                f"{path} holds braces, which mark wildcards in the paths of Snakemake; give the "
                "data and --out of the fit names without braces"
            )


def _fit_options(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of ``bigtensor fit``; options of the model form one entry.

    Raises
    ------
    click.UsageError
        When the arguments are not those of ``bigtensor fit``.
    """
    if arguments[0] != "fit":
        raise click.UsageError(
            f"{arguments[0]!r} cannot be deployed, only 'fit'; for other commands of bigtensor, "
            "see the README of 'bigtensor deploy slurm'"
        )
    parent = click.get_current_context()
    with fit.make_context("fit", list(arguments[1:]), parent=parent) as context:
        options = context.params
        for name, remedy in _PLACES.items():
            if options[name] is not None:
                raise click.UsageError(
                    f"--{name.replace('_', '-')} after 'fit' is about where the fit runs, which "
                    f"the files of 'bigtensor deploy' set; {remedy}"
                )
        refuse_inputs(options["out"], options["cells"])
        check_checkpoint(options["checkpoint"], options["cells"], options["out"])
        return collect_parameters(options)


def _plan(model: Estimator, options: Mapping[str, Any], memory_limit: int | None) -> Plan | None:
    """Return the plan of the process that holds most; None where the data cannot be read here.

    Raises
    ------
    ConditionError
        When the condition on the rows cannot be read, or names what the data do not have.
    PlanError
        When it does not fit into the memory.
    """
    from bigtensor.data.rows.condition_syntax import parse_condition
    from bigtensor.errors import StoreReadError

    cells, condition = str(options["cells"]), options["condition"]
    if condition is not None:
        # its syntax is checked without the data, too
        parse_condition(condition)
    try:
        all_rows = in_order(cells, options["sequence"], model)
        rows = rows_that_meet(condition, all_rows, cells, model)
        # a thread of this process stands for the driver, which holds more than a worker
        plan: Plan = model.plan(
            rows,
            scheduler="threads",
            workers=1,
            memory_limit=memory_limit,
            checkpoint=options["checkpoint"],
        )
    except StoreReadError as error:
        complain(f"note: there is no plan, because the data cannot be read here: {error}")
        if memory_limit is None:
            gib = DEFAULT_MEMORY // 2**30
            complain(f"note: the memory of a worker is set to {gib}GiB; --memory changes it")
        return None
    return plan.check()


def _needed(plan: Plan) -> int:
    """Return the memory of a process in which a plan fits."""
    from bigtensor.engine.plan import USABLE

    return math.ceil(plan.projected_nbytes / USABLE / MEMORY_STEP) * MEMORY_STEP


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write files to a new folder, which appears when all of them are written.

    Raises
    ------
    OutputError
        When the folder exists, or cannot be written. Nothing is left behind then.
    """
    from bigtensor.data.stores.outputs import whole_file, write_errors
    from bigtensor.errors import OutputError

    when_interrupted([folder])
    if folder.exists():
        raise OutputError(f"{folder} exists; give a new folder with --out")
    missing_parents = [parent for parent in folder.parents if not parent.exists()]
    try:
        with write_errors(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            # a folder gets its name as a file does
            with whole_file(folder) as unfinished:
                unfinished.mkdir()
                for name, text in files.items():
                    _write_file(unfinished / name, text)
    except BaseException:
        for parent in missing_parents:
            with suppress(OSError):
                parent.rmdir()
        raise
    say(
        f"files      {folder}: {', '.join(files)}\nnext       read {folder / 'README.md'}",
        {"folder": folder, "files": list(files)},
    )


def _write_file(path: Path, text: str) -> None:
    """Write a file, which may be run if it is a script."""
    path.write_text(text, encoding="utf-8")
    if text.startswith("#!"):
        # whoever may read it may run it: others only where the umask lets them read
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)
