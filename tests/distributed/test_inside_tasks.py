"""Fits inside a Dask task: a worker of one thread must not wait for itself."""

from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, get_client, worker_client
from numpy.typing import NDArray

from bigtensor import GaussianMixture
from bigtensor.errors import ClusterError

SECONDS = 60
"""Far more than a fit takes: a task that waits for its own thread waits for ever."""


def rows(seed: int = 0) -> NDArray[np.float64]:
    centres = np.repeat([[0.0], [8.0]], [120, 80], axis=0)
    return centres + np.random.default_rng(seed).normal(size=(200, 3))


def mixture() -> GaussianMixture:
    """Return a mixture whose fit compares no regularisations."""
    return GaussianMixture(2, reg_covar=1e-6, random_state=0)


def weights(values: Any, **options: Any) -> NDArray[np.float64]:
    model = mixture().fit(values, **options)
    assert len(model.predict(values)) == len(values)
    return model.weights_


def weights_by_client(values: Any) -> NDArray[np.float64]:
    return weights(values, client=get_client())


def weights_by_worker_client(values: Any) -> NDArray[np.float64]:
    with worker_client() as client:
        return weights(values, client=client)


def weights_by_address(values: Any, address: str) -> NDArray[np.float64]:
    return weights(values, scheduler=address)


def weights_by_processes(values: Any) -> NDArray[np.float64]:
    return weights(values, workers=2)


def label(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Label the rows of a block by its own fit. Dask describes the result with empty blocks."""
    if not len(block):
        return np.empty((0, 1))
    return mixture().fit(block).predict(block)[:, None].astype(float)


def labels_of_blocks(values: NDArray[np.float64]) -> Any:
    blocks = da.from_array(values, chunks=(200, 3))
    return blocks.map_blocks(label, dtype=float, chunks=(200, 1)).compute()


@pytest.mark.parametrize("fit", [weights, weights_by_client, weights_by_worker_client])
def test_fit__in_a_task_on_the_only_thread_ends(one_worker: Client, fit: Any) -> None:
    assert list(one_worker.nthreads().values()) == [1]
    future = one_worker.submit(fit, rows(), pure=False)
    np.testing.assert_array_equal(future.result(timeout=SECONDS), weights(rows()))


def test_fits__in_several_tasks_all_end(one_worker: Client) -> None:
    samples = [rows(seed) for seed in range(4)]
    for fit in (weights, weights_by_client):
        futures = one_worker.map(fit, samples, pure=False)
        for future, values in zip(futures, samples, strict=True):
            np.testing.assert_array_equal(future.result(timeout=SECONDS), weights(values))


def test_fit__in_map_blocks_ends(one_worker: Client) -> None:
    values = np.concatenate([rows(0), rows(1)])
    blocks = da.from_array(values, chunks=(200, 3))
    lazy = blocks.map_blocks(label, dtype=float, chunks=(200, 1))
    labels = one_worker.compute(lazy).result(timeout=SECONDS)
    np.testing.assert_array_equal(labels, np.concatenate([label(rows(0)), label(rows(1))]))


def test_fit__in_map_blocks_in_a_task_ends(one_worker: Client) -> None:
    labels = one_worker.submit(labels_of_blocks, rows(), pure=False).result(timeout=SECONDS)
    np.testing.assert_array_equal(labels, label(rows()))


def test_fit__in_a_task_on_the_cluster_of_an_address_ends() -> None:
    plain = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    with (
        LocalCluster(**plain, dashboard_address="127.0.0.1:0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        future = client.submit(weights_by_address, rows(), cluster.scheduler_address)
        np.testing.assert_array_equal(future.result(timeout=SECONDS), weights(rows()))


def test_fit__in_a_task_stays_in_its_thread(one_worker: Client) -> None:
    before = set(one_worker.who_has())
    future = one_worker.submit(weights, rows(), pure=False)
    future.result(timeout=SECONDS)
    started = one_worker.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    assert started == len(before | {future.key})


def test_fit__on_processes_in_a_task_is_refused(one_worker: Client) -> None:
    future = one_worker.submit(weights_by_processes, rows(), pure=False)
    with pytest.raises(ClusterError, match="cannot start in a Dask worker"):
        future.result(timeout=SECONDS)
