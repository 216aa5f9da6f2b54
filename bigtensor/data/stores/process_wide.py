"""Process-wide settings that several threads need at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any


class ProcessWide:
    """A setting that the first user makes and the last one undoes.

    Threads that each set and restore the same global value restore it out of order, and the last
    one leaves its own value behind for good.

    Parameters
    ----------
    make : callable
        Returns a context manager that holds while anybody uses the setting. It takes effect when
        it is called or when it is entered.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._users = 0
        self._setting: AbstractContextManager[Any] = nullcontext()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        """Replace the lock in a forked process, where the thread that holds it may be missing."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Make the setting unless somebody uses it already."""
        with self._lock:
            if self._users == 0:
                self._setting = self._make()
                self._setting.__enter__()
            self._users += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Undo the setting when nobody uses it any more."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._setting.__exit__(None, None, None)
