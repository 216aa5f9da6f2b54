"""Where tasks run: a client, an address, workers on this machine, or threads of this process."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import dask
import dask.base
from dask.delayed import delayed
from dask.utils import format_bytes, parse_bytes

from bigtensor.engine.blas import single_blas_thread as single_blas_thread
from bigtensor.errors import ClusterError, ParameterError

Job = tuple[Any, ...]
"""The arguments of one task after the shared one; lazy arrays among them are computed first."""

JobFunction = Callable[..., Any]
Collect = Callable[[int, Any], None]

IN_FLIGHT = 4
"""Tasks submitted for every thread of a cluster: one runs, the others wait beside it."""

START_TIMEOUT = 60.0
"""Seconds to wait for a worker of a cluster that has none, at the start or after all have died."""

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a scheduler at an address."""

LOOK_AFTER = 10.0
"""Seconds without a finished task after which the workers are counted."""


class Runtime(Protocol):
    """Runs the same function on many small jobs and hands the results on as they come."""

    @property
    def workers(self) -> int:
        """Processes that hold tasks."""

    @property
    def threads(self) -> int:
        """Tasks that run at once in one process."""

    @property
    def memory_limit(self) -> int | None:
        """Bytes that one process may use, where that is known."""

    def run(
        self, function: JobFunction, shared: Any, jobs: Sequence[Job], collect: Collect
    ) -> None:
        """Call ``collect(index, function(shared, *job))`` for every job, in any order."""


@dataclass(frozen=True)
class ThreadedRuntime:
    """Dask's threaded scheduler: no other process, no `distributed`."""

    threads: int
    memory_limit: int | None = None
    workers: int = 1

    def run(
        self, function: JobFunction, shared: Any, jobs: Sequence[Job], collect: Collect
    ) -> None:
        """Run the jobs on threads of this process."""
        lock, crew = threading.Lock(), _Crew()

        def task(index: int, *job: Any) -> None:
            with crew:
                if crew.dismissed:
                    return
                result = function(shared, *job)
                with lock:
                    if not crew.dismissed:
                        collect(index, result)

        call = delayed(task, pure=False, traverse=False)
        run = uuid.uuid4().hex
        calls = [
            # Dask runs tasks that are alike from the last name to the first; in the order of the
            # rows, the tree of sums holds few states
            call(index, *job, dask_key_name=f"rows-{run}-{len(jobs) - index:06d}")
            for index, job in enumerate(jobs)
        ]
        with single_blas_thread():
            try:
                dask.base.compute(*calls, scheduler="threads", num_workers=self.threads)
            finally:
                crew.dismiss()


