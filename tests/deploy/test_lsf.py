"""The script of a worker that ``bigtensor deploy lsf`` leads to; LSF itself is not free."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PRINT_SCRIPT = """
import dask
from fit_with_jobqueue import JOBS, LSFCluster
dask.config.update(dask.config.config, JOBS)
with LSFCluster(scheduler_options={"dashboard_address": "127.0.0.1:0"}) as cluster:
    print(cluster.job_script())
"""


def test_job_script__asks_for_the_time_and_the_memory_of_a_worker(
    deploy: Callable[..., Path], program_environment: dict[str, str]
) -> None:
    pytest.importorskip("dask_jobqueue")
    done = subprocess.run(
        [sys.executable, "-c", PRINT_SCRIPT],
        cwd=deploy("lsf", "--memory", "1GiB", "--time", "02:30:00"),
        env=program_environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = done.stdout.splitlines()
    assert "#BSUB -W 02:30" in lines, done.stderr
    assert "#BSUB -n 1" in lines
    (memory,) = [line.split()[-1] for line in lines if line.startswith("#BSUB -M")]
    assert 1024 * 2**10 <= int(memory) <= 1536 * 2**10
    assert any("--memory-limit 1.00GiB" in line for line in lines)
