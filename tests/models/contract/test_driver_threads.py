"""Work of the driver on a few threads: the same results, in order, whatever their number."""

import threading
import time

import numpy as np
import pytest
import threadpoolctl

from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.models.contract import driver_threads
from bigtensor.models.contract.driver_threads import map_on_threads
from tests.parameters import first_quick


def test_results__are_in_the_order_of_the_items():
    def slow_first(item):
        time.sleep(0.02 * (5 - item))
        return item**2

    assert map_on_threads(slow_first, range(5), most=4) == [0, 1, 4, 9, 16]


def test_items__are_computed_together_where_processors_are_free(monkeypatch):
    monkeypatch.setattr(driver_threads, "_processors", lambda: 8)
    together = threading.Barrier(3, timeout=30)
    assert sorted(map_on_threads(lambda _: together.wait(), range(3), most=3)) == [0, 1, 2]


def test_no_more_than_asked_for_are_in_work(monkeypatch):
    monkeypatch.setattr(driver_threads, "_processors", lambda: 8)
    lock, in_work, seen = threading.Lock(), set(), []

    def count(item):
        with lock:
            in_work.add(item)
            seen.append(len(in_work))
        time.sleep(0.01)
        with lock:
            in_work.remove(item)

    map_on_threads(count, range(12), most=2)
    assert max(seen) == 2


def test_error__reaches_the_caller_and_ends_what_has_not_begun():
    begun = []

    def fail(item):
        begun.append(item)
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        map_on_threads(fail, range(200), most=1)
    assert len(begun) < 200


def test_blas__has_one_thread_meanwhile():
    def blas_threads(_):
        np.ones((8, 8)) @ np.ones((8, 8))
        found = threadpoolctl.threadpool_info()
        return {info["num_threads"] for info in found if info["user_api"] == "blas"}

    assert map_on_threads(blas_threads, range(3), most=2) == [{1}] * 3


@pytest.mark.parametrize("threads", first_quick([4, 1]))
@pytest.mark.slow  # items on threads, and a law of workers, are quick
def test_populations__do_not_depend_on_the_number_of_threads(monkeypatch, threads):
    cells = simulate.correlated_cells(4000, [4, 3, 2, 1], outliers=5, random_state=4)
    options = {
        "spectral": SpectralOptions(bins=256),
        "n_components": 40,
        "n_populations": "auto",
        "random_state": 0,
    }
    expected = KernelMixture(**options).fit(cells)
    monkeypatch.setattr(driver_threads, "_processors", lambda: threads)
    model = KernelMixture(**options).fit(cells)
    for name in ("merges", "heights", "weights"):
        np.testing.assert_array_equal(
            getattr(model.merge_tree_, name), getattr(expected.merge_tree_, name)
        )
    assert model.diagnostics_["population_count"] == expected.diagnostics_["population_count"]