class _Crew:
    """The tasks that run on threads: after an error, those that have begun are waited for."""

    def __init__(self) -> None:
        self.dismissed = False
        self._changed = threading.Condition()
        self._running = 0

    def __enter__(self) -> None:
        """Count a task in."""
        with self._changed:
            self._running += 1

    def __exit__(self, *exception: object) -> None:
        """Count a task out."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def dismiss(self) -> None:
        """Let no further task begin or be collected, and return when none runs."""
        self.dismissed = True
        with self._changed:
            self._changed.wait_for(lambda: not self._running)


@dataclass(frozen=True)
class DistributedRuntime:
    """A cluster behind a `distributed.Client`; the client is used and never closed."""

    client: Any
    limit: int | None = None

    @property
    def workers(self) -> int:
        """Worker processes at this moment."""
        return len(self.client.nthreads())

    @property
    def threads(self) -> int:
        """Threads of the worker that has most."""
        threads: dict[str, int] = self.client.nthreads()
        return max(threads.values(), default=1)

    @property
    def memory_limit(self) -> int | None:
        """The smallest memory limit of the workers, or what the caller allows if that is less."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
        return min([*limits, *([self.limit] if self.limit else [])], default=None)

    def run(
        self, function: JobFunction, shared: Any, jobs: Sequence[Job], collect: Collect
    ) -> None:
        """Run the jobs on the workers, a bounded number at a time."""
        self._require_workers()
        limit = self.memory_limit
        holder = self._submit_shared(shared)
        waiting = ((index, self._submit(function, holder, job)) for index, job in enumerate(jobs))
        finished: SimpleQueue[Any] = SimpleQueue()
        running = {}

        def begin(count: int) -> None:
            for index, future in islice(waiting, count):
                running[future] = index
                future.add_done_callback(finished.put)

        try:
            begin(self._window())
            while running:
                future = self._next(finished)
                result = self._result(future, limit)
                collect(running.pop(future), result)
                begin(1)
        finally:
            self.client.cancel([*running, holder])

    def _next(self, finished: SimpleQueue[Any]) -> Any:
        """Return the next finished future; a task without a worker would wait for ever."""
        while True:
            try:
                return finished.get(timeout=LOOK_AFTER)
            except Empty:
                self._require_workers()

    def _result(self, future: Any, limit: int | None) -> Any:
        """Return what a task returned, or raise what it raised; a worker had ``limit`` bytes."""
        from distributed import KilledWorker

        try:
            error = future.exception() if future.status == "error" else None
            if error is None:
                return future.result()
        except _lost_errors() as lost:
            raise ClusterError(
                f"the scheduler at {self.client.scheduler.address} went away or forgot the work "
                f"({type(lost).__name__}: {lost}); with a checkpoint, the same command continues "
                "from the finished parts"
            ) from lost
        if not isinstance(error, KilledWorker):
            raise error.with_traceback(future.traceback())
        raise ClusterError(
            f"workers died again and again on the same task ({error}); the most likely cause "
            f"is memory: a worker may use {format_bytes(limit) if limit else 'an unknown size'}"
            "; compare with the plan, and give workers more memory or fewer threads"
        ) from error

    def _submit_shared(self, shared: Any) -> Any:
        """Send what all tasks need, once; rows in memory may be large, and the plan counts them."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self.client.submit(_hold, shared, pure=False)

    def _submit(self, function: JobFunction, holder: Any, job: Job) -> Any:
        """Submit one job; a job with lazy arrays goes as a graph of its own."""
        if any(hasattr(part, "__dask_graph__") for part in job):
            return self.client.compute(delayed(function, pure=False)(holder, *job))
        return self.client.submit(function, holder, *job, pure=False)

    def _window(self) -> int:
        """Return how many tasks to have submitted at a time."""
        threads: dict[str, int] = self.client.nthreads()
        return IN_FLIGHT * max(1, sum(threads.values()))

    def _require_workers(self) -> None:
        """Wait a little for a worker where there is none, and say so when none comes."""
        if self.client.nthreads():
            return
        try:
            self.client.wait_for_workers(1, timeout=START_TIMEOUT)
        except TimeoutError as error:
            raise ClusterError(
                f"the scheduler at {self.client.scheduler.address} has no workers after "
                f"{START_TIMEOUT:g} s; start some with 'dask worker ADDRESS' and try again"
            ) from error


def _hold(shared: Any) -> Any:
    """Keep what all tasks need on the workers: a task can be run again when its worker dies."""
    return shared


def _lost_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of a client whose scheduler has gone or has forgotten the futures."""
    from concurrent.futures import CancelledError

    from distributed.client import FutureCancelledError

    return (CancelledError, FutureCancelledError, OSError)


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


def parse_memory_limit(limit: str | int) -> int:
    """Return bytes from a number or from words such as ``"1GiB"``."""
    try:
        nbytes = int(parse_bytes(limit))
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"memory_limit is {limit!r}; expected bytes or a size such as '1GiB'"
        ) from error
    if nbytes <= 0:
        raise ParameterError(f"memory_limit is {limit!r}; expected a positive size")
    return nbytes


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
def local_cluster(workers: int, memory_limit: int | None = None) -> Iterator[Any]:
    """Start worker processes of one thread each on this machine and yield their client.

    The scheduler listens on loopback only and has no dashboard. Work stealing is off: all tasks
    of a pass are alike, and stealing can deadlock (dask/distributed#8787).
    """
    from distributed import Client, LocalCluster

    settings = {
        "distributed.scheduler.work-stealing": False,
        "distributed.worker.profile.enabled": False,
        "distributed.worker.memory.recent-to-old-time": "1h",
        # every process here has a clock or two that it looks at fifty times a second otherwise,
        # which takes three percent of two processors
        "distributed.admin.tick.interval": "500ms",
    }
    try:
        with (
            dask.config.set(settings),
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                # a port of its own: the usual one may be taken, and that is a warning
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                memory_limit="auto" if memory_limit is None else memory_limit,
                silence_logs=50,
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client
    except RuntimeError as error:
        if "Nanny failed to start" not in str(error):
            raise
        raise ClusterError(
            "worker processes could not start; in a script, call bigtensor under "
            "\"if __name__ == '__main__':\", because every worker imports the script, or use "
            "scheduler='threads'"
        ) from error


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
