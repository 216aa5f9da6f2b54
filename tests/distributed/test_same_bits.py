"""One result wherever it is computed, and nothing left behind by it."""

import asyncio
import os
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import psutil
import pytest
import xarray as xr
import zarr
from distributed import Client, LocalCluster

from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.data.opening import open_samples
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.answers_to_store import evaluate_to_store
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import open_runtime
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import ClusterError, ParameterError
from bigtensor.statistics.base import Pass
from tests.engine.sums import ColumnSums, LaggedProducts, RowTotals, write_store
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.parameters import first_quick

ROWS = 200_000
DATA = simulate.kernel_mixture(ROWS, 3, random_state=6)
VALUES = DATA["X"].to_numpy()


def model(start: str, **options: Any) -> KernelMixture:
    small = {
        "spectral": SpectralOptions(n_landmarks=25, bins=128),
        "pilot_rows": 3000,
        "max_iter": 2,
    }
    return KernelMixture(3, init=start, random_state=1, **mixture_parameters(small, **options))


def arrays(fitted: KernelMixture, folder: Path) -> dict[str, bytes]:
    fitted.save(folder / "m.zarr", overwrite=True)
    group = zarr.open_group(str(folder / "m.zarr"), mode="r")
    return {name: np.asarray(array[...]).tobytes() for name, array in group.arrays()}


@pytest.mark.parametrize("start", first_quick(["spectral", "kmeans"]))
def test_fit_and_predict__have_the_same_bits_everywhere(
    tmp_path: Path, one_worker: Client, two_workers: Client, start: str
) -> None:
    store = write_store(tmp_path / "x.zarr", VALUES, chunks=(10_000, 3))
    places: list[dict[str, Any]] = [
        {"scheduler": "threads", "workers": 1},
        {"scheduler": "threads", "workers": 2},
        {"client": one_worker},
        {"client": two_workers},
    ]
    fits, answers = [], []
    for number, place in enumerate(places):
        fitted = model(start).fit(store, **place)
        fits.append(arrays(fitted, tmp_path))
        path = fitted.write(
            store,
            tmp_path / f"{number}.zarr",
            outputs=("label", "probability", "log_density"),
            **place,
        )
        group = zarr.open_group(str(path), mode="r")
        answers.append({name: array[...].tobytes() for name, array in group.arrays()})
    assert len(fits[0]) > 2
    assert set(answers[0]) == {"label", "probability", "log_density"}
    for other in fits[1:]:
        assert other == fits[0]
    for other in answers[1:]:
        assert other == answers[0]
    assert one_worker.status == two_workers.status == "running"
    labelled = xr.DataArray(VALUES, dims=("sample", "feature"))
    for rows in (labelled, labelled.chunk({"sample": 7000})):
        assert fitted.predict(rows).to_numpy().tobytes() == answers[0]["label"]


@pytest.mark.parametrize("start", first_quick(["spectral", "kmeans"]))
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-5)])
@pytest.mark.quick_cases("float32-1e-05-spectral")
def test_fit__hardly_depends_on_the_chunks_of_the_store(
    tmp_path: Path, start: str, dtype: str, tolerance: float
) -> None:
    points = np.linspace(VALUES[:, 0].min(), VALUES[:, 0].max(), 50)
    values = VALUES.astype(dtype)
    fitted = []
    for number, chunk in enumerate((33_000, 50_000, 4_321)):
        path = write_store(tmp_path / f"{number}.zarr", values, chunks=(chunk, 3))
        fitted.append(model(start, feature_dtype=dtype).fit(path, scheduler="threads", workers=2))
    first = fitted[0]
    for other in fitted[1:]:
        np.testing.assert_allclose(other.weights_, first.weights_, rtol=tolerance)
        for view in first.views_.names:
            density = first.component_density(view, points)
            np.testing.assert_allclose(
                other.component_density(view, points),
                density,
                rtol=tolerance,
                atol=tolerance * float(density.max()),
            )


@pytest.mark.slow
def test_passes__over_any_kind_of_rows_have_the_same_bits_on_workers(
    tmp_path: Path, two_workers: Client
) -> None:
    values = VALUES.astype("f8") * np.logspace(-6, 6, ROWS)[:, None]
    kinds: list[Any] = [
        values,
        write_store(tmp_path / "k.zarr", values, chunks=(1024, 3)),
        da.from_array(values, chunks=(1024, 3)),
    ]
    for statistic in (ColumnSums(3), LaggedProducts()):
        results = set()
        for runtime in (ThreadedRuntime(2), DistributedRuntime(two_workers)):
            for data in kinds:
                result = run_pass(open_samples(data), Pass("p", statistic), runtime)
                found = result.values() if isinstance(result, dict) else result
                results.add(tuple(np.asarray(number).tobytes() for number in found))
        assert len(results) == 1


