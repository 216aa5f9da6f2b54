"""Where tasks run without a cluster: threads, what goes wrong there, and wrong requests."""

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bigtensor import GaussianMixture
from bigtensor.engine.runtime import open_runtime, processes_to_start
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import ClusterError, ParameterError


def test_threads__collect_every_result_once() -> None:
    got: dict[int, Any] = {}
    names: set[str] = set()

    def function(shared: int, number: int) -> int:
        names.add(threading.current_thread().name)
        return shared * number

    jobs = [(number,) for number in range(200)]
    ThreadedRuntime(3).run(function, 7, jobs, got.__setitem__)
    assert got == {number: 7 * number for number in range(200)}
    assert 1 <= len(names) <= 3


def test_threads__run_nothing_after_an_error_and_leave_nothing_running() -> None:
    running, begun, collected = set[int](), [], []

    def function(shared: Any, number: int) -> int:
        running.add(number)
        begun.append(number)
        time.sleep(0.02 if number != 5 else 0.001)
        running.discard(number)
        if number == 5:
            raise OSError(28, "No space left on device")
        return number

    with pytest.raises(OSError, match="No space left on device"):
        ThreadedRuntime(2).run(
            function, None, [(n,) for n in range(100)], lambda _, number: collected.append(number)
        )
    assert not running
    assert len(begun) < 10
    before = list(collected)
    time.sleep(0.1)
    assert collected == before


def test_threads__keep_blas_on_one_thread() -> None:
    import threadpoolctl

    def blas() -> set[int]:
        info = threadpoolctl.threadpool_info()
        return {pool["num_threads"] for pool in info if pool["user_api"] == "blas"}

    seen: list[set[int]] = []
    with threadpoolctl.threadpool_limits(2):
        outside = blas()
        ThreadedRuntime(2).run(
            lambda *_: blas(), None, [(n,) for n in range(8)], lambda _, s: seen.append(s)
        )
        assert blas() == outside
    assert seen == [{1}] * 8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"client": object(), "scheduler": "threads"}, "give a client or a scheduler, not both"),
        ({"workers": 0}, "workers is 0; expected at least 1"),
        ({"memory_limit": "lots"}, "memory_limit is 'lots'; expected bytes or a size"),
    ],
)
def test_open__refuses_what_contradicts_itself(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words), open_runtime(**options):
        pass


def test_open__uses_threads_when_nothing_is_said() -> None:
    with open_runtime(memory_limit="2GiB") as runtime:
        assert runtime == ThreadedRuntime(os.cpu_count() or 1, 2**31)
    with open_runtime(scheduler="threads", workers=3, remote=True) as runtime:
        assert runtime == ThreadedRuntime(3)


@pytest.mark.parametrize(("scheme", "times"), [("file", 1), ("memory", 2)])
def test_threads__are_twice_as_many_where_rows_come_from_a_url(
    tmp_path: Path, scheme: str, times: int
) -> None:
    address = f"{scheme}://{tmp_path}/rows.zarr"
    rows = xr.Dataset({"X": (("sample", "feature"), np.ones((100, 2)))})
    target = tmp_path / "rows.zarr" if scheme == "file" else address
    rows.to_zarr(target, zarr_format=3, consolidated=False)
    plan = GaussianMixture(2).plan(address, scheduler="threads")
    assert plan.threads == times * (os.cpu_count() or 1)


def test_processes__are_no_more_than_the_tasks() -> None:
    assert processes_to_start(40, 3) == 3
    assert processes_to_start(2, 3) == 2
    assert processes_to_start(None, None) == os.cpu_count()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_open__says_when_no_scheduler_answers(address: str) -> None:
    with (
        pytest.raises(ClusterError, match=f"no scheduler answers at {address}.*check the address"),
        open_runtime(scheduler=address),
    ):
        pass


def test_open__a_word_is_no_address() -> None:
    with (
        pytest.raises(ParameterError, match=r"'thread'.*'threads'"),
        open_runtime(scheduler="thread"),
    ):
        pass


def test_threads__compute_lazy_arrays_of_a_job_first() -> None:
    import dask.array as da

    got: dict[int, Any] = {}
    lazy = da.arange(10, chunks=5)
    jobs = [(lazy[:3], None), (lazy[3:], np.ones(2))]
    ThreadedRuntime(1).run(lambda _, a, *__: (type(a), a.sum()), None, jobs, got.__setitem__)
    assert got == {0: (np.ndarray, 3), 1: (np.ndarray, 42)}
