"""The moments pass of one process: against its floor, and inside a Dask worker against a loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.samples import Samples
from bigtensor.data.simulate import write_cytometry, write_kernel_mixture
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.reduce import accumulate
from bigtensor.statistics.base import Statistic
from bigtensor.statistics.moments.triple_moments import TripleMoments
from bigtensor.statistics.validity import Checked
from tests.benchmarks.floors import Rates, Work, measure_rates
from tests.benchmarks.preparations import in_memory, statistic_of
from tests.benchmarks.tables import Row


@dataclass(frozen=True)
class Shape:
    """Landmarks, components and views of one pass."""

    name: str
    n_landmarks: int
    n_components: int
    views: Mapping[str, list[int]]

    def write(self, folder: Path, rows: int) -> Path:
        """Write data of this shape and return the store."""
        store = folder / f"p{self.n_landmarks}-k{self.n_components}.zarr"
        if len(self.views["a"]) == 1:
            write_kernel_mixture(store, rows, self.n_components, random_state=1, dtype="float32")
        else:
            write_cytometry(store, rows, self.n_components, samples=1, random_state=1)
        return store


SHAPES = (
    Shape("p=100 k=3, three views of 1", 100, 3, {"a": [0], "b": [1], "c": [2]}),
    Shape("p=128 k=8, three views of 2", 128, 8, {"a": [0, 1], "b": [2, 3], "c": [4, 5]}),
)


def kernel_seconds(samples: Samples, statistic: Statistic[Any], repeats: int) -> dict[str, float]:
    """Return the least wall and processor seconds of a task over all rows; the first is a warm-up.

    The processor seconds are those of all threads of the process, the reading one included.
    """
    walls, processor = [], []
    for _ in range(repeats + 1):
        wall, used = time.perf_counter(), time.process_time()
        accumulate((samples, statistic), ((0, samples.rows),))
        walls.append(time.perf_counter() - wall)
        processor.append(time.process_time() - used)
    return {"wall": min(walls[1:]), "processor": min(processor[1:])}


def floor_rows(folder: Path, rows: int, repeats: int) -> list[Row]:
    """Compare a task of the moments pass with its floor, for two shapes of the model."""
    return [_floor_row(shape, folder, rows, repeats) for shape in SHAPES]


def _floor_row(shape: Shape, folder: Path, rows: int, repeats: int) -> Row:
    """Measure rates and task in turn, and return the medians of the ratios."""
    store = shape.write(folder, rows)
    stored = open_samples(store, shape.views)
    held = in_memory(stored, rows)
    model = KernelMixture(
        shape.n_components, spectral=SpectralOptions(n_landmarks=shape.n_landmarks)
    )
    moments = statistic_of(model, stored, "moments")
    assert isinstance(moments, TripleMoments)
    groups, statistic = moments.groups, Checked(moments)
    work = Work.of_moments(groups)
    measured: list[tuple[Rates, float, float]] = []
    with single_blas_thread():
        for _ in range(repeats):
            rates = measure_rates(store, rows)
            measured.append(
                (
                    rates,
                    kernel_seconds(stored, statistic, 1)["processor"] / rows,
                    kernel_seconds(held, statistic, 1)["processor"] / rows,
                )
            )
    ratio = median(task / rates.seconds(work) for rates, task, _ in measured)
    return {
        "shape": shape.name,
        "q": groups[0].n_features,
        "rows": rows,
        "Gflop/s": median(rates.flops for rates, _, _ in measured) / 1e9,
        "Gexp/s": median(rates.exponentials for rates, _, _ in measured) / 1e9,
        "read GB/s": median(rates.nbytes for rates, _, _ in measured) / 1e9,
        "Mrows/s": 1e-6 / median(task for _, task, _ in measured),
        "without reading": 1e-6 / median(task for _, _, task in measured),
        "floor Mrows/s": 1e-6 / median(rates.seconds(work) for rates, _, _ in measured),
        "share of flop rate": median(
            work.flops / rates.flops / task for rates, _, task in measured
        ),
        "x floor": ratio,
        "bars": "x floor <= 2",
        "holds": ratio <= 2.0,
    }


def worker_row(rows: int, repeats: int) -> Row:
    """Compare the kernel inside a worker of Dask's defaults with the same loop in this process.

    Both run on the same rows in memory, in turn.
    """
    from dask.distributed import Client, LocalCluster

    data = np.random.default_rng(0).standard_normal((rows, 3), dtype=np.float32)
    samples = open_samples(data)
    statistic = Checked(statistic_of(KernelMixture(3), samples, "moments"))
    loop, worker = [], []
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        held = client.scatter(samples, hash=False)
        for _ in range(repeats):
            with single_blas_thread():
                loop.append(kernel_seconds(samples, statistic, 2)["processor"])
            task = client.submit(kernel_seconds, held, statistic, 2, pure=False)
            worker.append(task.result()["processor"])
    # whatever else the machine does can only add processor time
    ratio = min(loop) / min(worker)
    return {
        "rows": rows,
        "loop Mrows/s": rows / min(loop) / 1e6,
        "worker Mrows/s": rows / min(worker) / 1e6,
        "median speed": median(loop) / median(worker),
        "speed of the worker": ratio,
        "bars": "speed of the worker >= 0.95",
        "holds": ratio >= 0.95,
    }
