"""What every command does alike: warnings in one line, errors in one line, signals, exit codes."""

from __future__ import annotations

import errno
import logging
import re
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from bigtensor.cli.output import complain, set_output
from bigtensor.errors import BigtensorError, BigtensorWarning

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM: 128 and the number of the signal, as shells do it."""

_KEPT = "bigtensor.kept"
_NOISY_LOGGERS = ("distributed", "tornado", "asyncio", "concurrent")


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: what a batch system or a service manager sends before it kills."""


class Command(click.Command):
    """A command whose failures end in one line on standard error and an exit code.

    Every command has the options ``--quiet`` and ``--debug``, which adds the traceback and the
    warnings of other libraries.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(
                ["--quiet", "-q"], is_flag=True, help="Print nothing but warnings and errors."
            ),
            click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."),
        ]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and turn what goes wrong into words and an exit code."""
        debug, quiet, as_json = (
            bool(ctx.params.pop(name, False)) for name in ("debug", "quiet", "json")
        )
        set_output(ctx, quiet=quiet, as_json=as_json)
        with (
            _one_line_warnings(self, show_all=debug),
            _quiet_loggers(debug=debug),
            _termination_raises(),
        ):
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort):
                raise
            except KeyboardInterrupt as signalled:
                kept = ctx.meta.get(_KEPT, Kept(()))
                terminated = isinstance(signalled, Terminated)
                how = "terminated" if terminated else "interrupted"
                complain(f"{how}: {kept.in_words()}")
                ctx.exit(TERMINATED if terminated else INTERRUPTED)
            except Exception as error:
                if getattr(error, "errno", None) == errno.EPIPE:
                    raise
                if debug:
                    traceback.print_exc()
                complain(f"error: {_explanation(error, self)}")
                ctx.exit(1)


class FactsCommand(Command):
    """A command that prints what it found as one JSON object with ``--json``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(["--json"], is_flag=True, help="Print one JSON object in place of words.")
        )


class Kept:
    """What there is to keep when a command is interrupted.

    Parameters
    ----------
    outputs : sequence of Path
        What the command makes; each appears under its name when it is whole.
    otherwise : str
        What to say when none of them is there yet.
    """

    def __init__(self, outputs: Sequence[Path], otherwise: str = "nothing was written") -> None:
        self._before = {path: _identity(path) for path in outputs}
        self._otherwise = otherwise

    def in_words(self) -> str:
        """Say which outputs have been made."""
        made = [str(path) for path, before in self._before.items() if _identity(path) != before]
        return f"{' and '.join(made)} had been written" if made else self._otherwise


def when_interrupted(outputs: Sequence[Path], otherwise: str = "nothing was written") -> None:
    """Set what the line after Ctrl-C says is kept: see `Kept`.

    Parameters
    ----------
    outputs : sequence of Path
    otherwise : str
    """
    click.get_current_context().meta[_KEPT] = Kept(outputs, otherwise)


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
        rf"\b({names})=('[^']+'(?: or '[^']+')*|\d+|(?!\S)|(?=[);,.]))",
        lambda found: f"{options[found[1]]} {found[2]}".replace("'", "").rstrip(),
        message,
    )
    message = re.sub(rf"\b({names})=True", lambda found: options[found[1]], message)
    # these names are no words of English
    message = re.sub(r"\bn_\w+\b", lambda found: options.get(found[0], found[0]), message)
    message = re.sub(r"(--[\w-]+)([^();]*) \(\1\)", r"\1\2", message)
    if "memory_limit" in options:
        message = message.replace("(memory_limit)", "(--memory-limit)")
    if "overwrite" in options:
        message = message.replace("allow overwriting", "give --overwrite")
    return message


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells an output from one of the same name that it replaces."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


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
            complain(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default" if show_all else "ignore")
        warnings.simplefilter("always", BigtensorWarning)
        warnings.showwarning = show
        yield


@contextmanager
def _termination_raises() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does: outputs that are not whole are removed."""

    def terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, terminate)
    except ValueError:
        # signals belong to the main thread, and this is another one
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
