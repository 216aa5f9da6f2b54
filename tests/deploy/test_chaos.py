"""Twenty fits on SLURM while workers die, jobs are cancelled and the scheduler stops."""

import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.deploy.conftest import fitted_weights, weights_of, write_rows
from tests.deploy.jobs import FitWithJobs, dask_processes, worker_processes
from tests.deploy.slurm import Slurm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROWS = 50_000_000
"""A fit of them takes about twenty seconds on two processors."""

LONGEST_PAUSE, STOP_SECONDS, FIT_SECONDS = 10.0, 5.0, 600.0
SEEDS = range(5)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of rows whose fit outlives several disturbances."""
    return write_rows(tmp_path_factory.mktemp("chaos"), ROWS)


@pytest.fixture(scope="module")
def weights_on_threads(rows: Path) -> np.ndarray:
    """Return the weights of the fit on threads of this process."""
    return fitted_weights(rows)


@contextmanager
def repeated(disturb: Callable[[], bool], study: Path, seed: int) -> Iterator[list[float]]:
    """Disturb a fit from its first parts on, after at most ten seconds each time; yield the times."""
    times: list[float] = []
    ended, generator = threading.Event(), random.Random(seed)

    def disturb_until_the_end() -> None:
        while not ended.wait(0.1) and not list((study / "parts").glob("*/*")):
            pass
        while not ended.wait(generator.uniform(0.2, 1.0) * LONGEST_PAUSE):
            # what is to be disturbed may end at the same time
            with suppress(psutil.NoSuchProcess, subprocess.SubprocessError):
                if disturb():
                    times.append(time.monotonic())

    thread = threading.Thread(target=disturb_until_the_end)
    thread.start()
    try:
        yield times
    finally:
        ended.set()
        thread.join()


def stop_for_a_while(process: psutil.Process) -> bool:
    """Let a process do nothing for five seconds."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(STOP_SECONDS)
    process.send_signal(signal.SIGCONT)
    return True


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("victim", ["worker", "scheduler"])
def test_fit_job__has_the_same_bits(
    slurm: Slurm,
    deploy: Callable[..., Path],
    study: Path,
    weights_on_threads: np.ndarray,
    victim: str,
    seed: int,
) -> None:
    """Workers are killed, or the scheduler is away for five seconds."""
    job = slurm.submit(str(deploy("slurm", "--memory", "1GiB") / "fit.sbatch"), cwd=study)
    private, generator = study / f".bigtensor-{job}", random.Random(seed)

    def disturb() -> bool:
        if victim == "worker":
            workers = worker_processes(private)
            if workers:
                generator.choice(workers).kill()
            return bool(workers)
        programs = dask_processes(private)
        schedulers = [program for program in programs if "scheduler" in program.cmdline()]
        return bool(schedulers) and stop_for_a_while(schedulers[0])

    try:
        with repeated(disturb, study, seed) as times:
            state = slurm.wait(job, FIT_SECONDS)
    finally:
        slurm.cancel_all()
    assert state == "COMPLETED", (study / f"bigtensor-{job}.log").read_text()
    assert times
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("as_needed", [False, True], ids=["two jobs", "jobs as needed"])
def test_workers_as_jobs__have_the_same_bits(
    slurm: Slurm,
    fit_with_jobs: FitWithJobs,
    study: Path,
    weights_on_threads: np.ndarray,
    as_needed: bool,
    seed: int,
) -> None:
    """Jobs are cancelled as by a preemption."""
    process = fit_with_jobs(as_needed=as_needed)
    generator = random.Random(seed)

    def disturb() -> bool:
        jobs = slurm.jobs()
        if not jobs:
            return False
        command = ["scancel", generator.choice(jobs)]
        done = subprocess.run(command, env=slurm.environment, capture_output=True, timeout=60)
        return done.returncode == 0

    with repeated(disturb, study, seed) as times:
        _, errors = process.communicate(timeout=FIT_SECONDS)
    assert process.returncode == 0, errors
    assert times
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)
