"""Tasks, and how they run on threads of this process by Dask's threaded scheduler."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, ParamSpec, TypeVar

import dask.base
from dask.delayed import delayed

from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.events import Progress
from bigtensor.statistics.stop_requests import stoppable

Job = tuple[Any, ...]
"""The arguments of one task after the shared one; lazy arrays among them are computed first. All
jobs of a run have equally many, unless there are lazy arrays."""

JobFunction = Callable[..., Any]
Collect = Callable[[int, Any], None]


_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True)
class ThreadedRuntime:
    """Dask's threaded scheduler: no other process, no `distributed`."""

    threads: int
    memory_limit: int | None = None
    workers: int = 1
    in_driver: ClassVar[bool] = True

    def run(
        self,
        function: JobFunction,
        shared: object,
        jobs: Sequence[Job],
        collect: Collect,
        *,
        result_nbytes: int = 0,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> None:
        """Run the jobs on threads of this process.

        After an error, no further job begins, and those that have begun are waited for. A single
        job runs in the thread that calls: a thread and a graph would take longer than a thousand
        rows do.
        """
        if len(jobs) == 1 and not any(map(dask.base.is_dask_collection, jobs[0])):
            with single_blas_thread():
                collect(0, copy_context().run(function, shared, *jobs[0]))
            return
        lock, failed = threading.Lock(), threading.Event()

        def task(index: int, *job: object) -> None:
            if failed.is_set():
                return
            with stoppable(failed.is_set):
                result = function(shared, *job)
            with lock:
                if not failed.is_set():
                    collect(index, result)

        call = delayed(task, pure=False, traverse=False)
        run = uuid.uuid4().hex
        calls = [
            # Dask runs tasks that are alike from the last name to the first; in the order of the
            # rows, the tree of sums holds few states
            call(index, *job, dask_key_name=f"rows-{run}-{len(jobs) - index:06d}")
            for index, job in enumerate(jobs)
        ]
        # the threads of a pool that Dask keeps would be missing in a forked process
        with single_blas_thread(), _Pool(self.threads, "bigtensor-task") as pool:
            try:
                dask.base.compute(*calls, scheduler="threads", pool=pool)
            except BaseException:
                failed.set()
                raise


class _Pool(ThreadPoolExecutor):
    """Threads that see the context variables of the caller, such as NumPy's error state."""

    def submit(
        self, function: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Future[_T]:
        """Submit a call in a copy of the caller's context."""
        return super().submit(partial(copy_context().run, function, *args, **kwargs))
