"""A real SLURM, and a small store with the model that its fit has to give."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import bigtensor
from bigtensor import KernelMixture, simulate
from bigtensor.cli import main
from tests.deploy.jobs import FitWithJobs
from tests.deploy.slurm import Slurm, missing_programs, running_slurm

ROOT = Path(__file__).resolve().parents[2]
ROWS, COMPONENTS = 80_000, 3


@pytest.fixture(scope="session")
def program_environment() -> dict[str, str]:
    """Return an environment in which programs are those of this interpreter and this package."""
    folder = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]),
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        # listeners of tests stay on loopback
        "INTERFACE": "lo",
    }


@pytest.fixture(scope="session")
def slurm(program_environment: dict[str, str]) -> Iterator[Slurm]:
    """Return a SLURM of two nodes."""
    if missing := missing_programs():
        pytest.skip(f"SLURM is not installed (no {', '.join(missing)}); .ci/run installs it")
    folder = Path(tempfile.mkdtemp(prefix="bigtensor-slurm."))
    # munge refuses a socket that other users cannot reach
    folder.chmod(0o755)
    try:
        with running_slurm(folder / "slurm", program_environment) as running:
            yield running
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of simulated rows."""
    return write_rows(tmp_path_factory.mktemp("deploy"), ROWS)


@pytest.fixture(scope="session")
def weights_on_threads(rows: Path) -> np.ndarray:
    """Return the weights of the fit on threads of this process."""
    return fitted_weights(rows)


@pytest.fixture
def study(rows: Path, tmp_path: Path) -> Path:
    """Return a folder of a user with the data in it."""
    (tmp_path / "rows.zarr").symlink_to(rows)
    return tmp_path


@pytest.fixture
def deploy(study: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes the files of a kind for a fit of the data."""

    def write(kind: str, *options: str) -> Path:
        # the plan of the fit reads the store, which the command names as seen from the folder
        monkeypatch.chdir(study)
        fit = f"fit rows.zarr --components {COMPONENTS} --out model.zarr".split()
        arguments = ["deploy", kind, "--workers", "2", "--out", "job", *options, *fit]
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
        return study / "job"

    return write


@pytest.fixture
def fit_with_jobs(slurm: Slurm, deploy: Callable[..., Path], study: Path) -> Iterator[FitWithJobs]:
    """Return a function that starts the script whose workers are jobs."""
    start = FitWithJobs(slurm, deploy, study)
    yield start
    start.end()


def write_rows(folder: Path, rows: int) -> Path:
    """Write simulated rows and return their store."""
    store = folder / "rows.zarr"
    simulate.write_kernel_mixture(store, rows, COMPONENTS, random_state=1)
    return store


def fitted_weights(rows: Path) -> np.ndarray:
    """Return the weights of a fit on threads of this process."""
    return KernelMixture(COMPONENTS, random_state=0).fit(rows, scheduler="threads").weights_


def weights_of(model: Path) -> np.ndarray:
    """Return the weights of a saved mixture."""
    return bigtensor.load(model).weights_
