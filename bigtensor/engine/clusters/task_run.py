"""One run of many tasks on a cluster whose workers come and go."""

from __future__ import annotations

import asyncio
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from uuid import uuid4

import dask
from dask.delayed import delayed
from dask.task_spec import Task, TaskRef
from dask.utils import format_bytes, funcname

from bigtensor.engine.clusters.connection import check_versions
from bigtensor.engine.clusters.in_flight import tasks_in_flight
from bigtensor.engine.clusters.patience import seconds_to_wait
from bigtensor.engine.clusters.worker_ends import (
    ENDS_WITHOUT_RESULT,
    START_ATTEMPTS,
    worker_ends_of,
)
from bigtensor.engine.clusters.worker_watch import WorkerWatch
from bigtensor.engine.events import Progress
from bigtensor.engine.threads import Collect, Job, JobFunction
from bigtensor.errors import BigtensorError, ClusterError, ClusterWarning, Setting, warn

if TYPE_CHECKING:
    from distributed import Future, KilledWorker

LOOK_EVERY = 2.0
"""Seconds after which the workers are counted while tasks finish. A worker that comes and goes in
this time does not count as lost."""

LOOK_AFTER = 10.0
"""Seconds without a finished task after which the workers are counted."""

PAUSED_LOOKS = 6
"""Consecutive checks, `LOOK_AFTER` seconds apart, that find every worker paused and without a task
before a run gives up."""

GATHER_NBYTES = 16 * 2**20
"""Bytes of finished results that are fetched in one message. A message for every result takes
longer than the scheduler needs for the task."""

CARRIED_NBYTES = 65_536
"""Bytes of a shared argument up to which every task carries it. For a larger one, each worker opens
a connection to another worker that has it, which takes as long as several tasks."""

RESULT_TIMEOUT = 60.0
"""Seconds for results to arrive, after which the workers are counted."""

REPORT_EVERY = 60.0
"""Seconds between two events while there is no worker."""

ATTEMPTS = 3
"""Submissions of one task that end with its workers before a run gives up, if no other task has
finished meanwhile. Dask itself tries each submission on several workers."""


_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Submissions:
    """Submissions of one task.

    Parameters
    ----------
    finished : int
        Tasks that had finished at the last submission.
    in_vain : int
        Submissions on end that ended with their workers while no other task finished.
    """

    finished: int = 0
    in_vain: int = 0


