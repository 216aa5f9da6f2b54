"""The files of ``bigtensor deploy pbs`` run with the commands of Torque over SLURM."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import weights_of
from tests.deploy.slurm import JOB_SECONDS, Slurm


@pytest.mark.slow
def test_workers_as_jobs__have_the_same_bits(
    slurm: Slurm, deploy: Callable[..., Path], study: Path, weights_on_threads: np.ndarray
) -> None:
    commands = os.environ.get("TORQUE_COMMANDS")
    if commands is None:
        pytest.skip("no commands of PBS here; .ci/nightly unpacks them and sets TORQUE_COMMANDS")
    folder = deploy("pbs", "--memory", "1GiB", "--time", "00:10:00")
    jobs = folder / "jobqueue.yaml"
    jobs.write_text(jobs.read_text().replace("# interface: ib0", "interface: lo"))
    done = subprocess.run(
        [sys.executable, folder / "fit_with_jobqueue.py"],
        cwd=study,
        env=slurm.environment | {"PATH": f"{commands}{os.pathsep}{slurm.environment['PATH']}"},
        capture_output=True,
        text=True,
        timeout=JOB_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)
    assert not list(study.glob(".dask-jobqueue*"))
