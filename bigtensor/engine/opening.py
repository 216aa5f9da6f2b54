"""Choose where tasks run: a client, an address, workers on this machine, or threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bigtensor.engine.cluster import DistributedRuntime
from bigtensor.engine.local_cluster import local_cluster
from bigtensor.engine.runtime import Runtime, parse_memory_limit
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import ClusterError, ParameterError

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a scheduler at an address."""


@contextmanager
def open_runtime(
    *,
    client: Any = None,
    scheduler: str | None = None,
    workers: int | None = None,
    memory_limit: str | int | None = None,
) -> Iterator[Runtime]:
    """Choose where passes run, and close what was opened here.

    Parameters
    ----------
    client : distributed.Client, optional
        Used and never closed.
    scheduler : str, optional
        ``"threads"``, ``"processes"`` (workers on this machine, on loopback, closed afterwards),
        or the address of a scheduler such as ``"tcp://10.0.0.1:8786"``. None: the current client
        if there is one, else ``"processes"`` where ``workers`` is given, else ``"threads"``.
    workers : int, optional
        Number of processes or threads; all processors by default.
    memory_limit : str or int, optional
        What one process may use, such as ``"1GiB"``; on a given cluster the smaller of this and
        the workers' own limit counts.

    Yields
    ------
    Runtime

    Raises
    ------
    ParameterError
        When client and scheduler contradict each other, or a value is out of range.
    ClusterError
        When a scheduler does not answer.
    """
    limit = None if memory_limit is None else parse_memory_limit(memory_limit)
    if client is not None and scheduler is not None:
        raise ParameterError("give a client or a scheduler, not both")
    if workers is not None and workers < 1:
        raise ParameterError(f"workers is {workers}; expected at least 1")
    if client is None and scheduler is None:
        client = None if workers is not None else _current_client()
        scheduler = "threads" if workers is None else "processes"
    elsewhere = client is not None or scheduler not in ("threads", "processes")
    if elsewhere and workers is not None:
        raise ParameterError(
            f"workers={workers} says how many to start here; a client or a scheduler address "
            "brings its own: leave workers out"
        )
    if client is not None:
        yield DistributedRuntime(client, limit)
    elif scheduler == "threads":
        yield ThreadedRuntime(workers or os.cpu_count() or 1, limit)
    elif scheduler == "processes":
        with local_cluster(workers or os.cpu_count() or 1, limit) as own:
            yield DistributedRuntime(own)
    else:
        with _connected(str(scheduler)) as connected:
            yield DistributedRuntime(connected, limit)


def _current_client() -> Any:
    """Return the client that the caller made current, if any."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler and leave it running."""
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler answers at {address} ({error}); check the address and that it runs"
        ) from error
    with client:
        yield client
