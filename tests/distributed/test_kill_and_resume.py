"""Processes that are killed at any moment: the same bits, and nothing finished is lost."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from bigtensor import simulate
from bigtensor.data.opening import open_samples
from bigtensor.data.simulate.gaussian_mixture import write_gaussian_mixture
from bigtensor.data.simulate.hidden_markov import write_hidden_markov
from bigtensor.data.simulate.ica import write_ica
from bigtensor.data.simulate.latent_chain import write_latent_chain
from bigtensor.data.simulate.linear_mixture import write_linear_mixture
from bigtensor.data.simulate.topics import write_topics
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.engine.events import Event
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.base import Pass
from tests.distributed import fit_driver
from tests.engine.sums import ColumnSums

WORKERS = fit_driver.WORKERS
ROOT = Path(__file__).resolve().parents[2]
SEED = 20_261_120
Part = tuple[str, int, int]


@dataclass(frozen=True)
class Undisturbed:
    """A fit that nobody disturbs: its model, data, the digest of its result, and its parts."""

    name: str
    store: str
    digest: str
    parts: tuple[Part, ...]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A fit without a checkpoint to a store of 600,000 rows."""
    folder = tmp_path_factory.mktemp("kill")
    data = simulate.kernel_mixture(600_000, 3, random_state=2)
    with SampleStoreWriter(folder / "cells.zarr", ["a", "b", "c"], dtype="float32") as writer:
        writer.append(data["X"].to_numpy())
    found = fit_undisturbed("kernel", folder / "cells.zarr", folder)
    assert len(found.parts) >= 40
    return found


def fit_undisturbed(name: str, store: Path, folder: Path) -> Undisturbed:
    """Fit a model to a store, without a checkpoint."""
    events: list[Event] = []
    fitted = fit_driver.model(name).fit(
        str(store), scheduler="threads", workers=2, listeners=[events.append]
    )
    fitted.save(folder / "model.zarr")
    parts = tuple(
        (event.name.replace(" ", "-"), event.start, event.stop)
        for event in events
        if event.kind == "part finished"
    )
    digest = fit_driver.digest(str(folder / "model.zarr"))
    return Undisturbed(name, str(store), digest, parts)


