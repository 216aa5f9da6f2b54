"""BLAS on one thread inside tasks, so that a result does not depend on where it is computed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import threadpoolctl

from bigtensor.data.stores.process_wide import ProcessWide


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread in the calling thread, and in the process until the last user leaves.

    Where BLAS has a thread pool of the process, only the thread that took control of it can
    change its size or set it back, and it would do so while others still compute. A thread of our
    own therefore holds the limit as long as anybody needs it. Where BLAS has a pool for every
    calling thread, the limit of the calling thread is what counts. A thread that has the limit
    already takes it for granted, because to take it costs as much as a pass over few rows.
    """
    if getattr(_this_thread, "is_limited", False):
        yield
        return
    with _keeper, _controller(len(sys.modules)).limit(limits=1):
        _this_thread.is_limited = True
        try:
            yield
        finally:
            _this_thread.is_limited = False


_this_thread = threading.local()


@lru_cache(maxsize=1)
def _controller(modules: int) -> threadpoolctl.ThreadpoolController:  # noqa: ARG001
    """Return the loaded BLAS libraries; looking for them takes milliseconds, as long as a task.

    Libraries come with imports: they are looked for again when there are more ``modules``.
    """
    return threadpoolctl.ThreadpoolController()


@contextmanager
def _kept_in_a_thread() -> Iterator[None]:
    """Hold the limit in a separate thread."""
    limited, done = threading.Event(), threading.Event()

    def keep() -> None:
        threadpoolctl.OpenBLASController.clear_controlling_thread(force=True)
        with _controller(len(sys.modules)).limit(limits=1):
            limited.set()
            done.wait()

    thread = threading.Thread(target=keep, name="bigtensor-blas", daemon=True)
    thread.start()
    limited.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


_keeper = ProcessWide(_kept_in_a_thread)
