"""The job script of SLURM, with short programs in place of Dask and of the command."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PYTHON = """#!/usr/bin/env bash
case "$*" in
    *"dask scheduler"*) echo {} >"$SLURM_SUBMIT_DIR/.bigtensor-1/scheduler.json"; exec sleep 20 ;;
    *"-m bigtensor"*) eval "$COMMAND" ;;
    *) true ;;
esac
"""

SRUN = """#!/usr/bin/env bash
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
"""

StartJob = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start_job(
    deploy: Callable[..., Path], study: Path, program_environment: dict[str, str]
) -> StartJob:
    """Return a function that starts the script, whose command is a line of bash."""
    script, programs, temporary = (
        deploy("slurm") / "fit.sbatch",
        study / "programs",
        study / "of me",
    )
    programs.mkdir()
    temporary.mkdir()
    for name, text in {"python3": PYTHON, "srun": SRUN}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    job = {"SLURM_SUBMIT_DIR": str(study), "SLURM_JOB_ID": "1", "TMPDIR": str(temporary)}
    job["PATH"] = os.pathsep.join([str(programs), program_environment["PATH"]])

    def start(command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", script],
            cwd=study,
            env=program_environment | job | {"PYTHON": "python3", "COMMAND": command},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start


def test_fit_job__removes_its_own_folders_alone(start_job: StartJob, study: Path) -> None:
    # the folder of temporary files is "of me"
    for name in ("me", "of"):
        (study / name).mkdir()
    with start_job("sleep 0.5") as job:
        assert job.wait(20) == 0
    assert (study / "me").is_dir()
    assert (study / "of").is_dir()
    assert not list((study / "of me").iterdir())
    assert not (study / ".bigtensor-1").exists()


def test_fit_job__whose_command_was_killed_ends_its_log_with_the_status(
    start_job: StartJob,
) -> None:
    with start_job("kill -KILL $$") as job:
        log, _ = job.communicate(timeout=20)
    assert job.returncode == 128 + signal.SIGKILL
    assert "137" in log.splitlines()[-1]
    assert "--mem-per-cpu" in log.splitlines()[-1]


def test_fit_job__with_an_error_ends_its_log_with_it(start_job: StartJob) -> None:
    with start_job("echo the error >&2; exit 3") as job:
        log, _ = job.communicate(timeout=20)
    assert job.returncode == 3
    assert log.splitlines()[-1] == "the error"


def test_fit_job__that_is_terminated_has_the_status_of_its_command(
    start_job: StartJob, study: Path
) -> None:
    command = "trap 'sleep 0.3; exit 0' TERM; touch begun; for _ in {1..100}; do sleep 0.1; done"
    with start_job(command) as job:
        deadline = time.monotonic() + 20
        while not (study / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        job.send_signal(signal.SIGTERM)
        assert job.wait(20) == 0
