"""Hundreds of kills at random moments: the same bits as without, and nothing left behind."""

import hashlib
import multiprocessing
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import bigtensor
from bigtensor.engine.clusters.local_cluster import local_cluster
from tests.distributed import kill_programs

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("BIGTENSOR_KILL_SEED", secrets.randbelow(10**6)))
DRIVER_KILLS = {
    "fit": 50,
    "fit_in_processes": 8,
    "write": 35,
    "write_in_processes": 4,
    "simulate_rows": 13,
    "import_csv": 20,
    "import_parquet": 10,
    "import_word_counts": 10,
    "import_fcs": 20,
    "export_csv": 10,
    "export_fcs": 10,
    "export_h5ad": 10,
    "export_in_place": 5,
    "rounds": 15,
}
WORKER_KILLS = 100
Files = dict[str, str]

_OF_THIS_RUN = re.compile(
    rb'"(reused_parts|lost_workers)": \d+|"(digest|contents)": "[0-9a-f]{64}"'
)
"""A saved model tells how many parts its fit took from a checkpoint and how many workers it lost,
and has digests of that."""

_OF_OTHERS = re.compile(r"/worker-\w+\.dirlock$|/tmp/\w{8}$|/tmp/tmp\w{8}(/dask\.(crt|pem))?$")
"""The next worker of Dask removes locks of workers that were killed. With a file of eight letters
Python looks whether a folder of temporary files can be written. Dask hands a certificate to the
TLS library in files, which stay where a process is killed meanwhile."""

forks = multiprocessing.get_context("forkserver")
"""A driver without workers is forked from a process that has imported all it needs."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all programs read."""
    forks.set_forkserver_preload([kill_programs.__name__])
    folder = tmp_path_factory.mktemp("inputs")
    kill_programs.make_inputs(folder)
    return folder


