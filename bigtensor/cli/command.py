"""What every command does alike: warnings in one line, errors in one line, exit codes."""

from __future__ import annotations

import errno
import logging
import re
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from bigtensor.errors import BigtensorError, BigtensorWarning, OutputError

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells do it."""

_KEPT = "bigtensor.kept"
_NOISY_LOGGERS = ("distributed", "tornado", "asyncio", "concurrent")


class Command(click.Command):
    """A command whose failures end in one line on standard error and an exit code.

    Every command has the option ``--debug``, which adds the traceback and the warnings of other
    libraries.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(["--debug"], is_flag=True, help="Show the traceback of an error.")
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and turn what goes wrong into words and an exit code."""
        debug = bool(ctx.params.pop("debug", False))
        with _one_line_warnings(self, show_all=debug), _quiet_loggers(debug=debug):
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort):
                raise
            except KeyboardInterrupt:
                kept = ctx.meta.get(_KEPT, "nothing was written")
                click.echo(f"interrupted: {kept}", err=True)
                ctx.exit(INTERRUPTED)
            except Exception as error:
                if getattr(error, "errno", None) == errno.EPIPE:
                    raise
                if debug:
                    traceback.print_exc()
                click.echo(f"error: {_explanation(error, self)}", err=True)
                ctx.exit(1)


def when_interrupted(message: str) -> None:
    """Set what the line after Ctrl-C says is kept.

    Parameters
    ----------
    message : str
    """
    click.get_current_context().meta[_KEPT] = message


def check_new_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a file to be made that exists, or whose folder does not.

    Parameters
    ----------
    path : Path
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    OutputError
    """
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; make it first")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists already; choose another name or allow overwriting")


def in_options(message: str, command: click.Command) -> str:
    """Name the options of a command where a message names parameters of Python.

    Parameters
    ----------
    message : str
    command : click.Command

    Returns
    -------
    str

    Examples
    --------
    >>> option = click.Option(["--missing"])
    >>> in_options("use missing='omit'", click.Command("fit", params=[option]))
    'use --missing omit'
    """
    options = {
        str(option.name): max(option.opts, key=len)
        for option in command.params
        if isinstance(option, click.Option)
    }
    if "components" in options:
        options["n_components"] = options["components"]
    if "seed" in options:
        options["random_state"] = options["seed"]
    names = "|".join(sorted(options, key=len, reverse=True))
    message = re.sub(
        rf"\b({names})=(?:'([^']+)'|(\d+))",
        lambda found: f"{options[found[1]]} {found[2] or found[3]}",
        message,
    )
    if "memory_limit" in options:
        message = message.replace("(memory_limit)", "(--memory-limit)")
    if "overwrite" in options:
        message = message.replace("allow overwriting", "give --overwrite")
    return message


def _explanation(error: Exception, command: click.Command) -> str:
    """Return an error as one line, in the words of the command line."""
    message = str(error).split("\n\n")[0]
    line = in_options(" ".join(message.split()), command)
    if isinstance(error, BigtensorError):
        return line
    kind = type(error).__name__
    return (
        f"{kind}: {line} (this was not expected; run the same command with --debug for the "
        "traceback, and please report it)"
    )


@contextmanager
def _one_line_warnings(command: click.Command, *, show_all: bool) -> Iterator[None]:
    """Show every warning once, as one line; those of other libraries only on request."""
    shown = set[str]()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if isinstance(message, BigtensorWarning):
            text = in_options(text, command)
        if text not in shown:
            shown.add(text)
            click.echo(f"warning: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default" if show_all else "ignore")
        warnings.simplefilter("always", BigtensorWarning)
        warnings.showwarning = show
        yield


@contextmanager
def _quiet_loggers(*, debug: bool) -> Iterator[None]:
    """Silence the logs of the libraries below: what they report arrives as an exception."""
    loggers = [] if debug else [logging.getLogger(name) for name in _NOISY_LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
