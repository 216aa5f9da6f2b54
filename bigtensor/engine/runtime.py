"""Runtimes: their contract, and the choice of a client, an address, workers here, or threads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dask.utils import parse_bytes

from bigtensor.data.addresses.dask_tasks import distributed_is_loaded, in_task
from bigtensor.engine.clusters.connection import Connection, connected, require_usable
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.forks import forked
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.engine.clusters.patience import parse_wait
from bigtensor.engine.events import Progress
from bigtensor.engine.progress.automatic import with_shown_progress
from bigtensor.engine.threads import Collect, Job, JobFunction, ThreadedRuntime
from bigtensor.errors import ClusterError, ParameterError, Setting

if TYPE_CHECKING:
    from distributed import Client

DaskClient: TypeAlias = "Client"
"""A `distributed.Client`, for signatures in rooms that do not import Dask."""

_CLIENT_OF_PARENT = (
    "the client was made before this process was forked, and its threads stayed in the parent; "
    "make a client in this process, or use " + Setting("scheduler", "threads")
)


REMOTE_THREADS = 2
"""Threads of a processor where rows come through a network: one waits for rows, and one computes
on those that it has."""


class Processes(Protocol):
    """Processes that a plan is made for."""

    @property
    def workers(self) -> int:
        """Processes that hold tasks."""

    @property
    def threads(self) -> int:
        """Tasks that run at once in one process."""

    @property
    def in_driver(self) -> bool:
        """True if tasks run in the process that drives the passes."""

    @property
    def memory_limit(self) -> int | None:
        """Bytes that one process may use, where that is known."""


class Runtime(Processes, Protocol):
    """Runs the same function on many small jobs and hands the results on as they come."""

    def run(
        self,
        function: JobFunction,
        shared: object,
        jobs: Sequence[Job],
        collect: Collect,
        *,
        result_nbytes: int = 0,
        progress: Progress | None = None,
    ) -> None:
        """Call ``collect(index, function(shared, *job))`` for every job, in any order.

        Parameters
        ----------
        function, shared, jobs, collect
            Function of a job, its first argument, the other arguments of every job, and the
            function that takes the index and the result of a job.
        result_nbytes : int
            Bytes that a finished task holds until its result is collected.
        progress : Progress, optional
            Told of workers that are waited for and that are lost.
        """


def tasks_at_once(processes: Processes) -> int:
    """Return the number of tasks that run at once, at least 1."""
    return max(1, processes.workers * processes.threads)


def parse_memory_limit(limit: str | int) -> int:
    """Return bytes from a number or from words such as ``"1GiB"``."""
    try:
        nbytes = int(parse_bytes(limit))
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ParameterError(
            Setting("memory_limit") + f" is {limit!r}; expected bytes or a size such as '1GiB'"
        ) from error
    if nbytes <= 0:
        raise ParameterError(Setting("memory_limit") + f" is {limit!r}; expected a positive size")
    return nbytes


@contextmanager
@with_shown_progress
def open_runtime(
    *,
    client: Client | None = None,
    scheduler: str | Connection | None = None,
    workers: int | None = None,
    memory_limit: str | int | None = None,
    wait_for_workers: str | float | None = None,
    tasks: int | None = None,
    remote: bool = False,
) -> Iterator[Runtime]:
    """Open a runtime for passes, and close it afterwards.

    Parameters
    ----------
    client : distributed.Client, optional
        Client of a Dask cluster. It is never closed.
    scheduler : str or Connection, optional
        ``"threads"``, ``"processes"`` (workers on this machine, on loopback, closed afterwards),
        the address of a scheduler (``"tcp://10.0.0.1:8786"``), or a `Connection`, which
        also takes a scheduler file and certificates. None: ``"processes"``
        where ``workers`` is given, else the thread of the Dask task that calls, else the current
        client if there is one, else ``"threads"``.
    workers : int, optional
        Number of processes or threads; all processors by default.
    memory_limit : str or int, optional
        Memory of one process, such as ``"1GiB"``. On a given cluster the smaller of this and the
        workers' own limit counts.
    wait_for_workers : str or float, optional
        Longest time without any worker of a cluster, in seconds or as a text (``"12h"``). The
        default is 60 s. If the cluster of the client has asked for workers, there is no limit.
    tasks : int, optional
        Tasks of the largest pass. No more processes than tasks are started.
    remote : bool, default False
        Whether rows are read from a URL. There are then twice as many threads by default.

    Raises
    ------
    ParameterError
        When client and scheduler contradict each other, the client is asynchronous, or a value is
        out of range.
    ClusterError
        When a scheduler does not answer or refuses the connection, or the client is closed.
    """
    limit = None if memory_limit is None else parse_memory_limit(memory_limit)
    wait = None if wait_for_workers is None else parse_wait(wait_for_workers)
    if client is not None and scheduler is not None:
        raise ParameterError("give a client or a scheduler, not both")
    if workers is not None and workers < 1:
        raise ParameterError(Setting("workers") + f" is {workers}; expected at least 1")
    if client is None and scheduler is None:
        if workers is not None:
            scheduler = "processes"
        elif in_task():
            # the worker runs one task on each of its threads already
            scheduler, workers = "threads", 1
        else:
            client, scheduler = _current_client(), "threads"
    elsewhere = client is not None or scheduler not in ("threads", "processes")
    if elsewhere and workers is not None:
        raise ParameterError(
            Setting("workers", workers)
            + " says how many to start here; a client or a scheduler address brings its own: leave "
            + Setting("workers")
            + " out"
        )
    if client is not None:
        require_usable(client)
        if client in forked.clients:
            raise ClusterError(_CLIENT_OF_PARENT)
        with _seceded():
            yield DistributedRuntime(client, limit, wait)
    elif scheduler == "threads":
        default = (os.cpu_count() or 1) * (REMOTE_THREADS if remote else 1)
        yield ThreadedRuntime(workers or default, limit)
    elif scheduler == "processes":
        with local_cluster(processes_to_start(workers, tasks), limit) as own:
            yield DistributedRuntime(own, wait=wait)
    elif not isinstance(scheduler, str | Connection):
        raise ParameterError(
            Setting("scheduler")
            + f" is a {type(scheduler).__name__}; expected an address such as tcp://10.0.0.1:8786. "
            "Of a cluster, give " + Setting("client") + ": cluster.get_client()"
        )
    else:
        connection = scheduler if isinstance(scheduler, Connection) else Connection(scheduler)
        with connected(connection) as own, _seceded():
            yield DistributedRuntime(own, limit, wait)


def processes_to_start(workers: int | None, tasks: int | None) -> int:
    """Return the number of processes to start on this machine: at most one for each task."""
    count = workers or os.cpu_count() or 1
    return count if tasks is None else min(count, max(tasks, 1))


@contextmanager
def _seceded() -> Iterator[None]:
    """Give up the thread of the Dask task that calls, if any, because the passes need threads.

    A worker of one thread would otherwise wait for itself.
    """
    if not in_task():
        yield
        return
    from distributed import worker_client

    with worker_client():
        yield


def _current_client() -> Client | None:
    """Return the client that the caller made current, if any."""
    if not distributed_is_loaded():
        return None
    from distributed import get_client

    try:
        client = get_client()
    except ValueError:
        return None
    return None if client in forked.clients else client