class Driver:
    """A program in a process of its own."""

    def __init__(self, name: str, inputs: Path, folder: Path) -> None:
        self._forked, self._process = None, None
        self.said = folder / "said.txt"
        self.said.unlink(missing_ok=True)
        if name.endswith("_in_processes"):
            # with a tracker of resources of its own, as users have it
            self._process = subprocess.Popen(
                [sys.executable, kill_programs.__file__, name, inputs, folder],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            while not self.said.exists() and self._process.poll() is None:
                time.sleep(0.005)
            self.pid = self._process.pid
        else:
            self._forked = forks.Process(target=kill_programs.run, args=(name, inputs, folder))
            self._forked.start()
            assert self._forked.pid is not None
            self.pid = self._forked.pid
        self.begun = time.perf_counter()

    def wait(self) -> int:
        """Wait for the end; return the exit code."""
        if self._process is not None:
            return self._process.wait(timeout=240)
        assert self._forked is not None
        self._forked.join(timeout=240)
        assert self._forked.exitcode is not None, "the program has not ended"
        return self._forked.exitcode

    def kill(self, seconds: float) -> None:
        """SIGKILL so many seconds after the start; workers must not outlive their driver."""
        time.sleep(max(0.0, self.begun + seconds - time.perf_counter()))
        try:
            children = psutil.Process(self.pid).children(recursive=True)
            os.kill(self.pid, signal.SIGKILL)
        except (psutil.NoSuchProcess, ProcessLookupError):
            children = []
        self.wait()
        _, alive = psutil.wait_procs(children, timeout=120)
        assert not alive


@dataclass(frozen=True)
class Undisturbed:
    """What a program leaves when nobody kills it, and how long it takes."""

    files: Files
    seconds: float


def files_of(folder: Path) -> Files:
    """Return the digests of all files, also those in the folder of temporary files.

    Folders have the digest of nothing.
    """
    found = {}
    for path in sorted([*folder.glob("out/**/*"), *folder.glob("tmp/**/*")]):
        if _OF_OTHERS.search(str(path)):
            continue
        content = b"" if path.is_dir() else path.read_bytes()
        if path.name == "zarr.json":
            content = _OF_THIS_RUN.sub(b"", content)
        found[str(path.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return found


def differing(found: Files, expected: Files) -> list[str]:
    """Return the first files that are missing, left behind or other ones."""
    names = found.keys() | expected.keys()
    return sorted(name for name in names if found.get(name) != expected.get(name))[:8]


def run_undisturbed(name: str, inputs: Path, folder: Path) -> Undisturbed:
    """Run a program once."""
    folder.mkdir()
    driver = Driver(name, inputs, folder)
    assert driver.wait() == 0, driver.said.read_text()
    return Undisturbed(files_of(folder), time.perf_counter() - driver.begun)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "kills"), DRIVER_KILLS.items())
def test_driver__killed_and_run_again_leaves_what_it_leaves_undisturbed(
    inputs: Path, tmp_path: Path, name: str, kills: int
) -> None:
    undisturbed = run_undisturbed(name, inputs, tmp_path / "undisturbed")
    print(f"seed {SEED}; {name} takes {undisturbed.seconds:.2f} s")
    rng = np.random.default_rng([SEED, *name.encode()])
    bad = []
    for number, moment in enumerate(rng.uniform(0, undisturbed.seconds, kills)):
        folder = tmp_path / str(number)
        folder.mkdir()
        Driver(name, inputs, folder).kill(moment)
        resumed = Driver(name, inputs, folder)
        if resumed.wait() != 0:
            bad.append(f"killed after {moment:.3f} s: {resumed.said.read_text()[-1000:]}")
            continue
        if wrong := differing(files_of(folder), undisturbed.files):
            bad.append(f"killed after {moment:.3f} s: {wrong}")
    assert not bad, "\n".join([f"{len(bad)} of {kills}", *bad])


class WorkerKiller(threading.Thread):
    """Kills workers of one cluster while something runs, also those that start.

    No more than two: a run gives up once three in a row have ended while there is no other.
    """

    def __init__(self, pids: set[int], moments: list[float], rng: np.random.Generator) -> None:
        super().__init__()
        self.before, self.moments, self.rng = pids, sorted(moments), rng
        self.killed = 0

    def run(self) -> None:
        begun = time.perf_counter()
        for moment in self.moments:
            time.sleep(max(0.0, begun + moment - time.perf_counter()))
            workers = sorted(worker_processes() - self.before)
            if workers:
                with suppress(ProcessLookupError):
                    os.kill(int(self.rng.choice(workers)), signal.SIGKILL)
                    self.killed += 1


def worker_processes() -> set[int]:
    """Return the processes that Dask has started for this one, also those that still start."""
    found = set()
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if any("spawn_main" in argument for argument in child.cmdline()):
                found.add(child.pid)
    return found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_workers__killed_at_random_moments_change_no_bit_and_leave_nothing(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    works = {"fit": fit_on, "write": write_on, "accumulate": accumulate_on}
    expected, seconds = {}, {}
    with local_cluster(2) as client:
        for name, work in works.items():
            (tmp_path / name).mkdir()
            begun = time.perf_counter()
            work(inputs, tmp_path / name, client)
            seconds[name] = time.perf_counter() - begun
            expected[name] = files_of(tmp_path / name)
    after_one_cluster = files_of(tmp_path)
    print(f"seed {SEED}; {seconds}")
    rng, killed, bad = np.random.default_rng(SEED), 0, []
    while killed < WORKER_KILLS:
        before = worker_processes()
        with local_cluster(2) as client:
            for _ in range(5):
                name = str(rng.choice(list(works)))
                folder = tmp_path / f"{name} {killed}"
                folder.mkdir()
                moments = rng.uniform(0, seconds[name], rng.integers(1, 3)).tolist()
                # a model tells how many workers its fit began with
                client.wait_for_workers(2, timeout=60)
                killer = WorkerKiller(before, moments, rng)
                killer.start()
                works[name](inputs, folder, client)
                killer.join()
                killed += killer.killed
                if wrong := differing(files_of(folder), expected[name]):
                    bad.append(f"{name} with kills after {moments}: {wrong}")
                shutil.rmtree(folder)
        assert worker_processes() <= before
        if left := differing(files_of(tmp_path), after_one_cluster):
            bad.append(f"after a cluster: {left}")
    print(f"{killed} workers were killed")
    assert not bad, "\n".join(bad)


def fit_on(inputs: Path, folder: Path, client: Any) -> None:
    cells, parts = str(inputs / "few.zarr"), str(folder / "out" / "parts")
    fitted = kill_programs.model("kernel").fit(cells, client=client, checkpoint=parts)
    fitted.save(folder / "out" / "model.zarr")


def write_on(inputs: Path, folder: Path, client: Any) -> None:
    (folder / "out").mkdir()
    bigtensor.load(inputs / "model.zarr").write(
        str(inputs / "cells.zarr"),
        folder / "out" / "labels.zarr",
        outputs=("label", "probability", "log_density"),
        client=client,
    )


def accumulate_on(inputs: Path, folder: Path, client: Any) -> None:
    (folder / "out").mkdir()
    prepared = bigtensor.load(inputs / "prepared.zarr")
    sums = prepared.accumulate(str(inputs / "cells.zarr"), client=client)
    sums.save(folder / "out" / "sums.zarr")
