"""Base class of all commands: warnings and errors in one line, signals, exit codes."""

from __future__ import annotations

import atexit
import json
import logging
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.output import complain, set_output
from bigtensor.errors import (
    BigtensorError,
    BigtensorWarning,
    Message,
    Setting,
    message_of,
    shortened,
)
from bigtensor.termination import Terminated, signals_raise

if TYPE_CHECKING:
    from bigtensor.data.addresses.store_address import Address

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells do it."""

_OTHER_NAMES = {"n_components": "components", "random_state": "seed", "where": "condition"}
"""Options that click knows by another name than that of the parameter they set."""

OF_EVERY_COMMAND = ("json", "quiet", "debug")
"""Names of the values of the options that every command has."""

_KEPT = "bigtensor.kept"
_NOISY_LOGGERS = ("distributed", "tornado", "asyncio", "concurrent")


class Command(click.Command):
    """A command whose failures end in one line on standard error and an exit code.

    Every command has the options ``--json``, which prints one JSON object in place of words,
    ``--quiet`` and ``--debug``, which adds the traceback and the warnings of other libraries.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += [
            click.Option(["--json"], is_flag=True, help="Print one JSON object in place of words."),
            click.Option(
                ["--quiet", "-q"], is_flag=True, help="Print nothing but warnings and errors."
            ),
            click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."),
        ]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command, and turn what goes wrong into words and an exit code."""
        as_json, quiet, debug = (bool(ctx.params.pop(name, False)) for name in OF_EVERY_COMMAND)
        from bigtensor.engine.progress.automatic import set_progress

        set_output(ctx, quiet=quiet, as_json=as_json)
        signal_code = 0
        with (
            # commands have a display of their own
            set_progress(False),
            _one_line_warnings(self, show_all=debug),
            _quiet_loggers(debug=debug),
            signals_raise(),
        ):
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort):
                raise
            except KeyboardInterrupt as signalled:
                signal_code = end_by_signal(ctx, signalled)
            except Exception as error:
                if debug:
                    # errors of other libraries name URLs in full
                    complain(traceback.format_exc().rstrip())
                complain(f"error: {_explanation(error, self)}")
                ctx.exit(1)
        if not debug:
            _silence_unfinished_calls(_NOISY_LOGGERS)
        raise click.exceptions.Exit(signal_code)


class Kept:
    """Outputs of a command that are kept when it is interrupted.

    Parameters
    ----------
    outputs : sequence of Path or str
        What the command makes; each appears under its name when it is whole.
    otherwise : str or callable
        What to say when none of them is there yet, or a function that returns it.
    """

    def __init__(
        self, outputs: Sequence[Address], otherwise: str | Callable[[], str] = "nothing was written"
    ) -> None:
        self._before = {path: _identity(path) for path in outputs}
        self._otherwise = otherwise

    def in_words(self) -> str:
        """Say which outputs have been made."""
        made = [str(path) for path, before in self._before.items() if _identity(path) != before]
        if made:
            return f"{' and '.join(made)} had been written"
        return self._otherwise if isinstance(self._otherwise, str) else self._otherwise()


def end_by_signal(ctx: click.Context, signalled: KeyboardInterrupt) -> int:
    """Say after Ctrl-C, SIGTERM or SIGHUP what is kept, and return the exit code."""
    how, code = "interrupted", INTERRUPTED
    if isinstance(signalled, Terminated):
        how, code = "terminated", signalled.exit_code
    complain(f"{how}: {ctx.meta.get(_KEPT, Kept(())).in_words()}")
    return code


def when_interrupted(
    outputs: Sequence[Address], otherwise: str | Callable[[], str] = "nothing was written"
) -> None:
    """Set what the line after Ctrl-C says is kept: see `Kept`.

    Parameters
    ----------
    outputs : sequence of Path or str
        Stores and files that the command makes. Those that are whole are kept.
    otherwise : str or callable
        Words for the line if none of them is whole yet, or a function that returns them.
    """
    click.get_current_context().meta[_KEPT] = Kept(outputs, otherwise)


def written_for(command: click.Command, message: str) -> str:
    """Return a message that names parameters by the options of a command.

    A parameter without an option is written for Python.

    Parameters
    ----------
    command : click.Command
        Command whose options replace the names of parameters.
    message : str
        Parameters are known in a `Message` alone.

    Examples
    --------
    >>> command = click.Command("fit", params=[click.Option(["--missing"])])
    >>> written_for(command, "use " + Setting("missing", "omit"))
    'use --missing omit'
    """
    options = {option.name: option for option in command.params if isinstance(option, click.Option)}

    def write(setting: Setting) -> str:
        other = _OTHER_NAMES.get(setting.name, setting.name)
        option = options.get(setting.name, options.get(other))
        return setting if option is None else _as_option(option, setting)

    return message.written(write) if isinstance(message, Message) else message


def _as_option(option: click.Option, setting: Setting) -> str:
    """Return an option as it is given on the command line, with the values to choose from."""
    name = max(option.opts, key=len)
    if any(value is True for value in setting.values):
        return name
    if len(setting.values) == 1 and isinstance(table := setting.values[0], Mapping):
        lines = ", ".join(f"{key} = {json.dumps([*members])}" for key, members in table.items())
        return f"{name} FILE with the lines [{setting.name}], {lines}"
    return " ".join([name, " or ".join(map(str, setting.values))]).rstrip()


def _identity(address: Address) -> str | tuple[int, int] | None:
    """Return what tells an output from one of the same name that it replaces."""
    if isinstance(address, str):
        from bigtensor.data.stores.object_outputs import finished_version

        return finished_version(address)
    try:
        status = address.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _explanation(error: Exception, command: click.Command) -> str:
    """Return an error as one line, in the words of the command line."""
    message = shortened(written_for(command, message_of(error))).split("\n\n")[0]
    line = " ".join(message.split())
    if isinstance(error, BigtensorError):
        return line
    kind = type(error).__name__
    return (
        f"{kind}: {line} (this was not expected; run the same command with --debug for the "
        "traceback, and please report it)"
    )


@contextmanager
def _one_line_warnings(command: click.Command, *, show_all: bool) -> Iterator[None]:
    """Show every warning once, as one line. Warnings of other libraries appear on request."""
    shown = set[str]()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = message if isinstance(message, str) else written_for(command, message_of(message))
        text = " ".join(text.split())
        if text not in shown:
            shown.add(text)
            complain(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default" if show_all else "ignore")
        warnings.simplefilter("always", BigtensorWarning)
        warnings.showwarning = show
        yield


def _silence_unfinished_calls(names: Sequence[str]) -> None:
    """Silence what is said of unfinished calls while the interpreter ends.

    A signal leaves calls unfinished in the threads of Zarr and Dask. Python warns of each of them
    as soon as its thread lets go of it, and the event loop reports it with a traceback at the end.
    """
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    for name in names:
        atexit.register(logging.getLogger(name).setLevel, logging.CRITICAL + 1)


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
