"""Clusters whose workers come late, are asked for as the work needs them, and are taken away."""

import asyncio
import math
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster, Worker
from distributed.core import Status
from distributed.deploy.spec import ProcessInterface

from bigtensor.data.opening import open_samples
from bigtensor.engine.clusters import in_flight, patience, task_run
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.in_flight import IN_FLIGHT_NBYTES, IN_FLIGHT_TASKS, tasks_in_flight
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.engine.clusters.patience import parse_wait, seconds_to_wait
from bigtensor.engine.clusters.task_run import CARRIED_NBYTES
from bigtensor.engine.events import Event, Progress
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.runtime import open_runtime
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import ClusterError, ClusterWarning, ParameterError
from bigtensor.statistics.base import Pass
from tests.distributed.jobs import megabyte, number_after, own_worker, span_of_seconds
from tests.engine.sums import ColumnSums

MiB = 2**20


class QueuedJob(ProcessInterface):
    """A job that is submitted at once, and whose worker starts when the queue lets it."""

    seconds = 3.0

    def __init__(self, scheduler: str, name: Any = None, **_: Any) -> None:
        super().__init__(scheduler=scheduler, name=name)
        self.scheduler_address, self.name, self.worker = scheduler, name, None

    async def start(self) -> None:
        await super().start()
        self.job = asyncio.ensure_future(self.run())

    async def run(self) -> None:
        await asyncio.sleep(self.seconds)
        self.worker = await Worker(self.scheduler_address, nthreads=1, name=self.name)

    async def close(self) -> None:
        self.job.cancel()
        if self.worker is not None:
            await self.worker.close()
        await super().close()


class LongQueuedJob(QueuedJob):
    seconds = 90.0


@contextmanager
def empty_cluster(**options: Any) -> Iterator[Client]:
    """Open a client of a cluster that has no worker yet."""
    with (
        LocalCluster(
            n_workers=0,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **options,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def collected(runtime: DistributedRuntime, events: list[Event], jobs: int = 8) -> list[int]:
    got: list[int] = []
    runtime.run(
        number_after,
        None,
        [(number,) for number in range(jobs)],
        lambda _, number: got.append(number),
        progress=Progress("sums", jobs, jobs, [events.append]),
    )
    return sorted(got)


def check_late_worker(kind: type[QueuedJob]) -> list[Event]:
    events: list[Event] = []
    with empty_cluster(worker_class=kind) as client:
        client.cluster.adapt(minimum=0, maximum=1, interval="50ms")
        begin = time.monotonic()
        with pytest.warns(ClusterWarning, match="logs") as warned:
            assert collected(DistributedRuntime(client), events) == list(range(8))
        assert len(warned) == 1
        assert time.monotonic() - begin >= kind.seconds
    return [event for event in events if event.kind == "waiting for workers"]


def test_waits_of_one_fit__are_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_run, "REPORT_EVERY", 0.2)
    with (
        empty_cluster(worker_class=QueuedJob) as client,
        warnings.catch_warnings(record=True) as all_warnings,
    ):
        warnings.simplefilter("always")
        runtime = DistributedRuntime(client)
        for _ in range(2):
            client.cluster.scale(1)
            assert collected(runtime, []) == list(range(8))
            client.cluster.scale(0)
            while client.nthreads():
                time.sleep(0.05)
    assert [one.category for one in all_warnings].count(ClusterWarning) == 1


def test_adaptive_cluster__of_minimum_0_starts_after_the_usual_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "WAIT_SECONDS", 1.0)
    monkeypatch.setattr(task_run, "REPORT_EVERY", 0.5)
    waits = check_late_worker(QueuedJob)
    # one at once, and then one for every half of a second, as far as the machine is not busy
    assert 3 <= len(waits) <= 1 + QueuedJob.seconds / 0.5
    assert waits[0].seconds < 0.5
    assert all(one.seconds < two.seconds for one, two in pairwise(waits))


@pytest.mark.parametrize(
    ("status", "asks"),
    [(Status.running, True), (Status.failed, False), (Status.created, False)],
)
def test_wait__is_unlimited_for_workers_that_the_cluster_has_not_given_up(
    status: Status, asks: bool
) -> None:
    cluster = SimpleNamespace(workers={0: SimpleNamespace(status=status)})
    client = FakeClient(cluster)
    assert (seconds_to_wait(client, None) == math.inf) == asks
    assert seconds_to_wait(client, 5.0) == 5.0
    assert seconds_to_wait(FakeClient(None), None) == patience.WAIT_SECONDS


