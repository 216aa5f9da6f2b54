"""Worker processes on this machine, started for one fit and closed after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask

from bigtensor.data.process_wide import ProcessWide
from bigtensor.errors import ClusterError

KEEP_FREED_MEMORY = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(16 * 2**20),
    "MALLOC_TRIM_THRESHOLD_": str(32 * 2**20),
}
"""Settings of the C library: read buffers are used again. With the settings that Dask makes, every
buffer is given back and asked for again, and to be given empty pages takes longer than to decode
what goes into them. Variables of the same names that a caller has set do not reach the workers,
because Dask leaves its own there after any other cluster."""

DASK_SETTINGS = {
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.recent-to-old-time": "1h",
    # what Dask looks at all the time takes four percent of two processors otherwise
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "500ms",
}


@contextmanager
def local_cluster(workers: int, memory_limit: int | None = None) -> Iterator[Any]:
    """Start worker processes of one thread each on this machine and yield their client.

    The scheduler listens on loopback only and has no dashboard. Work stealing is off: all tasks
    of a pass are alike, and stealing can deadlock (dask/distributed#8787).
    """
    from distributed import Client, LocalCluster

    try:
        with (
            _settings,
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
def _settings_made() -> Iterator[None]:
    """Set Dask and the environment for workers that start now, and take both back."""
    before = {name: os.environ.get(name) for name in KEEP_FREED_MEMORY}
    os.environ.update(KEEP_FREED_MEMORY)
    try:
        with dask.config.set(DASK_SETTINGS):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_settings = ProcessWide(_settings_made)
