"""Passes on worker processes: two against one, what Dask and reading cost, growth with the rows."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bigtensor import KernelMixture
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.samples import Samples
from bigtensor.data.simulate import write_cytometry
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.engine.events import Event
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import Runtime
from bigtensor.engine.threads import Collect, Job, JobFunction, ThreadedRuntime
from bigtensor.statistics.base import Pass, Statistic
from bigtensor.statistics.row_sample import RowSample
from bigtensor.statistics.validity import Checked
from tests.benchmarks.kernels import kernel_seconds
from tests.benchmarks.preparations import doubtful_starts_allowed, in_memory, statistic_of
from tests.benchmarks.tables import Row

N_COMPONENTS = 8
MARKERS = 6
MEMORY_LIMIT = 2**30
POSTERIOR_PASSES = 2
"""As many as a fit from the spectral start has."""

KERNEL_ROWS = 1_000_000
"""Rows in the memory of a worker to measure the kernel alone."""

TIMES = ("wall s", "kernel s")


def write_cells(folder: Path, rows: int) -> Path:
    """Write simulated cells unless they are there, and return the store."""
    store = folder / f"cells-{rows}.zarr"
    if not store.exists():
        write_cytometry(store, rows, N_COMPONENTS, markers=MARKERS, random_state=3)
    return store


def worker_rows(folder: Path, rows: int, repeats: int) -> list[Row]:
    """Compare two workers with one on the moments pass and on a posterior pass, in turn."""
    samples = open_samples(write_cells(folder, rows))
    table: list[Row] = []
    with local_cluster(1, MEMORY_LIMIT) as one, local_cluster(2, MEMORY_LIMIT) as two:
        clients = {1: one, 2: two}
        for name in ("moments", "posterior 1"):
            statistic = Checked(statistic_of(KernelMixture(N_COMPONENTS), samples, name))
            seconds: dict[int, list[float]] = {1: [], 2: []}
            for client in clients.values():
                _pass_seconds(client, samples, statistic)
            for _ in range(repeats):
                for workers, client in clients.items():
                    seconds[workers].append(_pass_seconds(client, samples, statistic))
            ratio = median(
                first / second for first, second in zip(seconds[1], seconds[2], strict=True)
            )
            held = name == "moments"
            table.append(
                {
                    "pass": name,
                    "rows": rows,
                    "1 worker s": median(seconds[1]),
                    "2 workers s": median(seconds[2]),
                    "gain": ratio,
                    "best gain": min(seconds[1]) / min(seconds[2]),
                    "bars": "gain >= 1.85" if held else None,
                    "holds": ratio >= 1.85 if held else None,
                }
            )
    return table


def share_rows(folder: Path, rows: int, repeats: int) -> list[Row]:
    """Measure the share of the wall time that is not the kernel, of two passes and of a fit.

    The kernel alone runs in the same workers at the same time, on rows in their memory. A fit is
    the moments pass and two posterior passes.
    """
    samples = open_samples(write_cells(folder, rows))
    held = in_memory(samples, KERNEL_ROWS)
    table: list[Row] = []
    with local_cluster(2, MEMORY_LIMIT) as client:
        copies = client.scatter(held, broadcast=True, hash=False)
        for name in ("moments", "posterior 1"):
            statistic = Checked(statistic_of(KernelMixture(N_COMPONENTS), samples, name))
            walls, kernels = [], []
            _pass_seconds(client, samples, statistic)
            for _ in range(repeats):
                kernels.append(_kernel_seconds_a_row(client, copies, statistic, held.rows))
                walls.append(_pass_seconds(client, samples, statistic))
            kernels.append(_kernel_seconds_a_row(client, copies, statistic, held.rows))
            wall, kernel = median(walls), median(kernels) * rows / 2
            table.append(_share_row(name, rows, wall, kernel, held=name == "moments"))
    moments, posterior = table
    wall, kernel = (moments[key] + POSTERIOR_PASSES * posterior[key] for key in TIMES)
    return [*table, _share_row("a fit", rows, wall, kernel, held=True)]


def _share_row(name: str, rows: int, wall: float, kernel: float, *, held: bool) -> Row:
    """Return the share of the wall time that is not the kernel's."""
    share = 1 - kernel / wall
    return {
        "pass": name,
        "rows": rows,
        **dict(zip(TIMES, (wall, kernel), strict=True)),
        "share": share,
        "bars": "share <= 0.1" if held else None,
        "holds": share <= 0.10 if held else None,
    }


@dataclass
class TimedTasks:
    """A runtime that adds up the seconds of its tasks, from their first line to their last.

    Parameters
    ----------
    runtime : Runtime
    """

    runtime: Runtime
    seconds: float = 0.0

    def run(
        self,
        function: JobFunction,
        shared: Any,
        jobs: Sequence[Job],
        collect: Collect,
        **options: Any,
    ) -> None:
        """Run the jobs as the runtime does."""

        def collect_timed(index: int, timed: tuple[Any, float]) -> None:
            result, seconds = timed
            self.seconds += seconds
            collect(index, result)

        self.runtime.run(partial(_timed, function), shared, jobs, collect_timed, **options)


