"""Output of commands: words on standard output, JSON on request, no control characters."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TextIO

import click

from bigtensor.errors import OutputError, without_passwords

CLOSED_PIPE = 141
"""Exit code after a reader such as ``head`` closed the pipe: 128 and the number of SIGPIPE, as
shells do it."""

_QUIET, _JSON, _BEGIN = "bigtensor.quiet", "bigtensor.json", "bigtensor.begin"

MOST_FEATURES = 60
"""Features of a store that are listed: those of a panel, but not thousands of genes."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
)
"""Characters that move a terminal's cursor or change its state, those that turn the order of text
round, and surrogates, which UTF-8 cannot hold. Line ends and tabs are kept."""


def set_output(context: click.Context, *, quiet: bool, as_json: bool) -> None:
    """Set what a command prints, see `say`, and start its clock, see `seconds_taken`.

    Parameters
    ----------
    context : click.Context
        Of the command.
    quiet : bool
        Whether words are left out.
    as_json : bool
        Whether facts are printed in place of words.
    """
    context.meta[_QUIET], context.meta[_JSON] = quiet, as_json
    context.meta[_BEGIN] = time.perf_counter()


def seconds_taken() -> float:
    """Return the seconds since the running command began, with all that it waited for."""
    begin: float = click.get_current_context().meta[_BEGIN]
    return time.perf_counter() - begin


def took_in_all(seconds: float) -> str:
    """Return the last line of a command's words: how long it took."""
    from bigtensor.engine.progress.reporter import duration

    return f"took       {duration(seconds)} in all"


def is_quiet() -> bool:
    """Return True if the running command prints facts, warnings and errors only."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_QUIET) or context.meta.get(_JSON))


def say(words: str | None, facts: Mapping[str, Any] | None = None) -> None:
    """Print what a command found on standard output.

    Parameters
    ----------
    words : str or None
        For people; nothing with ``--quiet`` or ``--json``.
    facts : mapping, optional
        The same for programs: one JSON object, printed with ``--json``.
    """
    context = click.get_current_context(silent=True)
    if facts is not None and context is not None and context.meta.get(_JSON):
        text = json.dumps(_finite(facts), default=_plain, allow_nan=False)
        _print(without_passwords(text))
    elif words is not None and not is_quiet():
        _print(printable(words))


def complain(words: str) -> None:
    """Print a line on standard error."""
    try:
        click.echo(printable(words), err=True)
    except OSError as error:
        _discard(sys.stderr)
        _end_if_closed(error)
        # a full disk under a log ends no work


def _print(text: str) -> None:
    """Print on standard output, or raise an OutputError."""
    try:
        click.echo(text)
    except OSError as error:
        _discard(sys.stdout)
        _end_if_closed(error)
        raise OutputError(_unwritten(error)) from error


def refuse_output(error: OSError) -> NoReturn:
    """End the program because help cannot be printed on standard output."""
    _discard(sys.stdout)
    complain(f"error: {_unwritten(error)}")
    sys.exit(1)


def _unwritten(error: OSError) -> str:
    """Say that standard output cannot be written, and what to do."""
    return (
        f"standard output cannot be written ({error.strerror or error}); make room on its disk, "
        "or write it to another file"
    )


def _end_if_closed(error: OSError) -> None:
    """End the command without a word if nobody reads the pipe any more."""
    if error.errno == errno.EPIPE:
        raise click.exceptions.Exit(CLOSED_PIPE) from error


def _discard(stream: TextIO) -> None:
    """Send what a stream still holds to nowhere: Python would fail to write it at its end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def printable(text: str) -> str:
    r"""Return text without passwords, in which characters that steer a terminal are escapes.

    Names come from files of others; one with an escape sequence could hide what follows it, or
    set the title of a window. A URL may hold a password, and batch systems keep what is printed.

    Examples
    --------
    >>> printable("CD3\x1b[2J")
    'CD3\\x1b[2J'
    """
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], without_passwords(text))


def one_line(name: str) -> str:
    """Return a name of others without line ends, which could pass for lines of the command."""
    return printable(name.replace("\n", "\\n").replace("\t", "\\t"))


def shortened(names: Sequence[str], most: int = 6) -> str:
    """List the first names."""
    more = f", ... {len(names)} in all" if len(names) > most else ""
    return ", ".join(map(one_line, names[:most])) + more


def _plain(value: object) -> object:
    """Return what JSON can hold of an object of NumPy, or of a path."""
    return _finite(value.tolist()) if hasattr(value, "tolist") else str(value)


def _finite(value: object) -> object:
    """Return facts with null for NaN and infinities, which JSON cannot hold."""
    if isinstance(value, Mapping):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
