"""Requests to stop, which long computations check between their steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from bigtensor.array_types import FloatArray

STEPS_AT_ONCE = 2**26
"""Innermost steps of a compiled loop between two checks. They take some tenths of a second, in
which Ctrl-C has no effect."""


class StopRequested(BaseException):
    """The result of a computation is of no use any more, because its run was interrupted."""


_is_requested: ContextVar[Callable[[], bool] | None] = ContextVar("is_requested", default=None)


@contextmanager
def stoppable(is_requested: Callable[[], bool]) -> Iterator[None]:
    """Let the computations of this thread stop early.

    Only the main thread receives signals such as Ctrl-C.

    Parameters
    ----------
    is_requested : callable
        Returns True when the result is of no use any more.
    """
    token = _is_requested.set(is_requested)
    try:
        yield
    finally:
        _is_requested.reset(token)


def stop_if_requested() -> None:
    """Raise `StopRequested` if the result of the computation is of no use any more."""
    is_requested = _is_requested.get()
    if is_requested is not None and is_requested():
        raise StopRequested


def stoppable_pieces(steps: FloatArray) -> Iterator[slice]:
    """Cut rows for a compiled loop, and check for a request to stop before each piece.

    Parameters
    ----------
    steps : (n,) float64 array
        Innermost steps that the loop takes for every row.

    Yields
    ------
    slice
        Consecutive rows of `STEPS_AT_ONCE` steps at most, or one row that takes more.
    """
    ends, start = np.cumsum(steps), 0
    while start < len(steps):
        before = ends[start - 1] if start else 0.0
        fitting = int(np.searchsorted(ends, before + STEPS_AT_ONCE, side="right"))
        stop = max(fitting, start + 1)
        stop_if_requested()
        yield slice(start, stop)
        start = stop
