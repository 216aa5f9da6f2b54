"""A thousand simulated workers behind a real scheduler: tasks a second, and the shares of a pass.

``python -m tests.benchmarks.simulated_workers --workers 1000``

The scheduler is a process of its own. The workers are those of Dask, several hundred in one
process, and each of their tasks sleeps for the time of a part and returns a state of its size. The
processors of the machine therefore serve the scheduler, the driver and the messages of the workers
alone.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, Worker, as_completed

from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from tests.benchmarks.tables import Report, Row

WORKERS_A_PROCESS = 250
PARTS = 10_000
"""Parts of a pass: the largest number that a pass has."""

STATE_NBYTES, SHARED_NBYTES = 65_536, 16_384
"""Bytes of a state, and of the parameters that its task takes. A kernel mixture of eight
components of six markers has states of 769 KiB and parameters of 386 KiB; a Gaussian mixture has
states of 1 KiB and parameters of 3 KiB."""

QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "30s",
    "distributed.admin.tick.interval": "10s",
    "distributed.worker.http.routes": [],
    "distributed.scheduler.work-stealing": False,
}
"""Workers of one process would otherwise look at themselves all the time."""


def empty_task(_: int) -> None:
    """Return nothing at once."""


def state_task(_: int, nbytes: int) -> np.ndarray:
    """Return a state at once."""
    return np.zeros(nbytes // 8)


@dataclass(frozen=True)
class Sizes:
    """Bytes of the state of a part, and of the parameters that its task takes."""

    state: int
    shared: int


def simulated_part(shared: tuple[int, bytes], seconds: float) -> np.ndarray:
    """Sleep for as long as a part takes, and return a state of its size."""
    state_nbytes, _ = shared
    if seconds:
        time.sleep(seconds)
    return np.zeros(state_nbytes // 8)


def run_workers(address: str, count: int, folder: str) -> None:
    """Run workers of one thread in this process until the scheduler closes them."""

    async def serve() -> None:
        workers = [
            Worker(
                address,
                nthreads=1,
                memory_limit=0,
                dashboard=False,
                local_directory=f"{folder}/{number}",
                host="127.0.0.1",
            )
            for number in range(count)
        ]
        for start in range(0, count, 25):
            await asyncio.gather(*workers[start : start + 25])
        await asyncio.gather(*(worker.finished() for worker in workers))

    logging.getLogger("distributed").setLevel(logging.ERROR)
    with dask.config.set(QUIET):
        asyncio.run(serve())


@contextmanager
def simulated_cluster(workers: int) -> Iterator[tuple[Client, int]]:
    """Start a scheduler and workers, and yield their client and the number of the scheduler."""
    with tempfile.TemporaryDirectory() as folder, dask.config.set(QUIET):
        file = Path(folder, "scheduler.json")
        scheduler = subprocess.Popen(
            [
                *(sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"),
                *("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)),
            ],
            stderr=subprocess.DEVNULL,
        )
        while not file.exists():
            time.sleep(0.05)
        context, hosts = multiprocessing.get_context("spawn"), []
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            address = client.scheduler.address
            for start in range(0, workers, WORKERS_A_PROCESS):
                count = min(WORKERS_A_PROCESS, workers - start)
                place = Path(folder, str(start))
                host = context.Process(target=run_workers, args=(address, count, str(place)))
                host.start()
                hosts.append(host)
            client.wait_for_workers(workers, timeout=600)
            try:
                yield client, scheduler.pid
            finally:
                client.shutdown()
                for host in hosts:
                    host.join(60)
                scheduler.wait(60)


def peak_mib(process: int | str) -> float:
    """Return the most memory that a process has held."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(peak) / 1024


