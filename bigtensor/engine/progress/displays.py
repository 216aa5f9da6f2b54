"""Displays of progress: bars on a terminal, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress


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
        self._task = self._progress.add_task(without_control_characters(name), total=None, words="")

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


class CurrentBar(Bars):
    """One bar for the step that runs, which is removed when the step ends."""

    def end(self, done: int | None, words: str) -> None:  # noqa: ARG002
        """Remove the bar."""
        self.leave()


def without_control_characters(name: str) -> str:
    r"""Return a name in which characters that steer a terminal are escapes.

    Variables of the data are part of the names of some passes.

    Examples
    --------
    >>> without_control_characters("weights by a\x1b[2J")
    'weights by a\\x1b[2J'
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name)
