"""Time that a pass waits for workers of a cluster that has none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dask.utils import parse_timedelta

from bigtensor.engine.clusters.worker_ends import worker_ends_of
from bigtensor.errors import ParameterError, Setting

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.cluster import Cluster

WAIT_SECONDS = 60.0
"""Seconds without a worker before a run gives up, where nothing else is said."""


_GIVEN_UP = ("created", "closing", "closed", "failed")
"""Names of the states of a worker that will not come. A job is listed after its submission, and it
is still ``"created"`` if the queue refused it."""


def parse_wait(wait: str | float) -> float:
    """Return seconds from a number or from words such as ``"12h"``.

    Raises
    ------
    ParameterError
    """
    try:
        seconds = float(parse_timedelta(wait, default="seconds"))
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise ParameterError(
            Setting("wait_for_workers") + f" is {wait!r}; expected seconds or a time such as '12h'"
        ) from error
    if not seconds >= 0:
        raise ParameterError(
            Setting("wait_for_workers") + f" is {wait!r}; expected a time that is not negative"
        )
    return seconds


def seconds_to_wait(client: Client, wait: float | None) -> float:
    """Return the longest time without any worker.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster that runs the tasks.
    wait : float, optional
        Seconds that the caller asked for. By default they are `WAIT_SECONDS`, and without end
        where the cluster of the client says that it has asked for workers: a queue takes its time.

    Returns
    -------
    float
        Seconds, or infinity.
    """
    if wait is not None:
        return wait
    # processes that were started here need no queue, and their nannies report how they end
    own = worker_ends_of(client) is not None
    return math.inf if not own and _asks_for_workers(client.cluster) else WAIT_SECONDS


def _asks_for_workers(cluster: Cluster | None) -> bool:
    """Return True if a cluster has asked for workers that it has not given up."""
    workers = getattr(cluster, "workers", None) or {}
    # the process of a worker that failed to start stays listed, and no other follows it
    return any(worker.status.name not in _GIVEN_UP for worker in workers.values())
