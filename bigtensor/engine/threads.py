"""Tasks, and how they run on threads of this process by Dask's threaded scheduler."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import dask.base
from dask.delayed import delayed

from bigtensor.engine.blas import single_blas_thread
from bigtensor.statistics.stop_requests import stoppable

Job = tuple[Any, ...]
"""The arguments of one task after the shared one; lazy arrays among them are computed first. All
jobs of a run have equally many, unless there are lazy arrays."""

JobFunction = Callable[..., Any]
Collect = Callable[[int, Any], None]


@dataclass(frozen=True)
class ThreadedRuntime:
    """Dask's threaded scheduler: no other process, no `distributed`."""

    threads: int
    memory_limit: int | None = None
    workers: int = 1
    in_driver: ClassVar[bool] = True

    def run(
        self, function: JobFunction, shared: Any, jobs: Sequence[Job], collect: Collect
    ) -> None:
        """Run the jobs on threads of this process."""
        lock, crew = threading.Lock(), _Crew()

        def task(index: int, *job: Any) -> None:
            with crew:
                if crew.dismissed:
                    return
                with stoppable(lambda: crew.dismissed):
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
