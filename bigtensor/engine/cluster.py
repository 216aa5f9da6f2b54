"""Tasks on a Dask cluster, behind a `distributed.Client`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import dask
from dask.delayed import delayed
from dask.utils import format_bytes

from bigtensor.engine.runtime import Collect, Job, JobFunction
from bigtensor.errors import ClusterError

IN_FLIGHT = 4
"""Tasks submitted for every thread of a cluster: one runs, the others wait beside it. When half of
them are finished, as many follow in one message: a message costs milliseconds, however much is in
it."""

START_TIMEOUT = 60.0
"""Seconds to wait for a worker of a cluster that has none, at the start or after all have died."""

LOOK_AFTER = 10.0
"""Seconds without a finished task after which the workers are counted."""


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
        waiting = deque(enumerate(jobs))
        finished: SimpleQueue[Any] = SimpleQueue()
        running: dict[Any, int] = {}
        try:
            while waiting or running:
                window = self._window() if waiting else 0
                batch = [waiting.popleft() for _ in range(min(len(waiting), window - len(running)))]
                for (index, _), future in zip(
                    batch, self._submit(function, holder, [job for _, job in batch]), strict=True
                ):
                    running[future] = index
                    future.add_done_callback(finished.put)
                while len(running) > window // 2:
                    future = self._next(finished)
                    result = self._result(future, limit)
                    collect(running.pop(future), result)
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

        with self._scheduler_expected():
            error = future.exception() if future.status == "error" else None
            if error is None:
                return future.result()
        if not isinstance(error, KilledWorker):
            raise error.with_traceback(future.traceback())
        raise ClusterError(
            f"workers died again and again on the same task ({error}); the most likely cause "
            f"is memory: a worker may use {format_bytes(limit) if limit else 'an unknown size'}"
            "; compare with the plan, and give workers more memory or fewer threads"
        ) from error

    @contextmanager
    def _scheduler_expected(self) -> Iterator[None]:
        """Say so when the scheduler has gone or has forgotten the futures."""
        from concurrent.futures import CancelledError

        from distributed.client import FutureCancelledError

        try:
            yield
        except (CancelledError, FutureCancelledError, OSError) as lost:
            raise ClusterError(
                f"the scheduler at {self.client.scheduler.address} went away or forgot the work "
                f"({type(lost).__name__}: {lost}); with a checkpoint, the same command continues "
                "from the finished parts"
            ) from lost

    def _submit_shared(self, shared: Any) -> Any:
        """Send what all tasks need, once; rows in memory may be large, and the plan counts them."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self.client.submit(_hold, shared, pure=False)

    def _submit(self, function: JobFunction, holder: Any, jobs: Sequence[Job]) -> list[Any]:
        """Submit jobs in one message; those with lazy arrays go as one graph."""
        lazy = any(hasattr(part, "__dask_graph__") for job in jobs for part in job)
        call = delayed(function, pure=False)
        futures: list[Any] = (
            self.client.compute([call(holder, *job) for job in jobs])
            if lazy
            else self.client.map(
                function, [holder] * len(jobs), *zip(*jobs, strict=True), pure=False
            )
        )
        return futures

    def _window(self) -> int:
        """Return how many tasks to have submitted at a time; workers may come and go."""
        with self._scheduler_expected():
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
