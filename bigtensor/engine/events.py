"""Events of a pass, for the progress bar, the log, the diagnostics and the callbacks."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

logger = logging.getLogger("bigtensor")

Kind = Literal["pass started", "part finished", "pass finished"]


@dataclass(frozen=True)
class Event:
    """Something that happened while a pass ran.

    Attributes
    ----------
    kind : str
        ``"pass started"``, ``"part finished"`` or ``"pass finished"``.
    name : str
        The name of the pass.
    rows : int
        Rows done so far in this pass.
    total_rows : int
        Rows of the pass.
    parts, total_parts : int
        Parts done so far, and all of them.
    reused : int
        Parts that were read from the checkpoint instead of being computed.
    start, stop : int
        The first row of a finished part and the row after its last; 0 otherwise. A part of a pass
        over chosen rows may leave out rows between them.
    seconds : float
        Since the pass started.
    repeated_reads : int
        Reads of this pass that a disk or a network failed and that were made again.
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


Listener = Callable[[Event], None]


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
    started: float = field(default_factory=time.perf_counter)

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

    def _tell(self, kind: Kind, start: int = 0, stop: int = 0) -> None:
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
            time.perf_counter() - self.started,
            self.repeated_reads,
        )
        logger.debug("%s: %s", kind, event)
        for listener in self.listeners:
            listener(event)
