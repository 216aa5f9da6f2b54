"""The files of ``bigtensor deploy sge`` run with a real Grid Engine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.conftest import weights_of

GRID_ENGINE = Path(__file__).with_name("grid_engine.sh")


@pytest.mark.slow
def test_workers_as_jobs__have_the_same_bits(
    deploy: Callable[..., Path],
    study: Path,
    program_environment: dict[str, str],
    weights_on_threads: np.ndarray,
) -> None:
    if shutil.which("sge_qmaster") is None or os.geteuid() != 0:
        pytest.skip("no Grid Engine here, or not root; .ci/nightly installs it")
    folder = deploy("sge", "--memory", "1GiB", "--time", "00:10:00")
    jobs = folder / "jobqueue.yaml"
    jobs.write_text(jobs.read_text().replace("# interface: ib0", "interface: lo"))
    scratch = study / "grid_engine"
    scratch.mkdir()
    done = subprocess.run(
        [GRID_ENGINE, scratch, sys.executable, folder / "fit_with_jobqueue.py"],
        cwd=study,
        env=program_environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)
    assert not list(study.glob(".dask-jobqueue*"))
