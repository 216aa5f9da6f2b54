"""Progress on standard error: a bar a pass or step on a terminal, lines of text anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from bigtensor.cli.output import complain, is_quiet
from bigtensor.engine.progress.displays import Bars, Silence
from bigtensor.engine.progress.reporter import Reporter, duration
from bigtensor.models.words.wording import name_and_number

LINE_SECONDS = 10.0
"""Seconds between two lines of a long pass where there is no terminal."""


class Lines:
    """Lines of text, for logs. Later passes of one name and other numbers share a line."""

    def __init__(self) -> None:
        self._stems: set[str] = set()
        self._repeated: dict[str, list[tuple[str, float]]] = {}
        self._since = 0.0

    def begin(self, name: str) -> None:
        """Start a step."""
        self._name = name
        self._began = self._last = time.perf_counter()

    def show(self, done: int, total: int | None, words: str) -> None:
        """Write a line now and then."""
        if time.perf_counter() - self._last < LINE_SECONDS:
            return
        self._last = time.perf_counter()
        self._write_repeated()
        share = f"{done / total:.0%} of {total:,} rows" if total else ""
        complain(f"{self._name}: {', '.join(filter(None, (share, words)))}")

    def end(self, done: int | None, words: str) -> None:
        """Write a line."""
        rows = "" if done is None else f"{done:,} rows, "
        line, now = f"{self._name}: {rows}{words}", time.perf_counter()
        stem, number = name_and_number(self._name)
        is_first = not number or stem not in self._stems
        self._stems.add(stem)
        if is_first or "checkpoint" in words:
            self._write_repeated()
            complain(line)
            return
        self._since = self._since if self._repeated else self._began
        self._repeated.setdefault(stem, []).append((line, now - self._began))
        if now - self._since >= LINE_SECONDS:
            self._write_repeated()

    def leave(self) -> None:
        """Write the lines that are due."""
        self._write_repeated()

    def wait(self, words: str) -> None:
        """Write a line."""
        self._write_repeated()
        complain(f"{self._name}: {words}")

    def _write_repeated(self) -> None:
        """Write a line for the passes of every name since the last such line."""
        for stem, ended in self._repeated.items():
            seconds = sum(taken for _, taken in ended)
            several = f"{stem}: {len(ended)} more passes, {duration(seconds)} in all"
            complain(several if len(ended) > 1 else ended[0][0])
        self._repeated = {}


class _Terminal:
    """A stream to a terminal, which may be closed before the command ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text, if the terminal is still there."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered, if the terminal is still there."""
        with suppress(OSError):
            self._stream.flush()


@contextmanager
def reporter() -> Iterator[Reporter]:
    """Open the display that suits standard error, and none with ``--quiet``."""
    if is_quiet():
        yield Reporter(Silence())
        return
    # None if the user closed standard error
    if sys.stderr is None or not sys.stderr.isatty():
        lines = Lines()
        try:
            yield Reporter(lines)
        finally:
            lines.leave()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description:<12}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(
        *columns, console=Console(file=cast("TextIO", _Terminal(sys.stderr)))
    ) as progress:
        yield Reporter(Bars(progress))
