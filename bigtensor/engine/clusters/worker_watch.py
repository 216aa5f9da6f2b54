"""Workers of a cluster that come and go while tasks run, and why they went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dask.utils import format_bytes

from bigtensor.engine.clusters.connection import check_versions
from bigtensor.engine.clusters.worker_ends import worker_ends_of
from bigtensor.errors import Message

if TYPE_CHECKING:
    from distributed.scheduler import WorkerState

_MEMORY_TOPIC = "worker-restart-memory"
"""Topic of the scheduler's events in which nannies report workers above their memory limit."""


@dataclass
class WorkerWatch:
    """The workers of a cluster from one look to the next.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster.

    Attributes
    ----------
    lost : int
        Workers so far that ended without being asked to. Workers that end between two looks and
        return under the same address are not counted.
    warned_of_wait : bool
        True after a warning that there was no worker.
    """

    client: Any
    lost: int = 0
    warned_of_wait: bool = False
    _addresses: set[str] = field(default_factory=set)

    def look(self) -> dict[str, int]:
        """Return the threads of every worker by its address.

        Workers that are new since the last look have their versions checked.

        Raises
        ------
        ClusterError
            When workers have another version of bigtensor or of Python.
        """
        threads: dict[str, int] = self.client.nthreads()
        self.lost += sum(map(self._ended_unasked, self._addresses - threads.keys()))
        if threads.keys() - self._addresses and worker_ends_of(self.client) is None:
            check_versions(self.client)
        self._addresses = set(threads)
        return threads

    def _ended_unasked(self, address: str) -> bool:
        """Return True if a worker that has gone was not retired."""
        events = (event for _, event in reversed(self.client.get_events(address)))
        removals = (event for event in events if event.get("action") == "remove-worker")
        # earlier removals are those of other workers that had the same address
        return not next(removals, {"expected": True}).get("expected")

    def limit_of_paused(self) -> int | None:
        """Return the memory limit of the workers in bytes if all are paused and run no task.

        Dask starts no task on a worker above 80 % of its memory limit. If memory stays in use when
        the last task has ended, the worker is paused for ever.
        """
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        paused = [
            worker["memory_limit"]
            for worker in workers
            if worker["status"] == "paused"
            and not worker["metrics"].get("task_counts", {}).get("executing")
        ]
        return max(paused) if paused and len(paused) == len(workers) else None

    def cause_of(self, worker: WorkerState) -> Message:
        """Return the cause of the end of a worker, as far as there is a report, and a remedy.

        The worker is the state that the scheduler had of it.
        """
        ends = worker_ends_of(self.client)
        if ends is not None and ends.reports:
            return "the last worker: " + ends.explain()
        if self.was_over_memory_limit(worker):
            return Message(
                "the last worker used more memory than its limit, "
                f"{format_bytes(worker.memory_limit)}. Compare the limit with the plan, and give "
                "workers more memory or fewer threads"
            )
        return Message(
            f"no cause was reported. Read the log of the worker at {worker.address} or of its job. "
            "The job may have been preempted, have reached its time limit or have crashed"
        )

    def was_over_memory_limit(self, worker: WorkerState) -> bool:
        """Return True if the nanny of a worker ended it because of its memory."""
        events = self.client.get_events(_MEMORY_TOPIC)
        return any(event.get("worker") == worker.address for _, event in events)
