"""Worker processes of a command, which signals reach through the command alone."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any


@contextmanager
def started(where: dict[str, Any], tasks: int | None = None) -> Iterator[dict[str, Any]]:
    """Start worker processes on this machine where they are wanted, and close them afterwards.

    Parameters
    ----------
    where : dict
        ``scheduler``, ``workers``, ``memory_limit`` and ``wait_for_workers``, as
        `bigtensor.cli.options.runtime` gives them.
    tasks : int, optional
        Tasks of the largest pass. No more processes than tasks are started.

    Yields
    ------
    dict
        Where passes run, as models take it: the client of the processes, or what was given.
    """
    if where["scheduler"] != "processes":
        yield where
        return
    from bigtensor.engine.clusters.local_cluster import local_cluster
    from bigtensor.engine.runtime import processes_to_start

    with ExitStack() as stack:
        with _signals_wait():
            count = processes_to_start(where["workers"], tasks)
            cluster = local_cluster(count, where["memory_limit"])
            client = stack.enter_context(cluster)
        try:
            yield {"client": client}
        finally:
            with _signals_wait():
                stack.close()


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold signals that end a command back until the end of the block.

    Ctrl-C and SIGHUP are held back for good from what is started in it.

    A terminal sends these two to all processes of a command. Workers would die of them with
    tracebacks before the command can stop them in order, and a cluster cannot be closed that is
    half started or half closed. Threads and processes inherit the mask of the thread that starts
    them, so that a worker started here, or again later by its nanny, never sees the signals.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # It is started with the first process, and lifts the mask of the thread that does so.
    resource_tracker.ensure_running()
    held: list[tuple[int, FrameType | None]] = []
    # Other threads may have no mask; Python then runs the handler in this one all the same.
    handlers = {
        number: signal.signal(number, lambda *received: held.append(received))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    # SIGTERM is not masked: workers that did not know it could not be ended
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if held:
            first = handlers[signal.Signals(held[0][0])]
            if callable(first):
                first(*held[0])
