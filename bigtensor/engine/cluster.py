"""Tasks on a Dask cluster, behind a `distributed.Client`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, NoReturn

import dask
from dask.delayed import delayed
from dask.utils import format_bytes

from bigtensor.engine.threads import Collect, Job, JobFunction
from bigtensor.engine.worker_ends import ENDS_WITHOUT_RESULT, START_ATTEMPTS, worker_ends_of
from bigtensor.errors import ClusterError

IN_FLIGHT = 4
"""Tasks submitted for every thread of a cluster: one runs, the others wait, most of them in the
scheduler. When half of them are finished, as many follow in one message."""

START_TIMEOUT = 60.0
"""Seconds to wait for a worker of a cluster that has none, at the start or after all have died, and
for one result to arrive."""

LOOK_AFTER = 10.0
"""Seconds without a finished task after which the workers are counted."""


@dataclass(frozen=True)
class DistributedRuntime:
    """A cluster behind a `distributed.Client`; the client is used and never closed."""

    client: Any
    limit: int | None = None
    in_driver: ClassVar[bool] = False

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
        """Smallest memory limit of the workers, or the limit of the caller if that is smaller."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
        return min([*limits, *([self.limit] if self.limit else [])], default=None)

    def run(
        self, function: JobFunction, shared: Any, jobs: Sequence[Job], collect: Collect
    ) -> None:
        """Run the jobs on the workers, a bounded number at a time."""
        self._require_workers()
        with self._scheduler_expected():
            limit = self.memory_limit
            holder = self._submit_shared(shared)
        waiting = deque(enumerate(jobs))
        finished: SimpleQueue[Any] = SimpleQueue()
        running: dict[Any, int] = {}

        def begin(count: int) -> None:
            batch = dict(waiting.popleft() for _ in range(min(count, len(waiting))))
            if not batch:
                return
            with self._scheduler_expected():
                futures = self._submit(function, holder, list(batch.values()))
            running.update(zip(futures, batch, strict=True))
            for future in futures:
                future.add_done_callback(finished.put)

        def collect_until(left: int) -> None:
            while len(running) > left:
                future = self._next(finished)
                result = self._result(future, limit)
                collect(running.pop(future), result)

        try:
            while waiting:
                window = self._window()
                begin(window - len(running))
                collect_until(window // 2)
            collect_until(0)
        finally:
            # what a scheduler that has gone was asked for need not be cancelled
            with suppress(*_lost_errors()):
                self.client.cancel([*running, holder])

    def _next(self, finished: SimpleQueue[Any]) -> Any:
        """Return the next finished future; a task without a worker would wait for ever."""
        ended_before = self._ends
        while True:
            try:
                return finished.get(timeout=LOOK_AFTER)
            except Empty:
                self._require_progress(ended_before)

    def _result(self, future: Any, limit: int | None) -> Any:
        """Return the result of a task, or raise its error. A worker had ``limit`` bytes."""
        from distributed import KilledWorker

        try:
            error = self._waited_for(future.exception, LOOK_AFTER)
            if error is not None:
                raise error.with_traceback(future.traceback())
            # a result that died with its worker is computed again, which may end more workers
            return self._waited_for(future.result, START_TIMEOUT)
        except KilledWorker as killed:
            raise ClusterError(
                f"workers died again and again on the same task ({killed}); the most likely cause "
                f"is memory: a worker may use {format_bytes(limit) if limit else 'an unknown size'}"
                "; compare with the plan, and give workers more memory or fewer threads"
            ) from killed

    def _waited_for(self, wait: Callable[..., Any], seconds: float) -> Any:
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

    def _submit_shared(self, shared: Any) -> Any:
        """Send the argument that all tasks share, once."""
        with _large_graphs_allowed():
            return self.client.submit(_hold, shared, pure=False)

    def _submit(self, function: JobFunction, holder: Any, jobs: Sequence[Job]) -> list[Any]:
        """Submit jobs in one message; those with lazy arrays go as one graph."""
        lazy = any(hasattr(part, "__dask_graph__") for job in jobs for part in job)
        call = delayed(function, pure=False)
        with _large_graphs_allowed():
            futures: list[Any] = (
                self.client.compute([call(holder, *job) for job in jobs])
                if lazy
                else self.client.map(
                    function, [holder] * len(jobs), *zip(*jobs, strict=True), pure=False
                )
            )
        return futures

    def _window(self) -> int:
        """Return the number of tasks in flight for the present number of workers."""
        return IN_FLIGHT * max(1, sum(self._threads_of_workers().values()))

    def _threads_of_workers(self) -> dict[str, int]:
        """Return the threads of every worker, as the scheduler knows them."""
        with self._scheduler_expected():
            if self.client.status != "running":
                raise ConnectionError(f"the client is {self.client.status}")
            threads: dict[str, int] = self.client.nthreads()
        return threads

    def _require_progress(self, ended_before: int) -> None:
        """Require workers, and that they do not end again and again while nothing finishes."""
        self._require_workers()
        if self._ends >= ended_before + ENDS_WITHOUT_RESULT * max(1, self.workers):
            self._raise_ends()

    def _require_workers(self) -> None:
        """Wait a little for a worker where there is none, and say so when none comes."""
        if self._threads_of_workers():
            return
        ended_before = self._ends
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline and self._ends < ended_before + START_ATTEMPTS:
            with self._scheduler_expected(), suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=min(1.0, START_TIMEOUT))
                return
        self._raise_ends()

    @property
    def _ends(self) -> int:
        """Worker processes that ended so far, where the cluster was started here."""
        ends = worker_ends_of(self.client)
        return 0 if ends is None else len(ends.reports)

    def _raise_ends(self) -> NoReturn:
        """Say why there are no workers."""
        ends = worker_ends_of(self.client)
        if ends is None:
            raise ClusterError(
                f"the scheduler at {self._address} has no workers after {START_TIMEOUT:g} s; "
                "start some with 'dask worker ADDRESS' and try again"
            )
        raise ClusterError(
            "worker processes ended, and those that followed them ended too; the last one: "
            + ends.explain()
        )


def _large_graphs_allowed() -> AbstractContextManager[Any]:
    """Let rows in memory be sent without Dask's warning: the plan counts them."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"})


def _hold(shared: Any) -> Any:
    """Keep a shared argument on the workers: a task can be run again when its worker dies."""
    return shared


def _lost_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of a client whose scheduler has gone or has forgotten the futures."""
    from concurrent.futures import CancelledError

    from distributed.client import ClosedClientError, FutureCancelledError

    return (CancelledError, FutureCancelledError, ClosedClientError, OSError)
