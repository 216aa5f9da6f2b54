"""Unexpected ends of worker processes, from the reports of their nannies."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from bigtensor.data.stores.process_wide import ProcessWide
from bigtensor.errors import Message, Setting

if TYPE_CHECKING:
    from distributed import Client

START_ATTEMPTS = 3
"""Worker processes that may end while they start, one after the other, before a run gives up."""

ENDS_WITHOUT_RESULT = 6
"""Ends of every worker since the last finished task before a run gives up: more than the four that
Dask allows to one task, whose error says more."""

UNGUARDED = 77
"""Exit status of a worker that imported a script which starts workers while it is imported."""

_LOGGER = "distributed.nanny"

_MEMORY = "memory budget"
_SIGNAL = re.compile(r"killed by signal (\d+)")
_STATUS = re.compile(r"exited with status (\d+)")


class WorkerEnds(logging.Handler):
    """Collects the log entries of nannies of this process about the ends of worker processes."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.reports: list[str] = []
        self._over_memory_limit = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the report of an end, with its reason where the nanny ended the worker itself."""
        report = record.getMessage()
        if _MEMORY in report:
            self._over_memory_limit = report
        elif _SIGNAL.search(report) or _STATUS.search(report):
            self.reports.append(self._over_memory_limit or report)
            self._over_memory_limit = ""

    @property
    def unguarded(self) -> bool:
        """True if a worker ended because the main script has no guard."""
        return any(f"status {UNGUARDED}" in report for report in self.reports)

    def explain(self) -> Message:
        """Return the end of the last worker and a remedy."""
        report = self.reports[-1] if self.reports else ""
        if _MEMORY in report:
            return (
                "it used more memory than it may; give "
                + Setting("memory_limit")
                + " a larger value, or use fewer workers"
            )
        if killed := _SIGNAL.search(report):
            number = int(killed[1])
            if number == signal.SIGKILL:
                return (
                    "it was killed by signal 9 (SIGKILL), as the system does when memory runs out; "
                    "use fewer workers or " + Setting("scheduler", "threads") + ", or free memory"
                )
            return f"it was killed by signal {number} ({_name(number)}); " + _SAID
        if left := _STATUS.search(report):
            return f"it exited with status {left[1]}; " + _SAID
        return "no reason is known; " + _SAID


_SAID = (
    "look at its own message on standard error, such as an import that failed, or use "
    + Setting("scheduler", "threads")
)

_watched: WeakKeyDictionary[Any, WorkerEnds] = WeakKeyDictionary()


@contextmanager
def watch_worker_ends() -> Iterator[WorkerEnds]:
    """Collect reports of workers that end until the block is left."""
    ends, logger = WorkerEnds(), logging.getLogger(_LOGGER)
    logger.addHandler(ends)
    try:
        with _reporting:
            yield ends
    finally:
        logger.removeHandler(ends)


@contextmanager
def _reports_made() -> Iterator[None]:
    """Let nannies report ends where a caller lets Dask log errors only."""
    logger = logging.getLogger(_LOGGER)
    before = logger.level
    if not logger.isEnabledFor(logging.INFO):
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)


_reporting = ProcessWide(_reports_made)


def attach_worker_ends(client: Client, ends: WorkerEnds) -> None:
    """Note the reports that belong to the client of a cluster that was started here."""
    _watched[client] = ends


def worker_ends_of(client: Client) -> WorkerEnds | None:
    """Return the reports of a cluster that was started here, or None for any other cluster."""
    return _watched.get(client)


def _name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
