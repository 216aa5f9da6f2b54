"""Bar of progress in a notebook, without widgets."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from bigtensor.engine.progress.displays import without_control_characters

NOTEBOOK_SECONDS = 0.2
"""Shortest time between two changes of a bar."""


class NotebookBar:
    """Bar below a cell of a notebook: HTML that is replaced in place.

    Parameters
    ----------
    handle : DisplayHandle of IPython
        Output to replace.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._latest = 0.0

    def begin(self, name: str) -> None:
        """Start a bar without a length."""
        self._name = without_control_characters(name)
        self._update(None, None, "")
        self._latest = 0.0

    def show(self, done: int, total: int | None, words: str) -> None:
        """Move the bar, unless it has moved just now."""
        if time.perf_counter() - self._latest >= NOTEBOOK_SECONDS:
            self._update(done, total, words)

    def end(self, done: int | None, words: str) -> None:
        """Keep the bar until the next step."""

    def leave(self) -> None:
        """Keep the bar until the next step."""

    def wait(self, words: str) -> None:
        """Write beside the bar."""
        self._update(None, None, words)

    def close(self) -> None:
        """Remove the bar."""
        self._handle.update({"text/html": "", "text/plain": ""}, raw=True)

    def _update(self, done: int | None, total: int | None, words: str) -> None:
        """Replace the bar."""
        self._latest = time.perf_counter()
        text = self._name if not total else f"{self._name}: {(done or 0) / total:.0%}"
        plain = f"{text}, {words}" if words else text
        length = f'value="{done or 0}" max="{total}"' if total else ""
        page = (
            '<div style="font-family:sans-serif;font-size:13px">'
            f'<progress {length} style="width:16em;vertical-align:middle"></progress> '
            f"{escape(plain)}</div>"
        )
        self._handle.update({"text/html": page, "text/plain": plain}, raw=True)
