"""Worker processes on this machine, started for one fit and closed after it."""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.spawn
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any

import dask

from bigtensor.data.stores.process_wide import ProcessWide
from bigtensor.engine.clusters.forks import forked
from bigtensor.engine.clusters.worker_ends import (
    START_ATTEMPTS,
    UNGUARDED,
    WorkerEnds,
    attach_worker_ends,
    watch_worker_ends,
)
from bigtensor.errors import ClusterError, Setting

if TYPE_CHECKING:
    from distributed import LocalCluster

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
    # after this time Dask gives up a worker that ended, even while its successor starts
    "distributed.deploy.lost-worker-timeout": "1h",
    "distributed.worker.memory.recent-to-old-time": "1h",
    # what Dask looks at all the time takes four percent of two processors otherwise
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "500ms",
    # pages about tasks and logs, which any user of the machine could read without a certificate
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}

RESTART_TIMEOUT = 30.0
"""Seconds that the end of a run waits for a worker that is being started again."""

_UNGUARDED_SCRIPT = (
    "worker processes could not start, because every worker imports the script; call bigtensor "
    "under \"if __name__ == '__main__':\", or use " + Setting("scheduler", "threads")
)
_NO_SCRIPT_FILE = (
    "worker processes cannot start, because every worker imports the script, and this one came "
    'from standard input; save it in a file that calls bigtensor under "if __name__ == '
    "'__main__':\", or use " + Setting("scheduler", "threads")
)
_DAEMONIC_PROCESS = (
    "worker processes cannot start in a Dask worker or in a process of multiprocessing.Pool, which "
    "must not start processes; use " + Setting("scheduler", "threads")
)
_FORKED_PROCESS = (
    "worker processes cannot start here, because this process was forked after worker processes "
    "had been started, and threads of Dask stayed in the parent; start the process with the method "
    "'spawn' of multiprocessing, or use " + Setting("scheduler", "threads")
)


@contextmanager
def local_cluster(workers: int, memory_limit: int | None = None) -> Iterator[Any]:
    """Start worker processes of one thread each on this machine and yield their client.

    The scheduler, the workers and the client speak TLS with a certificate for this cluster alone:
    a port on loopback is open to every user of the machine, and whoever may speak to it runs code
    as the user who started it. Work stealing is off: all tasks of a pass are alike, and stealing
    can deadlock (dask/distributed#8787).

    Raises
    ------
    ClusterError
        When workers end while they start, again and again.
    """
    from distributed import Client

    _refuse_where_workers_cannot_start()
    forked.cluster_started = True
    with (
        _settings,
        watch_worker_ends() as ends,
        _start_cluster(workers, memory_limit, ends) as cluster,
        _closed_at_rest(cluster),
        Client(cluster, set_as_default=False) as client,
    ):
        attach_worker_ends(client, ends)
        yield client


@contextmanager
def _closed_at_rest(cluster: LocalCluster) -> Iterator[None]:
    """Wait, before a cluster is closed, until no worker of it is being started again.

    Where a worker dies as soon as it is connected, its nanny takes the next process, not yet
    started, for a running one. To close it then is an AssertionError, which would take the place
    of the error of the run and leave the scheduler and the process behind.
    """
    try:
        yield
    finally:
        cluster.sync(_wait_for_restarts, list(cluster.workers.values()))


async def _wait_for_restarts(nannies: list[Any]) -> None:
    """Wait until every nanny has a process or has given up, for a bounded time."""
    from distributed.core import Status

    deadline = time.monotonic() + RESTART_TIMEOUT
    while time.monotonic() < deadline and any(
        nanny.status == Status.running and nanny.pid is None for nanny in nannies
    ):
        await asyncio.sleep(0.02)


def _start_cluster(workers: int, memory_limit: int | None, ends: WorkerEnds) -> LocalCluster:
    """Start the processes; when one ends while it starts, start all again a bounded number."""
    for _ in range(START_ATTEMPTS):
        try:
            return _new_cluster(workers, memory_limit)
        except RuntimeError as error:
            if "Nanny failed to start" not in str(error):
                raise
            if ends.unguarded:
                raise ClusterError(_UNGUARDED_SCRIPT) from error
            last = error
    raise ClusterError(
        f"worker processes ended while they started, {START_ATTEMPTS} times; the last one: "
        + ends.explain()
    ) from last


def _new_cluster(workers: int, memory_limit: int | None) -> LocalCluster:
    """Start a scheduler and worker processes that speak TLS with a certificate of their own."""
    from distributed import LocalCluster
    from distributed.security import Security

    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        # Dask's configuration is for other certificates than these, and may ask for other ciphers
        security=Security.temporary(tls_ciphers=None, tls_min_version=None, tls_max_version=None),
        # a port of its own: the usual one may be taken, and that is a warning
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        memory_limit="auto" if memory_limit is None else memory_limit,
        silence_logs=50,
    )


def _refuse_where_workers_cannot_start() -> None:
    """Raise an error, or end a worker, where worker processes cannot start.

    Python starts no process while a script is imported by a new process. A worker reports
    this to its nanny by its exit status. Any other process raises an error.
    """
    process = multiprocessing.current_process()
    try:
        preparation = multiprocessing.spawn.get_preparation_data("worker")
    except RuntimeError as error:
        if "Dask Worker" in process.name:
            raise SystemExit(UNGUARDED) from error
        raise ClusterError(_UNGUARDED_SCRIPT) from error
    if process.daemon:
        raise ClusterError(_DAEMONIC_PROCESS)
    if forked.cluster_inherited:
        raise ClusterError(_FORKED_PROCESS)
    script = preparation.get("init_main_from_path")
    if script is not None and not Path(script).exists():
        raise ClusterError(_NO_SCRIPT_FILE)


@contextmanager
def _settings_made() -> Iterator[None]:
    """Set Dask and the environment for workers that start now, and take both back."""
    before = {name: os.environ.get(name) for name in KEEP_FREED_MEMORY}
    os.environ.update(KEEP_FREED_MEMORY)
    try:
        with (
            _private_folder() as folder,
            dask.config.set({**DASK_SETTINGS, "temporary-directory": str(folder)}),
        ):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Yield a folder that other users cannot open, for the files of workers.

    Dask puts the folder of its files on the path of modules. Another user may have made the usual
    folder in /tmp, and his modules would then be imported. The usual folder stays, because Dask
    removes what killed workers left there when others start. Without a temporary folder that can be
    written, Python takes the working folder, where nothing may stay.
    """
    configured = dask.config.get("temporary-directory", None)
    parent = Path(configured or gettempdir())
    if configured or not parent.samefile(os.curdir):
        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = parent / f"bigtensor-{user}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700, parents=True)
        status = folder.lstat()
        mine = not hasattr(os, "getuid") or (
            status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077
        )
        if stat.S_ISDIR(status.st_mode) and mine:
            yield folder
            return
    with TemporaryDirectory(prefix="bigtensor-", dir=parent, ignore_cleanup_errors=True) as name:
        yield Path(name)


_settings = ProcessWide(_settings_made)