class Driver:
    """One run of the driver program in a folder of its own."""

    def __init__(self, undisturbed: Undisturbed, folder: Path, run: str, scheduler: str) -> None:
        self.log, self.model = folder / f"{run}.log", folder / "model.zarr"
        script = ROOT / "tests" / "distributed" / "fit_driver.py"
        self.process = subprocess.Popen(
            [
                *(sys.executable, script, undisturbed.store, folder / "c", self.log, self.model),
                *(scheduler, undisturbed.name),
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "started\n"
        self.started = time.perf_counter()

    def kill(self) -> None:
        """SIGKILL, unless it has ended already; its workers must not outlive it."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()
        _, alive = psutil.wait_procs(children, timeout=30)
        assert not alive

    def finish(self) -> None:
        """Wait for a good end."""
        said, _ = self.process.communicate(timeout=120)
        assert (said, self.process.returncode) == ("finished\n", 0)

    def computed(self) -> list[Part]:
        """The parts that were computed, as the engine logged them."""
        pattern = re.compile(r"computed rows (\d+) to (\d+) of (.+)")
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        found = [pattern.fullmatch(line) for line in lines]
        return [
            (match[3].replace(" ", "-"), int(match[1]), int(match[2])) for match in found if match
        ]


def stored_parts(checkpoint: Path) -> tuple[set[Part], set[str]]:
    """Return the parts that are stored, and the passes whose sum is stored."""
    parts, sums = set(), set()
    for path in checkpoint.glob("*/*.state"):
        name = path.parent.name.rsplit("-", 1)[0]
        if path.stem == "sum":
            sums.add(name)
        else:
            start, stop = path.stem.split("-")
            parts.add((name, int(start), int(stop)))
    return parts, sums


def killed_and_resumed(
    undisturbed: Undisturbed,
    folder: Path,
    moments: int,
    scheduler: str,
    *,
    after_a_sum: bool = False,
) -> Iterator[tuple[Driver, set[Part], set[str], Driver]]:
    """Kill a fit at random moments, or after a sum, and run the same command again.

    Random moments are spread over the time that a process takes which nobody kills. With
    ``after_a_sum``, the process is killed when the first sum of a pass is stored, however busy the
    machine is.

    Yields
    ------
    killed, parts, sums, resumed
        Both runs, and the parts and sums that the first one left behind.
    """
    seconds = 0.0
    if not after_a_sum:
        (folder / "whole").mkdir()
        whole = Driver(undisturbed, folder / "whole", "whole", scheduler)
        whole.finish()
        seconds = time.perf_counter() - whole.started
    rng = np.random.default_rng([SEED, moments])
    for number, moment in enumerate(rng.uniform(0, seconds, moments)):
        place = folder / str(number)
        place.mkdir()
        random_moment = f"{moment:.3f} s of {seconds:.3f} s after the start"
        print(f"seed {SEED}: killed {'after a sum' if after_a_sum else random_moment}")
        killed = Driver(undisturbed, place, "killed", scheduler)
        time.sleep(max(0.0, killed.started + moment - time.perf_counter()))
        while after_a_sum and not stored_parts(place / "c")[1] and killed.process.poll() is None:
            time.sleep(0.01)
        killed.kill()
        parts, sums = stored_parts(place / "c")
        resumed = Driver(undisturbed, place, "resumed", scheduler)
        resumed.finish()
        assert fit_driver.digest(str(resumed.model)) == undisturbed.digest
        yield killed, parts, sums, resumed


def kill_and_resume(undisturbed: Undisturbed, folder: Path, moments: int, scheduler: str) -> None:
    """Kill a fit, run the same command again, and compare.

    It is killed at random moments, or after its first sum if ``moments`` is one.
    """
    reused = 0
    runs = killed_and_resumed(undisturbed, folder, moments, scheduler, after_a_sum=moments == 1)
    for killed, parts, sums, resumed in runs:
        again = resumed.computed()
        assert len(again) == len(set(again))
        assert not parts & set(again)
        assert sums or moments > 1
        assert not sums & {name for name, _, _ in again}
        # what is left is exactly what was neither stored as a part nor within a sum
        left = {part for part in undisturbed.parts if part not in parts and part[0] not in sums}
        assert set(again) == left
        # of what had been computed at most the part that was being stored is lost
        lost = [part for part in killed.computed() if part in left]
        assert len(lost) <= 1
        reused += len(undisturbed.parts) - len(again)
    print(f"{reused} parts were taken from checkpoints after {moments} kills")
    assert reused > 0


@pytest.mark.parametrize(
    ("scheduler", "moments"),
    [("threads", 1), pytest.param("processes", 3, marks=pytest.mark.slow)],
)
def test_driver__killed_and_run_again_gives_the_same_bits(
    undisturbed: Undisturbed, tmp_path: Path, scheduler: str, moments: int
) -> None:
    kill_and_resume(undisturbed, tmp_path, moments, scheduler)


@pytest.mark.slow
@pytest.mark.parametrize(("scheduler", "moments"), [("threads", 20), ("processes", 6)])
def test_driver__killed_at_many_moments(
    undisturbed: Undisturbed, tmp_path: Path, scheduler: str, moments: int
) -> None:
    kill_and_resume(undisturbed, tmp_path, moments, scheduler)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["linear", "gaussian", "sparse", "kernel sources", "sequences", "train", "topics"]
)
def test_driver__of_a_moment_model_killed_and_run_again_gives_the_same_bits(
    name: str, tmp_path: Path
) -> None:
    write = {
        "linear": partial(write_linear_mixture, noise=0.5),
        "gaussian": partial(write_gaussian_mixture, noise=0.5),
        "sparse": partial(write_ica, sources="sparse", noise=0.05),
        "kernel sources": write_ica,
        "sequences": partial(write_hidden_markov, n_symbols=6),
        "train": write_latent_chain,
        "topics": partial(write_topics, n_words=500, mean_length=20),
    }[name]
    sizes = {} if name in ("sequences", "topics") else {"n_features": 6}
    write(tmp_path / "rows.zarr", 1_000_000, 8, **sizes, random_state=2)
    found = fit_undisturbed(name, tmp_path / "rows.zarr", tmp_path)
    reused = 0
    for killed, _, _, resumed in killed_and_resumed(found, tmp_path, 6, "threads"):
        # passes have the same name: parts are counted
        again = len(resumed.computed())
        assert again <= len(found.parts) - len(killed.computed()) + WORKERS
        reused += len(found.parts) - again
    assert reused > 0


def test_worker__killed_in_mid_pass_changes_no_bit() -> None:
    values = (
        np.random.default_rng(0).normal(size=(400_000, 2)) * np.logspace(-6, 6, 400_000)[:, None]
    )
    samples, pass_ = open_samples(values), Pass("sums", ColumnSums(2, seconds=0.002))
    expected = run_pass(samples, pass_, ThreadedRuntime(2))
    with local_cluster(2) as client:
        before = set(client.run(os.getpid).values())

        def kill_one(event: Event) -> None:
            if event.parts == 4:
                os.kill(min(before), signal.SIGKILL)

        killed: Any = run_pass(samples, pass_, DistributedRuntime(client), listeners=[kill_one])
        client.wait_for_workers(2, timeout=30)
        assert set(client.run(os.getpid).values()) != before
    for name, array in expected.items():
        assert array.tobytes() == killed[name].tobytes()


@pytest.mark.slow
def test_worker__killed_in_mid_fit_changes_no_bit(undisturbed: Undisturbed, tmp_path: Path) -> None:
    with local_cluster(2) as client:
        victims = sorted(client.run(os.getpid).values())

        def kill(event: Event) -> None:
            if event.parts == 5 and event.name in ("moments", "posterior 2"):
                os.kill(victims.pop(), signal.SIGKILL)

        fitted = fit_driver.model("kernel").fit(undisturbed.store, client=client, listeners=[kill])
        assert not victims
    fitted.save(tmp_path / "model.zarr")
    assert fit_driver.digest(str(tmp_path / "model.zarr")) == undisturbed.digest
