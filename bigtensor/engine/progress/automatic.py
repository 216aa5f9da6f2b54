"""Progress that is shown by itself while Python waits for long work."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import wraps
from importlib import import_module
from types import TracebackType
from typing import Any, ParamSpec, Protocol, TypeVar

from bigtensor.engine.events import WATCHER, Event
from bigtensor.engine.progress.displays import CurrentBar
from bigtensor.engine.progress.notebook_bar import NotebookBar
from bigtensor.engine.progress.reporter import Reporter
from bigtensor.errors import ParameterError, Setting

DELAY_SECONDS = 1.5
"""Work that takes less shows no progress."""

_setting = {"shown": True}

_P = ParamSpec("_P")
_T = TypeVar("_T")


class set_progress:  # noqa: N801  (called as a function, as `xarray.set_options` is)
    """Show progress of long work, or show none.

    While a model is fitted or answers, a bar is shown on a terminal and in a notebook if the work
    takes longer than 1.5 seconds, and it is removed afterwards. Elsewhere nothing is shown, so that
    scripts and logs stay clean.

    Parameters
    ----------
    shown : bool
        If False, no progress is shown from now on, or within a ``with`` block.

    Raises
    ------
    ParameterError
        When `shown` is neither True nor False.

    Examples
    --------
    >>> import bigtensor
    >>> with bigtensor.set_progress(False):
    ...     pass  # fits here are silent
    """

    def __init__(self, shown: bool) -> None:
        if not isinstance(shown, bool):
            raise ParameterError(Setting("shown") + f" is {shown!r}; expected True or False")
        self._before = _setting["shown"]
        _setting["shown"] = shown

    def __enter__(self) -> None:
        """Keep the setting until the end of the block."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the setting back."""
        _setting["shown"] = self._before


class _Screen(Protocol):
    """Place where progress appears after a while."""

    def open(self) -> Reporter:
        """Begin to show, and return what takes the events."""

    def close(self) -> None:
        """Remove what was shown."""


class _Terminal:
    """Bar of rich on standard error."""

    def open(self) -> Reporter:
        """Start to draw a bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[words]}", markup=False),
        )
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.start()
        return Reporter(CurrentBar(self._progress))

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


class _Notebook:
    """Bar below the cell that runs."""

    def open(self) -> Reporter:
        """Put a bar below the cell."""
        display = import_module("IPython.display").display
        self._bar = NotebookBar(display({"text/html": ""}, raw=True, display_id=True))
        return Reporter(self._bar)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()


class Watcher:
    """Listener that opens a screen after a while and hands the events on to it.

    Parameters
    ----------
    screen : terminal or notebook
        Opened if the work takes longer than `delay`.
    delay : float
        Seconds.
    """

    def __init__(self, screen: _Screen, delay: float) -> None:
        self._screen, self._lock = screen, threading.Lock()
        self._reporter: Reporter | None = None
        self._begun: Event | None = None
        self._closed = False
        # a notebook knows the cell that an output belongs to by the context
        context = copy_context()
        self._timer = threading.Timer(delay, lambda: context.run(self._open))
        self._timer.daemon = True
        self._timer.start()

    def listen(self, event: Event) -> None:
        """Take an event."""
        with self._lock:
            if event.kind.endswith("started"):
                self._begun = event
            if self._reporter is not None:
                self._reporter.listen(event)
            if event.kind.endswith("finished") and not event.kind.startswith("part"):
                self._begun = None

    def close(self) -> None:
        """Remove what was shown."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._reporter is not None:
                self._screen.close()

    def _open(self) -> None:
        """Show the pass or step that runs."""
        with self._lock:
            if self._closed:
                return
            reporter = self._screen.open()
            if self._begun is not None:
                reporter.listen(self._begun)
            self._reporter = reporter


@contextmanager
def shown_progress(delay: float = DELAY_SECONDS) -> Iterator[None]:
    """Show the progress of the work in a ``with`` block, if anyone sees it.

    Parameters
    ----------
    delay : float
        Seconds until something is shown.
    """
    screen = None if WATCHER.get() is not None else _screen()
    if screen is None:
        yield
        return
    watcher = Watcher(screen, delay)
    token = WATCHER.set(watcher.listen)
    try:
        yield
    finally:
        WATCHER.reset(token)
        watcher.close()


def with_shown_progress(generator: Callable[_P, Iterator[_T]]) -> Callable[_P, Iterator[_T]]:
    """Return the function of a context manager, whose ``with`` block shows its progress."""

    @wraps(generator)
    def shown(*args: _P.args, **options: _P.kwargs) -> Iterator[_T]:
        with shown_progress():
            yield from generator(*args, **options)

    return shown


def _screen() -> _Screen | None:
    """Return the place where a person sees the progress, if there is one."""
    # tasks of Dask run on other threads: they are parts of work that has a bar already
    if not _setting["shown"] or threading.current_thread() is not threading.main_thread():
        return None
    if hasattr(_shell(), "kernel"):
        return _Notebook()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


def _shell() -> Any:
    """Return the shell of IPython that runs this code, if there is one."""
    package = sys.modules.get("IPython")
    return None if package is None else package.get_ipython()