@dataclass
class TaskRun:
    """Submits jobs to a cluster, and hands their results on in any order.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster that runs the jobs.
    watch : WorkerWatch
        Workers of the cluster and those that were lost.
    wait : float, optional
        Seconds to wait for workers while there are none.
    function : callable
        Called with the shared argument and those of a job.
    shared : object
        First argument of every job, without Dask collections and futures. A large one is sent to
        each worker once, and a small one with every task.
    jobs : sequence of tuple
        Arguments of every job after the shared one.
    result_nbytes : int
        Bytes that a finished task leaves on its worker.
    progress : Progress
        Counts the workers that are lost, and is notified when workers are waited for.
    """

    client: Any
    watch: WorkerWatch
    wait: float | None
    function: JobFunction
    shared: object
    jobs: Sequence[Job]
    result_nbytes: int
    progress: Progress
    _holder: Any = None
    _running: dict[Any, int] = field(default_factory=dict)
    _done: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    _finished: int = 0
    _submissions: dict[int, _Submissions] = field(default_factory=dict)

    def run(self, collect: Collect) -> None:
        """Run all jobs; what is in flight is bounded by the bytes of its results.

        Parameters
        ----------
        collect : callable
            Called with the index of a job and its result.
        """
        waiting = deque(range(len(self.jobs)))
        lazy = any(map(_is_lazy, self.jobs))
        if lazy or _pickled_nbytes(self.shared) > CARRIED_NBYTES:
            with self._scheduler_expected():
                self._holder = self._submit_shared()
        try:
            while waiting or self._running:
                threads = sum(self._threads_of_workers().values())
                window = tasks_in_flight(self.result_nbytes, threads)
                count = min(window - len(self._running), len(waiting))
                self._submit([waiting.popleft() for _ in range(count)])
                if not threads:
                    self._require_workers()
                # in batches, because a message takes longer than a task in it
                left = window - max(1, window // 4) if waiting else 0
                next_look = time.monotonic() + LOOK_EVERY
                while len(self._running) > left and time.monotonic() < next_look:
                    self._collect_done(collect)
            self._threads_of_workers()
        finally:
            # The scheduler's time for 'cancel' grows with the square of the number of futures. The
            # last ones are released first: a place of a running task would go to a waiting one.
            for future in (*reversed(self._running), self._holder):
                if future is not None:
                    future.release()

    def _submit(self, indices: Sequence[int]) -> None:
        """Submit jobs in one message; those with lazy arrays go as one graph."""
        if not indices:
            return
        jobs = [self.jobs[index] for index in indices]
        with self._scheduler_expected(), _large_graphs_allowed():
            # tasks of earlier submissions come first, however soon these follow
            if any(map(_is_lazy, jobs)):
                call = delayed(partial(_with_plain_causes, self.function), pure=False)
                name = funcname(self.function)
                calls = [
                    call(self._holder, *job, dask_key_name=f"{name}-{uuid4().hex}") for job in jobs
                ]
                futures: list[Any] = self.client.compute(calls, fifo_timeout="0s")
            else:
                futures = self._submit_to_any_worker(jobs)
        self._running.update(zip(futures, indices, strict=True))
        for index in indices:
            before = self._submissions.get(index, _Submissions())
            self._submissions[index] = replace(before, finished=self._finished)
        for future in futures:
            future.add_done_callback(self._done.put)

    def _submit_to_any_worker(self, jobs: Sequence[Job]) -> list[Any]:
        """Submit jobs so that they are divided among all workers.

        Dask sends a task to a worker that holds its argument. Exceptions are submissions with more
        than two tasks for each thread, and tasks that are marked as reading data, as these are.
        """
        shared = self.shared if self._holder is None else TaskRef(self._holder.key)
        name = f"{funcname(self.function)}-{uuid4().hex}"
        # of equal tasks, Dask starts the one with the last key first
        keys = [f"{name}-{number:05d}" for number in reversed(range(len(jobs)))]
        graph = {
            key: Task(key, _with_plain_causes, self.function, shared, *job, _data_producer=True)
            for key, job in zip(keys, jobs, strict=True)
        }
        futures: list[Any] = self.client.get(graph, keys, sync=False, fifo_timeout="0s")
        return futures

    def _submit_shared(self) -> Future[Any]:
        """Send the argument that all tasks share to a worker, from which others get it."""
        with _large_graphs_allowed():
            holder: Future[Any] = self.client.submit(_hold, self.shared, pure=False)
        return holder

    def _collect_done(self, collect: Collect) -> None:
        """Hand on results that are there, and submit tasks again whose workers have ended."""
        failed = list[Any]()
        for future, result in self._gathered(self._next_done()).items():
            if result is None and future.status in ("error", "cancelled"):
                failed.append(future)
            else:
                self._finished += 1
                collect(self._running.pop(future), result)
        # last, because an error ends the run, and finished parts are stored before
        for future in failed:
            self._settle_failed(future)

    def _settle_failed(self, future: Future[Any]) -> None:
        """Submit a task again whose workers have ended, or raise its error."""
        from distributed import KilledWorker

        if future.status == "cancelled":
            # a scheduler that came back serves other calls, so that no call below would fail
            with self._scheduler_expected():
                raise ConnectionError("its tasks were cancelled")
        error = self._waited_for(future.exception, LOOK_AFTER)
        if isinstance(error, KilledWorker):
            self._submit_again(self._running.pop(future), error)
            return
        if not isinstance(error, BigtensorError):
            try:
                with self._scheduler_expected():
                    check_versions(self.client)
            except ClusterError as cause:
                raise cause from error
        raise error.with_traceback(future.traceback())

    def _submit_again(self, index: int, killed: KilledWorker) -> None:
        """Submit a task again whose workers have ended.

        Workers of a queue are preempted, so that this has no bound as long as other tasks finish.
        """
        before = self._submissions[index]
        in_vain = 0 if self._finished > before.finished else before.in_vain + 1
        with self._scheduler_expected():
            over_memory = self.watch.was_over_memory_limit(killed.last_worker)
            if in_vain >= ATTEMPTS or (in_vain and over_memory):
                raise ClusterError(
                    "workers ended several times while they ran the same task, and no other task "
                    "finished; " + self.watch.cause_of(killed.last_worker)
                ) from killed
            if self._holder is not None and self._holder.status == "error":
                self._holder = self._submit_shared()
        self._submissions[index] = replace(before, in_vain=in_vain)
        self._submit([index])

    def _next_done(self) -> list[Any]:
        """Return finished futures, as many as one message may fetch.

        A task without a worker would wait for ever, so that workers are required meanwhile.
        """
        ended_before, paused_looks = self._ends, 0
        while True:
            try:
                futures = [self._done.get(timeout=LOOK_AFTER)]
            except Empty:
                self._require_progress(ended_before)
                with self._scheduler_expected():
                    limit = self.watch.limit_of_paused()
                paused_looks = 0 if limit is None else paused_looks + 1
                if limit is not None and paused_looks >= PAUSED_LOOKS:
                    _raise_paused(limit)
            else:
                break
        with suppress(Empty):
            while (len(futures) + 1) * self.result_nbytes <= GATHER_NBYTES:
                futures.append(self._done.get_nowait())
        return futures

    def _gathered(self, futures: list[Any]) -> dict[Any, Any]:
        """Return the results of futures, and None for those that failed.

        A result that died with its worker is computed again, which may end more workers.
        """
        with self._scheduler_expected():
            request = asyncio.run_coroutine_threadsafe(
                self.client.gather(
                    dict(enumerate(futures)), errors="skip", direct=False, asynchronous=True
                ),
                self.client.loop.asyncio_loop,
            )
        try:
            results = self._waited_for(request.result, RESULT_TIMEOUT)
        finally:
            request.cancel()
        return {future: results[index] for index, future in enumerate(futures)}

    def _waited_for(self, wait: Callable[..., _Result], seconds: float) -> _Result:
        """Wait for a future: a result that died with its worker needs another worker.

        After so many ``seconds`` the workers are counted, and the wait begins again: a result that
        is on its way must come in that time.
        """
        ended_before = self._ends
        while True:
            try:
                with self._scheduler_expected():
                    return wait(timeout=seconds)
            except TimeoutError:
                self._require_progress(ended_before)

    @contextmanager
    def _scheduler_expected(self) -> Iterator[None]:
        """Say so when the scheduler has gone or has forgotten the futures."""
        address = self._address
        try:
            yield
        except TimeoutError:
            raise
        except _lost_errors() as lost:
            raise ClusterError(
                f"the scheduler at {address} went away or forgot the work "
                f"({type(lost).__name__}: {lost}); with a checkpoint, the same command continues "
                "from the finished parts"
            ) from lost

    @property
    def _address(self) -> str:
        """The address of the scheduler; a client that has given up has none."""
        return str(getattr(self.client.scheduler, "address", "an address that is lost"))

    def _threads_of_workers(self) -> dict[str, int]:
        """Return the threads of every worker, and count workers that were lost."""
        lost_before = self.watch.lost
        with self._scheduler_expected():
            if self.client.status != "running":
                raise ConnectionError(f"the client is {self.client.status}")
            threads = self.watch.look()
        self.progress.lost_workers += self.watch.lost - lost_before
        return threads

    def _require_progress(self, ended_before: int) -> None:
        """Require workers, and that they do not end again and again while nothing finishes."""
        workers = self._require_workers()
        if self._ends >= ended_before + ENDS_WITHOUT_RESULT * workers:
            self._raise_no_workers(0.0)

    def _require_workers(self) -> int:
        """Return the number of workers. Where there is none, wait for one.

        Raises
        ------
        ClusterError
            When none comes in time.
        """
        ended_before, begin, reports = self._ends, time.monotonic(), 0
        while not (threads := self._threads_of_workers()):
            waited = time.monotonic() - begin
            left = seconds_to_wait(self.client, self.wait) - waited
            if left <= 0 or self._ends >= ended_before + START_ATTEMPTS:
                self._raise_no_workers(waited)
            if waited >= reports * REPORT_EVERY:
                self.progress.wait(waited)
                if reports == 1 and not self.watch.warned_of_wait:
                    self.watch.warned_of_wait = True
                    self._warn_of_wait(waited)
                reports += 1
            with self._scheduler_expected(), suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=min(1.0, left))
        return len(threads)

    def _warn_of_wait(self, waited: float) -> None:
        """Say that there is no worker, because nobody may listen to events."""
        remedy = (
            "wait if worker jobs are queued, and read the logs of worker jobs that started or ended"
            if worker_ends_of(self.client) is None
            else "wait while worker processes are started on this machine again"
        )
        warn(
            f"the scheduler at {self._address} has had no worker for {waited:.0f} s; {remedy}",
            ClusterWarning,
        )

    @property
    def _ends(self) -> int:
        """Worker processes that ended so far, where the cluster was started here."""
        ends = worker_ends_of(self.client)
        return 0 if ends is None else len(ends.reports)

    def _raise_no_workers(self, waited: float) -> NoReturn:
        """Say why there are no workers after so many seconds."""
        ends = worker_ends_of(self.client)
        if ends is None:
            raise ClusterError(
                f"the scheduler at {self._address} has no workers after {waited:.3g} s; start some "
                "with 'dask worker ADDRESS' and try again, or give "
                + Setting("wait_for_workers", "12h")
                + " if a queue starts them"
            )
        raise ClusterError(
            "worker processes ended, and the processes that replaced them ended too. The last one: "
            + ends.explain()
        )


