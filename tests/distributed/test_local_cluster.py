"""Workers that are started here: how they use memory, and what is left of them."""

import asyncio
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from distributed import Client
from distributed.core import Status
from distributed.process import AsyncProcess

from bigtensor.engine.clusters.local_cluster import KEEP_FREED_MEMORY, local_cluster
from tests.distributed.jobs import page_faults_of_two_buffers

ROOT = Path(__file__).resolve().parents[2]

OVERLAPPING_CLUSTERS = """
import os

import dask
import distributed

from bigtensor.engine.clusters.local_cluster import DASK_SETTINGS, KEEP_FREED_MEMORY, local_cluster


def settings():
    return [os.environ.get(name) for name in KEEP_FREED_MEMORY], [
        dask.config.get(name) for name in DASK_SETTINGS
    ]


if __name__ == "__main__":
    os.environ["MALLOC_TRIM_THRESHOLD_"] = "65536"
    before = settings()
    first, second = local_cluster(1), local_cluster(1)
    with first as one:
        client = second.__enter__()
        clients = [one, client]
        for each in clients:
            (seen,) = each.run(lambda: dict(os.environ)).values()
            assert seen.items() >= KEEP_FREED_MEMORY.items()
    client.restart()
    (seen,) = client.run(lambda: dict(os.environ)).values()
    assert seen.items() >= KEEP_FREED_MEMORY.items()
    second.__exit__(None, None, None)
    assert settings() == before
    print("as before")
"""


@pytest.mark.slow  # other clusters are quick
def test_local_cluster__keeps_its_settings_to_its_workers(tmp_path: Path) -> None:
    script = tmp_path / "clusters.py"
    script.write_text(OVERLAPPING_CLUSTERS)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "as before\n", done.stderr


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="these are settings of glibc")
def test_local_cluster__ends_with_the_error_of_the_run_while_a_worker_starts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = AsyncProcess.start

    async def start_slowly(process: Any) -> None:
        await asyncio.sleep(1)
        await started(process)

    def leave_while_a_worker_starts() -> None:
        with local_cluster(1) as client:
            monkeypatch.setattr(AsyncProcess, "start", start_slowly)
            (worker,) = client.run(os.getpid).values()
            os.kill(worker, signal.SIGKILL)
            (nanny,) = client.cluster.workers.values()
            while nanny.process.status != Status.starting:
                time.sleep(0.01)
            # as where the process before died as soon as it was connected
            nanny.process.status = Status.running
            raise ValueError("the error of the run")

    before = {*psutil.Process().children(recursive=True)}
    with pytest.raises(ValueError, match="the error of the run"):
        leave_while_a_worker_starts()
    left = {*psutil.Process().children(recursive=True)} - before
    # Python's own process that tracks shared memory stays
    assert not [
        child
        for child in left
        if child.status() != psutil.STATUS_ZOMBIE and "spawn_main" in " ".join(child.cmdline())
    ]


def test_local_cluster__works_under_any_settings_of_encryption() -> None:
    """Only settings of certificates that are not used here: none of them may count."""
    tls = "distributed.comm.tls"
    settings = {
        "distributed.comm.require-encryption": True,
        "distributed.comm.default-scheme": "ws",
        f"{tls}.ca-file": "/none/ca.pem",
        f"{tls}.ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256",
        f"{tls}.min-version": 1.3,
        f"{tls}.max-version": 1.2,
        **{f"{tls}.{role}.cert": "/none/c.pem" for role in ("client", "scheduler", "worker")},
    }
    with dask.config.set(settings), local_cluster(1) as client:
        assert client.submit(sum, [1, 2]).result() == 3
        assert all(address.startswith("tls://") for address in client.nthreads())


def test_local_cluster__workers_use_freed_buffers_again(one_worker: Client) -> None:
    first, second = one_worker.submit(page_faults_of_two_buffers, pure=False).result()
    # the worker of other tests may have kept enough buffers for the first one too
    assert second <= 0.1 * first


@pytest.mark.parametrize("place", ["deploy/local/start_cluster.sh", "docs/running.md"])
def test_memory_settings__are_the_same_wherever_workers_are_started(place: str) -> None:
    variables = " ".join(f"{name}={value}" for name, value in KEEP_FREED_MEMORY.items())
    assert f"export {variables}\n" in (ROOT / place).read_text()