def test_large_rows_in_memory__are_sent_without_a_warning(two_workers: Client) -> None:
    values = np.ones((1_000_000, 3))
    result = run_pass(
        open_samples(values), Pass("p", ColumnSums(3)), DistributedRuntime(two_workers)
    )
    assert result["sums"].tolist() == [1e6] * 3


def test_row_outputs__of_workers_equal_those_of_threads(
    tmp_path: Path, two_workers: Client
) -> None:
    samples = open_samples(da.from_array(VALUES, chunks=(30_000, 3)))
    runtime = DistributedRuntime(two_workers)
    ours, _ = evaluate_in_memory(samples, RowTotals(), ThreadedRuntime(1))
    theirs, validity = evaluate_in_memory(samples, RowTotals(), runtime)
    assert validity.rows == ROWS
    for name, array in ours.items():
        assert array.tobytes() == theirs[name].tobytes()
    with pytest.raises(RuntimeError, match="fails on purpose"):
        evaluate_to_store(samples, RowTotals(fail_at=9), runtime, tmp_path / "o.zarr")
    assert not list(tmp_path.iterdir())


def test_open__uses_and_keeps_a_given_or_current_cluster(one_worker: Client) -> None:
    with open_runtime(client=one_worker) as runtime:
        assert (runtime.workers, runtime.threads) == (1, 1)
        assert runtime.memory_limit is not None
    with one_worker.as_current(), open_runtime() as runtime:
        assert runtime == DistributedRuntime(one_worker)
    assert one_worker.submit(sum, (1, 2)).result() == 3


def test_open__refuses_a_client_that_cannot_run_passes(one_worker: Client) -> None:
    """An address, a cluster, an asynchronous client and a closed one were AttributeErrors."""
    address = one_worker.scheduler.address
    wrong: Any
    for wrong in (address, one_worker.cluster):
        with (
            pytest.raises(ParameterError, match="expected a distributed"),
            open_runtime(client=wrong),
        ):
            pass
    for wrong in (one_worker, one_worker.cluster):
        with (
            pytest.raises(ParameterError, match=r"expected an address.* client"),
            open_runtime(scheduler=wrong),
        ):
            pass

    async def open_asynchronous() -> None:
        security = one_worker.security
        async with Client(address, asynchronous=True, security=security) as client:
            # given, and current
            for chosen in ({"client": client}, {}):
                with pytest.raises(ParameterError, match="asynchronous"), open_runtime(**chosen):
                    pass

    asyncio.run(open_asynchronous())
    closed = Client(address, set_as_default=False, security=one_worker.security)
    closed.close()
    with pytest.raises(ClusterError, match="closed"), open_runtime(client=closed):
        pass


def test_open__uses_and_keeps_a_cluster_at_an_address() -> None:
    plain: dict[str, Any] = {
        "processes": False,
        "protocol": "tcp",
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(n_workers=1, threads_per_worker=1, silence_logs=50, **plain) as cluster:
        with open_runtime(scheduler=cluster.scheduler_address) as runtime:
            assert isinstance(runtime, DistributedRuntime)
            own = runtime.client
            assert own.scheduler.address == cluster.scheduler_address
        assert own.status == "closed"
        with Client(cluster, set_as_default=False) as client:
            assert client.submit(sum, (1, 2)).result() == 3


def test_open__closes_the_workers_that_it_started() -> None:
    before = set(psutil.Process(os.getpid()).children(recursive=True))
    with open_runtime(workers=2, memory_limit="700MiB") as runtime:
        assert (runtime.workers, runtime.threads, runtime.memory_limit) == (2, 1, 700 * 2**20)
        assert runtime.client.scheduler.address.startswith("tls://127.0.0.1:")
        started = set(psutil.Process(os.getpid()).children(recursive=True)) - before
        assert len(started) >= 2
    _, alive = psutil.wait_procs(started, timeout=20)
    assert not [process for process in alive if "resource_tracker" not in str(process.cmdline())]


def test_open__closes_its_workers_after_an_error() -> None:
    before = set(psutil.Process(os.getpid()).children(recursive=True))
    started = set[psutil.Process]()

    def interrupt(_: Client) -> None:
        started.update(set(psutil.Process(os.getpid()).children(recursive=True)) - before)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), local_cluster(1) as client:
        interrupt(client)
    assert started
    _, alive = psutil.wait_procs(started, timeout=20)
    assert not [process for process in alive if "resource_tracker" not in str(process.cmdline())]
