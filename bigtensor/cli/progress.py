"""Progress on standard error: a bar a pass or step on a terminal, lines of text anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from bigtensor.cli.output import complain, is_quiet, printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from bigtensor.data.values.row_progress import RowProgress
    from bigtensor.engine.events import Event

LINE_SECONDS = 10.0
"""Seconds between two lines of a long pass where there is no terminal."""

SHORT_SECONDS = 1.0
"""Steps of the driver that take less leave nothing behind."""


class Display(Protocol):
    """Shows one step of work at a time."""

    def begin(self, name: str) -> None:
        """Start a step."""

    def show(self, done: int, total: int | None, words: str) -> None:
        """Show how far the step has come."""

    def end(self, done: int | None, words: str) -> None:
        """Show that the step is finished, with its rows if it has any."""

    def leave(self) -> None:
        """End the step and show nothing of it."""

    def wait(self, words: str) -> None:
        """Show that the step has to wait."""


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
        share = "" if not total else f"{done / total:.0%} of {total:,} rows, "
        complain(f"{self._name}: {share}{words}")

    def end(self, done: int | None, words: str) -> None:
        """Write a line."""
        rows = "" if done is None else f"{done:,} rows, "
        complain(f"{self._name}: {rows}{words}")

    def leave(self) -> None:
        """Write nothing."""

    def wait(self, words: str) -> None:
        """Write a line."""
        complain(f"{self._name}: {words}")


class Silence:
    """Shows nothing."""

    def begin(self, name: str) -> None:
        """Start a step."""

    def show(self, done: int, total: int | None, words: str) -> None:
        """Go on."""

    def end(self, done: int | None, words: str) -> None:
        """End a step."""

    def leave(self) -> None:
        """End a step."""

    def wait(self, words: str) -> None:
        """Go on."""


class Bars:
    """One bar a step, on a terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def begin(self, name: str) -> None:
        """Add a bar."""
        self._task = self._progress.add_task(printable(name), total=None, words="")

    def show(self, done: int, total: int | None, words: str) -> None:
        """Move the bar."""
        self._progress.update(self._task, total=total, completed=done, words=words)

    def end(self, done: int | None, words: str) -> None:
        """Fill the bar."""
        self._progress.update(self._task, total=done or 1, completed=done or 1, words=words)

    def leave(self) -> None:
        """Remove the bar."""
        self._progress.remove_task(self._task)

    def wait(self, words: str) -> None:
        """Write beside the bar."""
        self._progress.update(self._task, words=words)


class Reporter:
    """Turns what models and importers tell into what a display shows.

    Parameters
    ----------
    display : Display
        Display to write to.
    """

    def __init__(self, display: Display) -> None:
        self._display = display
        self._reused_parts = 0
        self._computed = 0
        self._rows = 0

    def listen(self, event: Event) -> None:
        """Take one event of a pass or step: a listener of ``fit`` and ``write``."""
        if event.kind.startswith("step"):
            self._listen_to_step(event)
        elif event.kind == "pass started":
            self._reused_parts = self._computed = self._rows = 0
            self._display.begin(event.name)
        elif event.kind == "part finished":
            reused = event.reused > self._reused_parts
            self._reused_parts = event.reused
            self._computed += 0 if reused else event.rows - self._rows
            self._rows = event.rows
            left = event.total_rows - event.rows
            words = pace(self._computed, event.seconds, left)
            self._display.show(event.rows, event.total_rows, words)
        elif event.kind == "waiting for workers":
            since = "" if event.seconds < 1 else f", none for {duration(event.seconds)}"
            self._display.wait(f"waiting for workers{since}")
        else:
            words = _summary(self._computed, event.reused, event.seconds)
            if event.repeated_reads:
                words += f", {event.repeated_reads} failed reads repeated"
            if event.lost_workers:
                words += f", workers lost: {event.lost_workers}"
            self._display.end(event.rows, words)

    def _listen_to_step(self, event: Event) -> None:
        """Take one event of a step of the driver."""
        if event.kind == "step started":
            self._display.begin(event.name)
        elif event.kind == "step advanced":
            self._display.show(0, None, f"{event.parts} of at most {event.total_parts}")
        elif event.seconds < SHORT_SECONDS:
            self._display.leave()
        else:
            self._display.end(None, duration(event.seconds))

    @contextmanager
    def rows(self, name: str) -> Iterator[RowProgress]:
        """Show one step that is not a pass; it ends with the ``with`` block.

        Parameters
        ----------
        name : str
            Name of the step in the display.

        Yields
        ------
        callable
            Takes the rows done, and all rows or None.
        """
        started, latest = time.perf_counter(), -1

        def advance(done: int, total: int | None) -> None:
            nonlocal latest
            if latest < 0:
                self._display.begin(name)
            latest = done
            left = None if total is None else total - done
            self._display.show(done, total, pace(done, time.perf_counter() - started, left))

        yield advance
        if latest >= 0:
            self._display.end(latest, _summary(latest, 0, time.perf_counter() - started))


@contextmanager
def reporter() -> Iterator[Reporter]:
    """Open the display that suits standard error, and none with ``--quiet``."""
    if is_quiet():
        yield Reporter(Silence())
        return
    if not sys.stderr.isatty():
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


def pace(rows: int, seconds: float, left: int | None) -> str:
    """Say how fast rows go by, and how long the others will take.

    Parameters
    ----------
    rows : int
        Rows that were computed so far.
    seconds : float
        In this time.
    left : int, optional
        Rows to come, where that is known.
    """
    if not rows or seconds <= 0:
        return ""
    speed = rows / seconds
    remaining = "" if left is None else f", {duration(left / speed)} left"
    return f"{speed:,.0f} rows/s{remaining}"


def duration(seconds: float) -> str:
    """Return a length of time in two units at most."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _summary(computed: int, reused_parts: int, seconds: float) -> str:
    """Say how a finished step went."""
    if reused_parts and not computed:
        return "read from the checkpoint"
    speed = pace(computed, seconds, None)
    again = f", {reused_parts} parts from the checkpoint" if reused_parts else ""
    return f"{duration(seconds)}" + (f", {speed}" if speed else "") + again
