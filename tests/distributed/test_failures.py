"""Clusters that fail: each failure is one clear error with its remedy."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import dask
import pytest
from distributed import Client, Future, LocalCluster

from bigtensor.engine.clusters import patience, task_run
from bigtensor.engine.clusters.distributed_runtime import DistributedRuntime
from bigtensor.engine.clusters.local_cluster import local_cluster
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import ClusterError, MissingValueError, StoreReadError
from tests.distributed.jobs import (
    die_at_3,
    die_the_second_time,
    fail_at_3,
    hold_most_memory,
    number_after,
    refuse_at_3,
    refuse_with_a_cause_at_3,
    span_of_sleep,
    take_all_memory_at_3,
)


def ignore(*_: Any) -> None:
    """Collect nothing."""


ROOT = Path(__file__).resolve().parents[2]
JOBS = [(number,) for number in range(40)]


@pytest.fixture
def scheduler_process() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler in a process of its own, without workers."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import asyncio\n"
            "from distributed import Scheduler\n"
            "async def serve():\n"
            "    async with Scheduler(host='127.0.0.1', port=0, dashboard=False) as scheduler:\n"
            "        print(scheduler.address, flush=True)\n"
            "        await scheduler.finished()\n"
            "asyncio.run(serve())\n",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    yield process, process.stdout.readline().strip()
    process.kill()
    process.communicate()


@pytest.fixture
def worker_process(scheduler_process: tuple[Any, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A worker without a nanny, for the scheduler process."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler_process[1]]
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--death-timeout", "5"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL, env=environment)
    yield process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_scheduler__that_goes_away_in_mid_pass_is_named(
    scheduler_process: tuple[subprocess.Popen[str], str], worker_process: Any
) -> None:
    process, address = scheduler_process
    got: list[int] = []

    def kill_after_three(_: int, number: int) -> None:
        got.append(number)
        if len(got) == 3:
            process.kill()

    with open_runtime(scheduler=address) as runtime, pytest.raises(ClusterError) as caught:
        runtime.run(number_after, None, JOBS, kill_after_three)
    assert f"the scheduler at {address} went away or forgot the work" in str(caught.value)
    assert "the same command continues from the finished parts" in str(caught.value)
    assert 3 <= len(got) < 10


def test_cluster__without_workers_is_named(
    scheduler_process: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "WAIT_SECONDS", 0.5)
    address = scheduler_process[1]
    with open_runtime(scheduler=address) as runtime:
        assert runtime.workers == 0
        with pytest.raises(ClusterError) as caught:
            runtime.run(number_after, None, JOBS, ignore)
    assert f"{address} has no workers after" in str(caught.value)
    assert "start some with 'dask worker ADDRESS'" in str(caught.value)
    assert "wait_for_workers='12h'" in str(caught.value)


def test_cluster__whose_last_worker_dies_in_mid_pass_is_not_waited_for_for_ever(
    scheduler_process: tuple[Any, str], worker_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_run, "LOOK_AFTER", 0.3)
    got: list[int] = []

    def kill_after_three(_: int, number: int) -> None:
        got.append(number)
        if len(got) == 3:
            worker_process.kill()
            monkeypatch.setattr(patience, "WAIT_SECONDS", 0.5)

    with (
        open_runtime(scheduler=scheduler_process[1]) as runtime,
        pytest.raises(ClusterError, match=r"has no workers after \d"),
    ):
        runtime.run(number_after, None, JOBS, kill_after_three)


@pytest.mark.slow  # its death in mid-pass is quick
def test_cluster__whose_last_worker_dies_with_a_result_is_not_waited_for_for_ever(
    scheduler_process: tuple[Any, str], worker_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_run, "LOOK_AFTER", 0.3)
    monkeypatch.setattr(task_run, "RESULT_TIMEOUT", 0.5)
    got: list[int] = []

    def kill_while_others_finish(_: int, number: int) -> None:
        got.append(number)
        if len(got) == 1:
            time.sleep(0.5)
            worker_process.kill()
            worker_process.wait()
            monkeypatch.setattr(patience, "WAIT_SECONDS", 0.5)

    with (
        open_runtime(scheduler=scheduler_process[1]) as runtime,
        pytest.raises(ClusterError, match=r"has no workers after \d"),
    ):
        runtime.run(number_after, None, JOBS, kill_while_others_finish)


@pytest.mark.slow
def test_cluster__explains_a_lost_result_that_ends_workers(tmp_path: Path) -> None:
    """The task had returned before its worker died: only the result is still to be fetched."""

    def kill(_: int, number: int) -> None:
        time.sleep(0.5)
        (process,) = client.run(os.getpid).values()
        os.kill(process, signal.SIGKILL)

    jobs = [(str(tmp_path), number) for number in range(4)]
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(1) as client,
        pytest.raises(ClusterError, match="it exited with status 9"),
    ):
        DistributedRuntime(client).run(die_the_second_time, None, jobs, kill)


@pytest.mark.slow  # the death of the last worker is quick
def test_cluster__whose_workers_all_die_goes_on_with_new_ones() -> None:
    got: list[int] = []
    with local_cluster(2) as client:

        def kill_all(_: int, number: int) -> None:
            got.append(number)
            if len(got) == 3:
                for process in client.run(os.getpid).values():
                    os.kill(process, signal.SIGKILL)

        DistributedRuntime(client).run(number_after, None, JOBS, kill_all)
    assert sorted(got) == list(range(len(JOBS)))


@pytest.mark.slow  # on a busy machine Dask has once left a killed worker without a successor
def test_cluster__waits_for_workers_that_start_slowly() -> None:
    """Dask gives up workers that are not back in time, and no other ever comes."""
    # no worker starts in this time
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}),
        local_cluster(1) as client,
    ):
        (process,) = client.run(os.getpid).values()
        os.kill(process, signal.SIGKILL)
        while client.nthreads():
            time.sleep(0.01)
        client.wait_for_workers(1, timeout=60)


@pytest.mark.parametrize(
    "moment", ["before", pytest.param("in mid-pass, for long", marks=pytest.mark.slow)]
)
def test_scheduler__that_is_gone_is_named_whenever_that_is_noticed(
    scheduler_process: tuple[Any, str], worker_process: Any, moment: str
) -> None:
    process, address = scheduler_process

    def kill(*_: Any) -> None:
        process.kill()
        process.wait()
        time.sleep(0.5)

    with open_runtime(scheduler=address) as runtime:
        if moment == "before":
            runtime.run(number_after, None, JOBS[:1], ignore)
            kill()
        with pytest.raises(ClusterError, match=r"(?s)went away or forgot the work.*checkpoint"):
            runtime.run(number_after, None, JOBS, kill)


def test_scheduler__that_came_back_without_the_work_is_named(one_worker: Client) -> None:
    """A client that has connected again has cancelled its futures, and other calls succeed."""

    def forget(*_: Any) -> None:
        one_worker.cancel([Future(key, one_worker) for key in list(one_worker.futures)])

    with pytest.raises(ClusterError, match=r"forgot the work.*checkpoint"):
        DistributedRuntime(one_worker).run(number_after, None, JOBS, forget)


def test_cluster__whose_workers_join_in_mid_pass_has_work_for_all_of_them() -> None:
    spans: list[tuple[float, float]] = []

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):

        def grow(_: int, span: tuple[float, float]) -> None:
            spans.append(span)
            if len(spans) == 3:
                local.scale(12)

        jobs = [(number,) for number in range(200)]
        DistributedRuntime(client).run(span_of_sleep, None, jobs, grow)
    at_once = max(sum(start <= begun < end for start, end in spans) for begun, _ in spans)
    assert len(spans) == 200
    assert at_once > 6


@pytest.mark.parametrize(
    ("function", "memory"),
    [
        pytest.param(die_at_3, False, marks=pytest.mark.slow),
        (take_all_memory_at_3, True),
    ],
    ids=["exit", "memory"],
)
@pytest.mark.slow  # workers die one after the other
def test_task__that_always_kills_its_worker_names_memory_where_a_nanny_reports_it(
    function: Any, memory: bool
) -> None:
    with (
        dask.config.set({"distributed.worker.memory.monitor-interval": "10ms"}),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit="600MiB",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run_on_scheduler(_allow_no_failure)
        got: list[int] = []
        with pytest.raises(ClusterError) as caught:
            DistributedRuntime(client).run(function, None, JOBS, lambda _, n: got.append(n))
    # the task that waited beside it on the worker may not have run either
    assert 3 not in got
    assert len(got) >= len(JOBS) - 2
    assert ("memory" in str(caught.value)) == memory
    assert ("600.00 MiB" in str(caught.value)) == memory


@pytest.mark.slow  # the death of the last worker is quick
def test_cluster__whose_workers_are_all_paused_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_run, "LOOK_AFTER", 0.5)
    with (
        local_cluster(1, 600 * 2**20) as client,
        pytest.raises(
            ClusterError, match=r"every worker is paused.* 600.00 MiB; give memory_limit"
        ),
    ):
        DistributedRuntime(client).run(hold_most_memory, None, JOBS, ignore)


def _allow_no_failure(dask_scheduler: Any) -> None:
    """Blame a task for the first worker that it kills."""
    dask_scheduler.allowed_failures = 0


def test_errors__of_tasks_are_raised_as_they_are(one_worker: Client) -> None:
    runtime = DistributedRuntime(one_worker)
    with pytest.raises(FileNotFoundError, match="/their/own/file"):
        runtime.run(fail_at_3, None, JOBS, ignore)
    with pytest.raises(MissingValueError, match="row 3 is bad"):
        runtime.run(refuse_at_3, None, JOBS, ignore)
    with pytest.raises(StoreReadError, match="row 3 is gone") as gone:
        runtime.run(refuse_with_a_cause_at_3, None, JOBS, ignore)
    assert "c/0/0" in str(gone.value.__cause__)


def test_errors__of_a_listener_are_raised_and_stop_the_work(one_worker: Client) -> None:
    got: list[int] = []

    def interrupt(_: int, number: int) -> None:
        got.append(number)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        DistributedRuntime(one_worker).run(number_after, None, JOBS, interrupt)
    assert len(got) == 1
    deadline = time.monotonic() + 60
    while any(one_worker.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(one_worker.processing().values())


def test_error_of_one_task__keeps_results_that_came_in_the_same_message() -> None:
    failed, finished = Mock(status="error"), Mock(status="finished")
    failed.exception.return_value = MissingValueError("row 3 is bad")
    failed.traceback.return_value = None
    run = task_run.TaskRun(Mock(), Mock(), None, number_after, None, [], 1, Mock())
    run._running = {failed: 0, finished: 1}
    run._next_done = lambda: [failed, finished]
    run._gathered = lambda _: {failed: None, finished: 7}
    results: dict[int, int] = {}
    with pytest.raises(MissingValueError):
        run._collect_done(results.__setitem__)
    assert results == {1: 7}


def test_client__that_is_closed_between_passes_is_named() -> None:
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        client = Client(cluster)
        runtime = DistributedRuntime(client)
        client.close()
    for count in ("workers", "threads"):
        with pytest.raises(ClusterError, match="client is closed"):
            getattr(runtime, count)
