"""Workers that are started here: how they use memory, and what is left of them."""

import os
import platform

import pytest
from distributed import Client

from bigtensor.engine.local_cluster import KEEP_FREED_MEMORY, local_cluster
from tests.distributed.jobs import page_faults_of_two_buffers


def test_local_cluster__keeps_its_memory_settings_to_its_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    with local_cluster(1) as client:
        (variables,) = client.run(lambda: dict(os.environ)).values()
    assert variables.items() >= KEEP_FREED_MEMORY.items()
    assert os.environ["MALLOC_TRIM_THRESHOLD_"] == "65536"
    assert "MALLOC_ARENA_MAX" not in os.environ


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="these are settings of glibc")
def test_local_cluster__workers_use_freed_buffers_again(one_worker: Client) -> None:
    first, second = one_worker.submit(page_faults_of_two_buffers, pure=False).result()
    assert second < 0.1 * first
