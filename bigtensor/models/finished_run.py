"""What is left of a script of passes when it has run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ran:
    """A script of passes that has run.

    Attributes
    ----------
    result : object
        What the script returned.
    views : Views
        Of the last pass: a script may have narrowed those that it was given.
    plan : Plan
    passes : list of dict
        Name, rows, parts and reused parts of every pass.
    rows_left_out : int
    """

    result: Any
    views: Any
    plan: Any
    passes: list[dict[str, Any]]
    rows_left_out: int


def finished_passes(events: Iterable[Any]) -> list[dict[str, Any]]:
    """Return name, rows, parts and reused parts of the passes that are finished.

    Parameters
    ----------
    events : iterable of Event
    """
    return [
        {
            "name": event.name,
            "rows": event.total_rows,
            "parts": event.total_parts,
            "reused_parts": event.reused,
        }
        for event in events
        if event.kind == "pass finished"
    ]
