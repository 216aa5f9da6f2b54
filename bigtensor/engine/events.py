"""Events of passes and of the driver's steps, for progress, log, diagnostics and callbacks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

logger = logging.getLogger("bigtensor")

Kind = Literal[
    "pass started",
    "part finished",
    "pass finished",
    "waiting for workers",
    "step started",
    "step advanced",
    "step finished",
]


@dataclass(frozen=True)
class Event:
    """Something that happened while a pass ran, or a step of the driver between passes.

    Attributes
    ----------
    kind : str
        ``"pass started"``, ``"part finished"``, ``"pass finished"``, ``"step started"``,
        ``"step advanced"`` or ``"step finished"``. While a cluster has no worker,
        ``"waiting for workers"`` is sent once a minute.
    name : str
        The name of the pass or of the step.
    rows : int
        Rows done so far in this pass.
    total_rows : int
        Rows of the pass.
    parts, total_parts : int
        Parts done so far, and all of them. Of a step the part that begins, from 1, and the largest
        number of parts; both are 0 for a step in one part.
    reused : int
        Parts that were read from the checkpoint instead of being computed.
    start, stop : int
        The first row of a finished part and the row after its last; 0 otherwise. A part of a pass
        over chosen rows may leave out rows between them.
    seconds : float
        Time since the pass or the step started. While workers are waited for, the time without a
        worker.
    repeated_reads : int
        Reads of this pass that a disk or a network failed and that were made again.
    lost_workers : int
        Workers that ended during this pass without being asked to. Their parts are computed again.
    at_once : int
        Tasks that run at once.
    """

    kind: Kind
    name: str
    rows: int
    total_rows: int
    parts: int
    total_parts: int
    reused: int = 0
    start: int = 0
    stop: int = 0
    seconds: float = 0.0
    repeated_reads: int = 0
    lost_workers: int = 0
    at_once: int = 1


Listener = Callable[[Event], None]

WATCHER: ContextVar[Listener | None] = ContextVar("watcher", default=None)
"""Listener of all passes and steps that begin here, beside those that callers give."""


@dataclass
class Progress:
    """Counts the parts of one pass and tells the listeners."""

    name: str
    total_rows: int
    total_parts: int
    listeners: Iterable[Listener] = ()
    rows: int = 0
    parts: int = 0
    reused: int = 0
    repeated_reads: int = 0
    lost_workers: int = 0
    at_once: int = 1
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        # parts are told of on other threads, which do not have the context
        self.listeners = _with_watcher(self.listeners)

    def start(self) -> None:
        """Announce the pass."""
        self._tell("pass started")

    def part(self, start: int, stop: int, rows: int, *, reused: bool) -> None:
        """Count one finished part."""
        self.rows += rows
        self.parts += 1
        self.reused += reused
        self._tell("part finished", start, stop)

    def finish(self) -> None:
        """Announce the end of the pass, also when it was read whole from a checkpoint."""
        if self.parts < self.total_parts:
            self.rows, self.parts, self.reused = (
                self.total_rows,
                self.total_parts,
                self.total_parts,
            )
        self._tell("pass finished")

    def wait(self, seconds: float) -> None:
        """Announce that there has been no worker for so long."""
        self._tell("waiting for workers", seconds=seconds)

    def _tell(
        self, kind: Kind, start: int = 0, stop: int = 0, seconds: float | None = None
    ) -> None:
        """Send an event to every listener and to the log."""
        event = Event(
            kind,
            self.name,
            self.rows,
            self.total_rows,
            self.parts,
            self.total_parts,
            self.reused,
            start,
            stop,
            time.perf_counter() - self.started if seconds is None else seconds,
            self.repeated_reads,
            self.lost_workers,
            self.at_once,
        )
        _send(event, self.listeners)


class Steps:
    """Tells the listeners which step of its own work the driver is in.

    Parameters
    ----------
    listeners : iterable of Listener
        Functions that are called with every event.
    """

    def __init__(self, listeners: Iterable[Listener]) -> None:
        self._listeners = _with_watcher(listeners)
        self._name = ""
        self._started = 0.0

    def advance(self, name: str, part: int, parts: int) -> None:
        """Announce a step, or the next part of the step that runs."""
        if name != self._name:
            self.finish()
            self._name, self._started = name, time.perf_counter()
            self._tell("step started")
        if parts:
            self._tell("step advanced", part, parts)

    def finish(self) -> None:
        """Announce the end of the step that runs, if there is one."""
        if self._name:
            self._tell("step finished")
            self._name = ""

    def _tell(self, kind: Kind, part: int = 0, parts: int = 0) -> None:
        """Send an event to every listener and to the log."""
        seconds = time.perf_counter() - self._started
        _send(Event(kind, self._name, 0, 0, part, parts, seconds=seconds), self._listeners)


def _with_watcher(listeners: Iterable[Listener]) -> tuple[Listener, ...]:
    """Return listeners with the one that watches the work from here."""
    watcher = WATCHER.get()
    return tuple(listeners) if watcher is None else (*listeners, watcher)


def _send(event: Event, listeners: Iterable[Listener]) -> None:
    """Send an event to the log and to every listener."""
    logger.debug("%s: %s", event.kind, event)
    for listener in listeners:
        listener(event)