class FakeClient:
    """A client of a cluster object."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_adaptive_cluster__of_minimum_0_starts_after_90_seconds() -> None:
    assert len(check_late_worker(LongQueuedJob)) == 2


def test_cluster__that_has_asked_for_no_worker_is_waited_for_as_long_as_the_caller_says() -> None:
    events: list[Event] = []
    with empty_cluster() as client:
        timer = threading.Timer(2.0, lambda: client.cluster.scale(1))
        timer.start()
        assert collected(DistributedRuntime(client, wait=60.0), events) == list(range(8))
        timer.join()
    with empty_cluster() as client, open_runtime(client=client, wait_for_workers="1s") as runtime:
        begin = time.monotonic()
        with pytest.raises(ClusterError, match=r"no workers after \d"):
            collected(runtime, events)
        assert 1 <= time.monotonic() - begin < 5


@pytest.mark.slow
def test_adaptive_cluster__grows_to_four_workers_within_the_time_of_two_tasks() -> None:
    """With the settings that Dask has by default."""
    seconds, spans = 4.0, []
    with empty_cluster() as client:
        client.cluster.adapt(minimum=0, maximum=4)
        DistributedRuntime(client).run(
            span_of_seconds,
            None,
            [(seconds,)] * 16,
            lambda _, span: spans.append(span),
            result_nbytes=MiB,
        )
    first = min(start for start, _ in spans)
    assert len(spans) == 16
    running = [sum(start <= moment < stop for start, stop in spans) for moment, _ in spans]
    reached = min(start for (start, _), count in zip(spans, running, strict=True) if count >= 4)
    assert reached - first <= 2 * seconds


@pytest.mark.parametrize("carried_nbytes", [0, CARRIED_NBYTES])
def test_tasks__are_divided_among_all_workers_where_none_is_stolen(
    monkeypatch: pytest.MonkeyPatch, carried_nbytes: int
) -> None:
    monkeypatch.setattr(task_run, "CARRIED_NBYTES", carried_nbytes)
    addresses: list[str] = []
    with dask.config.set({"distributed.scheduler.work-stealing": False}), empty_cluster() as client:
        client.cluster.scale(4)
        client.wait_for_workers(4)
        DistributedRuntime(client).run(
            own_worker, None, [(1,)] * 8, lambda _, address: addresses.append(address)
        )
    assert sorted(Counter(addresses).values()) == [2] * 4


@pytest.mark.parametrize(("wait_count", "stay"), [(1, False), (1000, True)])
def test_adaptive_cluster__keeps_workers_between_passes_by_its_wait_count(
    wait_count: int, stay: bool
) -> None:
    with empty_cluster() as client:
        client.cluster.adapt(minimum=0, maximum=2, interval="50ms", wait_count=wait_count)
        collected(DistributedRuntime(client), [])
        workers = set(client.nthreads())
        time.sleep(1.5)  # the driver's own work between two passes
        assert (set(client.nthreads()) == workers != set()) == stay


def test_fit_on_an_adaptive_cluster__has_the_bits_of_threads() -> None:
    samples = open_samples(np.random.default_rng(0).normal(size=(400_000, 3)))
    pass_ = Pass("sums", ColumnSums(3))
    expected: Any = run_pass(samples, pass_, ThreadedRuntime(2))
    with empty_cluster() as client:
        client.cluster.adapt(minimum=0, maximum=3, interval="50ms", target_duration="100ms")
        result: Any = run_pass(samples, pass_, DistributedRuntime(client))
    assert all(np.array_equal(result[name], expected[name]) for name in expected)


@pytest.mark.parametrize(
    ("nbytes", "threads", "tasks"),
    [
        (0, 0, IN_FLIGHT_TASKS),
        (1, 4, IN_FLIGHT_TASKS),
        (IN_FLIGHT_NBYTES // 100, 4, 100),
        (IN_FLIGHT_NBYTES // 100, 100, 200),
        (2 * IN_FLIGHT_NBYTES, 0, 2),
        (2 * IN_FLIGHT_NBYTES, 8, 16),
        (1, IN_FLIGHT_TASKS, 2 * IN_FLIGHT_TASKS),
    ],
)
def test_tasks_in_flight__are_bounded_by_bytes(nbytes: int, threads: int, tasks: int) -> None:
    assert tasks_in_flight(nbytes, threads) == tasks


def test_worker__holds_no_more_results_than_are_in_flight(
    one_worker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_flight, "IN_FLIGHT_NBYTES", 8 * MiB)
    held: list[int] = []

    def look(*_: Any) -> None:
        if len(held) < 2:
            time.sleep(1.5)  # the worker goes on with all that it has been given
            held.append(sum(one_worker.nbytes(summary=False).values()))

    DistributedRuntime(one_worker).run(
        megabyte, None, [(n,) for n in range(40)], look, result_nbytes=MiB
    )
    assert 6 * MiB < max(held) <= 8.1 * MiB


@pytest.mark.slow
def test_preemption__is_followed_by_retries_as_long_as_other_tasks_finish(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_run, "LOOK_EVERY", 0.1)
    events: list[Event] = []
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(2) as client,
    ):
        progress = Progress("sums", 60, 60, [events.append])
        got: list[int] = []

        def collect(_: int, number: int) -> None:
            got.append(number)
            if len(got) in (3, 12, 24):
                client.wait_for_workers(2)
                for process in list(client.run(os.getpid).values())[:1]:
                    os.kill(process, signal.SIGKILL)

        jobs = [(number,) for number in range(60)]
        # results come one by one, so that a worker has been replaced before the next one is killed
        DistributedRuntime(client).run(
            *(number_after, None, jobs, collect),
            result_nbytes=task_run.GATHER_NBYTES,
            progress=progress,
        )
    assert sorted(got) == list(range(60))
    assert progress.lost_workers == 3


@pytest.mark.parametrize(
    ("wait", "seconds"), [("12h", 43_200), ("90s", 90), (5, 5), (0.5, 0.5), ("10 minutes", 600)]
)
def test_wait__is_seconds_or_a_time(wait: Any, seconds: float) -> None:
    assert parse_wait(wait) == seconds


@pytest.mark.parametrize("wait", ["", "soon", "-1", -1, "nan", float("nan"), "inf", [1], True])
def test_wait__that_is_no_time_is_refused(wait: Any) -> None:
    with pytest.raises(ParameterError, match="wait_for_workers"):
        parse_wait(wait)