def _timed(function: JobFunction, *arguments: Any) -> tuple[Any, float]:
    """Call a function, and return the seconds beside its result."""
    start = time.perf_counter()
    return function(*arguments), time.perf_counter() - start


def dispatch_rows(folder: Path, rows: int, repeats: int) -> list[Row]:
    """Measure the share of a posterior pass in which workers wait for tasks or send results."""
    samples = open_samples(write_cells(folder, rows))
    statistic = Checked(statistic_of(KernelMixture(N_COMPONENTS), samples, "posterior 1"))
    table: list[Row] = []
    with local_cluster(2, MEMORY_LIMIT) as client:
        runtimes = {"two processes": DistributedRuntime(client), "two threads": ThreadedRuntime(2)}
        for name, runtime in runtimes.items():
            shares, walls = [], []
            for _ in range(1 + repeats):
                timed, start = TimedTasks(runtime), time.perf_counter()
                run_pass(samples, Pass("posterior 1", statistic), timed)
                walls.append(time.perf_counter() - start)
                shares.append(1 - timed.seconds / (2 * walls[-1]))
            # the first pass imports and compiles
            share = median(shares[1:])
            table.append(
                {
                    "on": name,
                    "rows": rows,
                    "wall s": median(walls[1:]),
                    "dispatch": share,
                    "bars": "dispatch <= 0.05",
                    "holds": share <= 0.05,
                }
            )
    return table


def growth_rows(folder: Path, sizes: Sequence[int]) -> list[Row]:
    """Fit and label ever more rows on two new workers of 1 GiB each."""
    table: list[Row] = []
    for rows in sizes:
        row = _growth_row(folder, rows)
        if table:
            last = table[-1]
            times = rows / last["rows"]
            row["time a row, x previous"] = row["fit s"] / last["fit s"] / times
            row["predict a row, x previous"] = row["predict s"] / last["predict s"] / times
            row["peak, x previous"] = row["peak MiB"] / last["peak MiB"]
        row["bars"] = "peak <= plan"
        row["holds"] = row["peak MiB"] <= row["plan MiB"]
        table.append(row)
    if len(table) > 1:
        final = table[-1]
        final["bars"] += ", peak and times a row <= 1.1 x previous"
        final["holds"] &= final["peak, x previous"] <= 1.1
        final["holds"] &= final["time a row, x previous"] <= 1.1
        final["holds"] &= final["predict a row, x previous"] <= 1.1
    return table


def _growth_row(folder: Path, rows: int) -> Row:
    """Measure one size."""
    store = write_cells(folder, rows)
    labels, samples = folder / f"labels-{rows}.zarr", open_samples(store)
    passes: dict[str, float] = {}

    def listen(event: Event) -> None:
        if event.kind == "pass finished":
            passes[event.name] = event.seconds

    with local_cluster(2, MEMORY_LIMIT) as client:
        model = KernelMixture(N_COMPONENTS, random_state=0)
        plan = model.plan(store, client=client)
        # a worker imports the package with its first task
        run_pass(
            samples, Pass("warm-up", RowSample(1, MARKERS), ((0, 1),)), DistributedRuntime(client)
        )
        base = max(client.run(_peak_nbytes).values())
        start = time.perf_counter()
        with doubtful_starts_allowed():
            model.fit(store, client=client, listeners=[listen])
        fitted = time.perf_counter()
        peak_of_fit = max(client.run(_peak_nbytes).values())
        model.write(store, labels, overwrite=True, client=client)
        written = time.perf_counter()
        peak = max(client.run(_peak_nbytes).values())
    return {
        "rows": rows,
        "fit s": fitted - start,
        "passes s": sum(seconds for name, seconds in passes.items() if name != "pilot"),
        "predict s": written - fitted,
        "MiB before": base / 2**20,
        "peak MiB of fit": peak_of_fit / 2**20,
        "peak MiB": peak / 2**20,
        "plan MiB": plan.projected_nbytes / 2**20,
    }


def _pass_seconds(client: Any, samples: Samples, statistic: Statistic[Any]) -> float:
    """Return the wall seconds of one pass over all rows."""
    start = time.perf_counter()
    run_pass(samples, Pass("measured", statistic), DistributedRuntime(client))
    return time.perf_counter() - start


def _kernel_seconds_a_row(client: Any, held: Any, statistic: Statistic[Any], rows: int) -> float:
    """Return the wall seconds that the kernel takes for a row, with all workers busy."""
    tasks = [
        client.submit(kernel_seconds, held, statistic, 1, pure=False, workers=[worker])
        for worker in client.nthreads()
    ]
    walls: list[float] = [task.result()["wall"] for task in tasks]
    return median(walls) / rows


def _peak_nbytes() -> int:
    """Return the most memory that this process has held.

    Linux counts the memory of the process that started this one in ``ru_maxrss``, but not here.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
