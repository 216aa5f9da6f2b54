"""Progress on standard error: a bar a pass or step on a terminal, lines of text anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bigtensor.cli.output import complain, is_quiet
from bigtensor.engine.progress.displays import Bars, Silence
from bigtensor.engine.progress.reporter import Reporter

LINE_SECONDS = 10.0
"""Seconds between two lines of a long pass where there is no terminal."""


class Lines:
    """Lines of text, for logs."""

    def begin(self, name: str) -> None:
        """Start a step."""
        self._name = name
        self._last = time.perf_counter()

    def show(self, done: int, total: int | None, words: str) -> None:
        """Write a line now and then."""
        if time.perf_counter() - self._last < LINE_SECONDS:
            return
        self._last = time.perf_counter()
        share = f"{done / total:.0%} of {total:,} rows" if total else ""
        complain(f"{self._name}: {', '.join(filter(None, (share, words)))}")

    def end(self, done: int | None, words: str) -> None:
        """Write a line."""
        rows = "" if done is None else f"{done:,} rows, "
        complain(f"{self._name}: {rows}{words}")

    def leave(self) -> None:
        """Write nothing."""

    def wait(self, words: str) -> None:
        """Write a line."""
        complain(f"{self._name}: {words}")


@contextmanager
def reporter() -> Iterator[Reporter]:
    """Open the display that suits standard error, and none with ``--quiet``."""
    if is_quiet():
        yield Reporter(Silence())
        return
    # None if the user closed standard error
    if sys.stderr is None or not sys.stderr.isatty():
        yield Reporter(Lines())
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description:<12}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield Reporter(Bars(progress))
