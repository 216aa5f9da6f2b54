"""The script of ``bigtensor deploy cloud``, as far as it can be looked at without an account."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bigtensor.engine.clusters.local_cluster import KEEP_FREED_MEMORY

PRINT_START = """
import asyncio
from fit_on_ec2 import CLUSTER, EC2Cluster
async def print_start():
    print(EC2Cluster.get_cloud_init(**CLUSTER))
asyncio.run(print_start())
"""


def test_script__is_python_with_the_numbers_of_the_command(deploy: Callable[..., Path]) -> None:
    text = (deploy("cloud", "--memory", "3GiB") / "fit_on_ec2.py").read_text()
    compile(text, "fit_on_ec2.py", "exec")
    assert re.search(r'"n_workers": 2,\n.*"memory_limit": "3072MiB"', text)


@pytest.mark.slow
def test_machines__start_the_image_with_its_variables(
    deploy: Callable[..., Path], program_environment: dict[str, str]
) -> None:
    if importlib.util.find_spec("dask_cloudprovider") is None:
        pytest.skip("dask-cloudprovider is not installed; .ci/nightly installs it")
    done = subprocess.run(
        [sys.executable, "-c", PRINT_START],
        cwd=deploy("cloud"),
        env=program_environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    (line,) = [line for line in done.stdout.splitlines() if "docker run" in line]
    assert "registry.example.org/bigtensor:latest" in line, done.stderr
    for name, value in KEEP_FREED_MEMORY.items():
        assert f'-e {name}="{value}"' in line
