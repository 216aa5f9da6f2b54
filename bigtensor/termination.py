"""Signals that end a process, as errors."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["HungUp", "Terminated", "signals_raise"]

_RAISE_WAIT = 0.05
"""Seconds between a signal whose error Python would drop and the next attempt to raise it."""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: what a batch system or a service manager sends before it kills.

    Attributes
    ----------
    exit_code : int
        128 and the number of the signal, as shells do it.
    """

    exit_code = 143


class HungUp(Terminated):
    """SIGHUP arrived, because the terminal of the process was closed."""

    exit_code = 129


_ERRORS: dict[int, type[KeyboardInterrupt]] = {
    getattr(signal, name): error
    for name, error in (("SIGINT", KeyboardInterrupt), ("SIGTERM", Terminated), ("SIGHUP", HungUp))
    # Windows has no SIGHUP
    if hasattr(signal, name)
}


@contextmanager
def signals_raise() -> Iterator[None]:
    """Raise Ctrl-C, SIGTERM and SIGHUP as errors, so that what is not whole is removed.

    Ctrl-C is a `KeyboardInterrupt`, SIGTERM a `Terminated`, and SIGHUP, of a terminal that is
    closed, a `HungUp`. A signal that the process ignores, as SIGHUP under nohup, stays ignored.
    Threads other than the main one raise nothing.

    A signal while Python takes or removes the lock of a module is raised later. Python drops an
    error that is raised there, and keeps the lock of all imports: every later import, also of
    worker threads, would wait for ever. Python also drops an error that is raised in a callback of
    the garbage collector, as Dask has them, or in a destructor. The signal is then sent again.
    """
    raised_later: list[threading.Timer] = []

    def raise_later(number: int) -> None:
        timer = threading.Timer(_RAISE_WAIT, os.kill, [os.getpid(), number])
        raised_later.append(timer)
        timer.start()

    def end(number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            raise_later(number)
        else:
            raise _ERRORS[number]

    def raise_dropped(dropped: sys.UnraisableHookArgs) -> None:
        number = next((one for one, error in _ERRORS.items() if error is dropped.exc_type), None)
        if number in before:
            raise_later(number)
        else:
            hook_before(dropped)

    before, hook_before = {}, sys.unraisablehook
    # signals belong to the main thread
    if threading.current_thread() is threading.main_thread():
        # a shell lets a command in the background ignore Ctrl-C
        before = {
            number: signal.signal(number, end)
            for number in _ERRORS
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        sys.unraisablehook = raise_dropped
    try:
        yield
    finally:
        sys.unraisablehook = hook_before
        # a command that has ended is not to be interrupted any more
        for timer in raised_later:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
