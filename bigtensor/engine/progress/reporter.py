"""Events of passes and steps, and numbers of rows, as what a display shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bigtensor.engine.progress.displays import Display

if TYPE_CHECKING:
    from bigtensor.data.values.row_progress import RowProgress
    from bigtensor.engine.events import Event

SHORT_SECONDS = 1.0
"""Steps of the driver that take less leave nothing behind."""


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
        self._rows = 0
        self._speed = Speed()

    def listen(self, event: Event) -> None:
        """Take one event of a pass or step: a listener of ``fit`` and ``write``."""
        if event.kind.startswith("step"):
            self._listen_to_step(event)
        elif event.kind == "pass started":
            self._reused_parts = self._rows = 0
            self._speed = Speed()
            self._display.begin(event.name)
            self._display.show(0, event.total_rows, "starting")
        elif event.kind == "part finished":
            reused = event.reused > self._reused_parts
            self._reused_parts = event.reused
            if not reused:
                self._speed.count(event.rows - self._rows, event.seconds, event.at_once)
            self._rows = event.rows
            left = event.total_rows - event.rows
            self._display.show(event.rows, event.total_rows, self._speed.in_words(left))
        elif event.kind == "waiting for workers":
            since = "" if event.seconds < 1 else f", none for {duration(event.seconds)}"
            self._display.wait(f"waiting for workers{since}")
        else:
            words = _summary(self._speed, event.reused, event.seconds)
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
            seconds = time.perf_counter() - started
            speed = pace(latest, seconds, None)
            self._display.end(latest, duration(seconds) + (f", {speed}" if speed else ""))


@dataclass
class Speed:
    """Rows of a pass in a second, once every worker has finished its first part.

    The first part of a worker takes seconds longer than others, because modules are imported and
    functions are compiled. Its rows and its time do not count: the first of two passes over 200,000
    rows took ten times as long as the second one.

    Attributes
    ----------
    parts, rows : int
        Parts and rows that were computed so far.
    seconds : float
        Time of the last part since the pass started.
    first_rows, first_seconds : int and float
        Rows and time of the last of the first parts.
    first_parts : int
        Number of the first parts.
    """

    parts: int = 0
    rows: int = 0
    seconds: float = 0.0
    first_rows: int = 0
    first_seconds: float = 0.0
    first_parts: int = 0

    def count(self, rows: int, seconds: float, at_once: int) -> None:
        """Count a part of `rows` rows that was finished `seconds` after the start of the pass.

        `at_once` is the number of tasks that run at once.
        """
        self.parts, self.rows, self.seconds = self.parts + 1, self.rows + rows, seconds
        if self.parts <= at_once:
            self.first_parts, self.first_rows, self.first_seconds = self.parts, self.rows, seconds

    def in_words(self, left: int | None) -> str:
        """Return the speed and the time that `left` rows take; nothing while too few are done."""
        if self.parts < 2 * self.first_parts:
            return ""
        return pace(self.rows - self.first_rows, self.seconds - self.first_seconds, left)


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


def _summary(speed: Speed, reused_parts: int, seconds: float) -> str:
    """Say how a finished pass went."""
    if reused_parts and not speed.parts:
        return "read from the checkpoint"
    # beside the whole time, the speed of a small part of it would look wrong
    words = speed.in_words(None) if 2 * speed.first_seconds <= seconds else ""
    again = f", {reused_parts} parts from the checkpoint" if reused_parts else ""
    return f"{duration(seconds)}" + (f", {words}" if words else "") + again