def dask_alone_seconds(client: Client, tasks: int, state_nbytes: int = 0) -> float:
    """Return the seconds of tasks without work that are submitted at once, with Dask alone."""
    start = time.perf_counter()
    futures = (
        client.map(state_task, range(tasks), nbytes=state_nbytes, pure=False)
        if state_nbytes
        else client.map(empty_task, range(tasks), pure=False)
    )
    finished = as_completed(futures, loop=client.loop, with_results=True)
    # each future is released when its result has arrived, as by the engine
    futures.clear()
    for _ in finished:
        pass
    return time.perf_counter() - start


def engine_seconds(client: Client, parts: int, sizes: Sizes, seconds: float) -> float:
    """Return the seconds of a pass of the engine over simulated parts."""
    states = []
    start = time.perf_counter()
    DistributedRuntime(client).run(
        simulated_part,
        (sizes.state, os.urandom(sizes.shared)),
        [(seconds,)] * parts,
        lambda index, state: states.append((index, state.nbytes)),
        result_nbytes=sizes.state,
    )
    wall = time.perf_counter() - start
    assert sorted(index for index, _ in states) == list(range(parts))
    return wall


def ceiling_rows(client: Client, parts: int, sizes: Sizes, repeats: int) -> list[Row]:
    """Compare the rate of tasks without work with and without the engine, in turn."""
    alone, with_states, engine = [], [], []
    for _ in range(repeats):
        alone.append(dask_alone_seconds(client, parts))
        with_states.append(dask_alone_seconds(client, parts, sizes.state))
        engine.append(engine_seconds(client, parts, sizes, 0.0))
    ratio = min(alone) / min(engine)
    return [
        {
            "tasks": parts,
            "Dask alone, tasks/s": parts / min(alone),
            "Dask alone, same states, tasks/s": parts / min(with_states),
            "engine, tasks/s": parts / min(engine),
            "MB/s of states": parts * sizes.state / min(engine) / 1e6,
            "share of the ceiling": ratio,
            "bars": "share of the ceiling >= 0.9",
            "holds": ratio >= 0.9,
        }
    ]


def efficiency_rows(
    client: Client, scheduler: int, workers: int, parts: int, sizes: Sizes, rate: float
) -> list[Row]:
    """Measure the share of the time of all workers that parts of several lengths use."""
    table: list[Row] = []
    for seconds in (0.5, 1.0, 5.0):
        wall = engine_seconds(client, parts, sizes, seconds)
        rounds = -(-parts // workers)
        ideal = rounds * seconds
        held = seconds == 5.0 and rate * seconds >= workers
        table.append(
            {
                "seconds a part": seconds,
                "parts": parts,
                "ideal s": ideal,
                "wall s": wall,
                "efficiency": ideal / wall,
                "the scheduler allows": min(1.0, rate * seconds / workers),
                "scheduler MiB": peak_mib(scheduler),
                "driver MiB": peak_mib("self"),
                "bars": "efficiency >= 0.9, driver < 1024 MiB" if held else None,
                "holds": (ideal / wall >= 0.9 and peak_mib("self") < 1024) if held else None,
            }
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--parts", type=int, default=PARTS)
    parser.add_argument("--state-nbytes", type=int, default=STATE_NBYTES)
    parser.add_argument("--shared-nbytes", type=int, default=SHARED_NBYTES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options: Any = parser.parse_args(arguments)
    report = Report("simulated workers", {**vars(options), "out": str(options.out)}, options.out)
    with simulated_cluster(options.workers) as (client, scheduler):
        sizes = Sizes(options.state_nbytes, options.shared_nbytes)
        ceiling = ceiling_rows(client, options.parts, sizes, options.repeats)
        report.add(f"Empty tasks, {options.workers} simulated workers", ceiling)
        report.add(
            "Parts that sleep",
            efficiency_rows(
                client,
                scheduler,
                options.workers,
                options.parts,
                sizes,
                ceiling[0]["Dask alone, tasks/s"],
            ),
        )
    print(f"\n{len(report.missed)} rows miss a bar")
    return 1 if report.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
