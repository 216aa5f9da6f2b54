"""The measured peak of a worker stays below the plan, and does not grow with the rows."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bigtensor import DiscreteMixture, KernelMixture, SpectralOptions
from bigtensor.data.opening import open_samples
from bigtensor.data.simulate import write_discrete_mixture, write_kernel_mixture
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.engine.plan import PassSize, make_plan
from bigtensor.engine.reduce import run_pass
from bigtensor.models.contract import row_answers
from bigtensor.statistics.base import Pass
from bigtensor.statistics.codes.code_counts import add_to_cells
from tests.engine.sums import ColumnSums, write_store

MiB = 2**20

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc"
    ),
]


def peak_nbytes() -> int:
    """Return the peak of the resident set of this process.

    Not `resource.getrusage`: on Linux a child starts with the peak of the parent that forked it.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = [line for line in lines if line.startswith("VmHWM")]
    return int(peak.split()[1]) * 1024


def cells(path: Path, rows: int) -> str:
    write_kernel_mixture(path, rows, 3, random_state=1, dtype="float32")
    return str(path)


def fit_peak(store: str) -> tuple[int, int]:
    """Fit with two workers of 1 GiB; return the largest measured peak and the plan's figure."""
    model = KernelMixture(3, spectral=SpectralOptions(n_landmarks=30), max_iter=1, random_state=0)
    with local_cluster(2, 1024 * MiB) as client:
        plan = model.plan(store, client=client)
        assert plan.allowed_nbytes == 1024 * MiB
        model.fit(store, client=client)
        return max(client.run(peak_nbytes).values()), plan.projected_nbytes


def check_fits(tmp_path: Path, sizes: list[int]) -> None:
    measured = {}
    for rows in sizes:
        peak, projected = fit_peak(cells(tmp_path / f"{rows}.zarr", rows))
        print(f"{rows:,} rows: {peak / MiB:.0f} MiB measured, {projected / MiB:.0f} projected")
        assert peak <= projected <= 1.5 * peak
        measured[rows] = peak
    assert max(measured.values()) <= 1.1 * min(measured.values())


def test_fit__stays_below_the_plan_and_flat(tmp_path: Path) -> None:
    check_fits(tmp_path, [300_000, 3_000_000])


@pytest.mark.slow
def test_fit__stays_below_the_plan_and_flat_at_ten_million_rows(tmp_path: Path) -> None:
    check_fits(tmp_path, [900_000, 10_200_000])


ON_THREADS = """
import sys

from bigtensor import KernelMixture
from tests.memory.test_worker_memory import peak_nbytes

model, where = KernelMixture(4, random_state=0), {"scheduler": "threads", "workers": 2}
plan = model.plan(sys.argv[1], **where)
model.fit(sys.argv[1], **where)
print(peak_nbytes(), plan.projected_nbytes)
"""


def printed_peak(program: str, *arguments: str) -> tuple[int, int]:
    """Return the measured peak and the plan's figure that a program of its own process prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    peak, projected = map(int, done.stdout.split())
    return peak, projected


def check_fits_on_threads(tmp_path: Path, sizes: list[int], views: int) -> None:
    measured = []
    for rows in sizes:
        path = tmp_path / f"{rows}.zarr"
        write_kernel_mixture(path, rows, 4, views=views, random_state=1, dtype="float32")
        peak, projected = printed_peak(ON_THREADS, str(path))
        print(f"{rows:,} rows: {peak / MiB:.0f} MiB measured, {projected / MiB:.0f} projected")
        assert peak <= projected <= 1.6 * peak
        measured.append(peak)
    assert max(measured) <= 1.1 * min(measured)


def test_fit_on_threads__stays_below_the_plan_and_flat(tmp_path: Path) -> None:
    check_fits_on_threads(tmp_path, [300_000, 3_000_000], 3)


@pytest.mark.slow
def test_fit_on_threads__stays_below_the_plan_and_flat_at_ten_million_rows(tmp_path: Path) -> None:
    check_fits_on_threads(tmp_path, [900_000, 10_200_000], 6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
def test_probabilities_of_many_components__stay_below_the_plan_of_a_small_worker(
    tmp_path: Path,
) -> None:
    store, probabilities = tmp_path / "rows.zarr", tmp_path / "out.zarr"
    write_discrete_mixture(store, 100_000, 4, views=6, random_state=1)
    first_rows = xr.open_zarr(store).isel(sample=slice(2000)).load()
    model = DiscreteMixture(
        400, method="em", n_starts=1, max_iter=1, ridge=1.0, random_state=0
    ).fit(first_rows, scheduler="threads", workers=1)
    with local_cluster(1, 1024 * MiB) as client:
        sizes = row_answers._sizes(model.row_function(("probability",)), 100_000)
        plan = make_plan(open_samples(str(store)), sizes, DistributedRuntime(client)).check()
        model.write(str(store), probabilities, outputs=["probability"], client=client)
        (peak,) = client.run(peak_nbytes).values()
    print(f"{peak / MiB:.0f} MiB measured, {plan.projected_nbytes / MiB:.0f} projected")
    assert peak <= plan.projected_nbytes <= 1.6 * peak


def run_a_loop() -> None:
    """Load what a compiled loop needs, which the plan counts for every worker."""
    add_to_cells(np.zeros(1, np.int64), np.ones(1), np.zeros(1))


@pytest.mark.parametrize(
    "kind",
    [
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("large chunks", "transposed")),
        *("in memory", "lazy"),
    ],
)
def test_pass__stays_below_the_plan_for_every_kind_of_rows(tmp_path: Path, kind: str) -> None:
    import dask.array as da

    rows, features, unit = 2_097_152, 8, 524_288
    values: Any = np.random.default_rng(0).normal(size=(rows, features)).astype("float32")
    views = {"a": [*range(features)][::-1]}
    data: Any = values
    if kind == "large chunks":
        data = write_store(tmp_path / "m.zarr", values, chunks=(unit, features))
    elif kind == "transposed":
        layout = {"chunks": (features, unit), "dims": ("feature", "sample")}
        data = write_store(tmp_path / "m.zarr", np.ascontiguousarray(values.T), **layout)
    elif kind == "lazy":
        path = write_store(tmp_path / "m.zarr", values, chunks=(unit, features))
        data = da.from_zarr(path, component="X")
    samples = open_samples(data, views)
    with local_cluster(1, 1024 * MiB) as client:
        runtime = DistributedRuntime(client)
        plan = make_plan(samples, [PassSize("p", 1, rows, 64, 0)], runtime)
        client.run(run_a_loop)
        result = run_pass(samples, Pass("p", ColumnSums(features)), runtime)
        (peak,) = client.run(peak_nbytes).values()
    assert result["rows"] == rows
    print(f"{kind}: {peak / MiB:.0f} MiB measured, {plan.projected_nbytes / MiB:.0f} projected")
    assert peak <= plan.projected_nbytes <= 1.5 * peak