def _raise_paused(limit: int) -> NoReturn:
    """Say that all workers wait for memory that nothing will free."""
    raise ClusterError(
        "every worker is paused and runs no task, because it holds more than 80 % of its memory "
        f"limit, {format_bytes(limit)}; give "
        + Setting("memory_limit")
        + " a larger value, or start workers with more memory. With a checkpoint, the same command "
        "continues from the finished parts"
    )


def _large_graphs_allowed() -> AbstractContextManager[Any]:
    """Let rows in memory be sent without Dask's warning: the plan counts them."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"})


def _is_lazy(job: Job) -> bool:
    """Return True for a job with an argument that Dask has to compute."""
    return any(hasattr(argument, "__dask_graph__") for argument in job)


def _pickled_nbytes(shared: object) -> int:
    """Return the bytes of a pickled argument, without a copy of its arrays."""
    from distributed.protocol.pickle import dumps

    buffers: list[pickle.PickleBuffer] = []
    pickled = dumps(shared, buffer_callback=buffers.append)
    return len(pickled) + sum(buffer.raw().nbytes for buffer in buffers)


def _with_plain_causes(function: JobFunction, shared: object, *job: Any) -> object:
    """Call a function of a task, and replace the causes of its errors by their text.

    Dask sends an error together with its causes. If a cause cannot be unpickled, as for errors of
    some packages, the driver receives a plain Exception in place of the error of this package.
    """
    try:
        return function(shared, *job)
    except BigtensorError as error:
        if error.__cause__ is not None:
            text = "".join(traceback.format_exception(error.__cause__))
            error.__cause__ = error.__context__ = RuntimeError(text)
        raise


def _hold(shared: _Result) -> _Result:
    """Keep a shared argument on the workers: a task can be run again when its worker dies."""
    return shared


def _lost_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of a client whose scheduler has gone or has forgotten the futures."""
    from concurrent.futures import CancelledError

    from distributed.client import ClosedClientError, FutureCancelledError

    return (CancelledError, FutureCancelledError, ClosedClientError, OSError)
