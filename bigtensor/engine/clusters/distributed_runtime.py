"""Tasks on a Dask cluster, behind a `distributed.Client`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from bigtensor.engine.clusters.connection import require_usable
from bigtensor.engine.clusters.task_run import TaskRun
from bigtensor.engine.clusters.worker_watch import WorkerWatch
from bigtensor.engine.events import Progress
from bigtensor.engine.threads import Collect, Job, JobFunction


@dataclass(frozen=True)
class DistributedRuntime:
    """A cluster behind a `distributed.Client`; the client is used and never closed.

    Parameters
    ----------
    client : distributed.Client
        Client of a running cluster.
    limit : int, optional
        Bytes that a worker may use, if that is less than its own limit.
    wait : float, optional
        Seconds to wait for workers while there are none.
    """

    client: Any
    limit: int | None = None
    wait: float | None = None
    in_driver: ClassVar[bool] = False

    @cached_property
    def _watch(self) -> WorkerWatch:
        """Workers from one run to the next."""
        return WorkerWatch(self.client)

    @property
    def workers(self) -> int:
        """Worker processes at this moment."""
        return len(self._threads_of_workers())

    @property
    def threads(self) -> int:
        """Threads of the worker that has most."""
        return max(self._threads_of_workers().values(), default=1)

    def _threads_of_workers(self) -> dict[str, int]:
        """Return the threads of every worker. The caller may have closed the client meanwhile."""
        require_usable(self.client)
        threads: dict[str, int] = self.client.nthreads()
        return threads

    @property
    def memory_limit(self) -> int | None:
        """Smallest memory limit of the workers, or the limit of the caller if that is smaller."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
        return min([*limits, *([self.limit] if self.limit else [])], default=None)

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
        """Run the jobs on the workers, a bounded number at a time.

        They are submitted before there is a worker: a scheduler without tasks asks for none.
        """
        progress = progress or Progress("", 0, len(jobs))
        TaskRun(
            self.client, self._watch, self.wait, function, shared, jobs, result_nbytes, progress
        ).run(collect)
