"""Passes: the same bits for any order and place of computing, and right sums."""

import threading
from typing import Any

import dask.array as da
import numpy as np
import pytest
import threadpoolctl
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.data.opening import open_samples
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.events import Event
from bigtensor.engine.ranges import EVEN_TASKS
from bigtensor.engine.reduce import FixedTree, run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.base import Pass
from bigtensor.statistics.combinators import Together
from tests.engine.sums import ColumnSums, LaggedProducts, write_store

ROWS = 150_000
VALUES = np.random.default_rng(5).normal(size=(ROWS, 2)) * np.logspace(-6, 6, ROWS)[:, None]


def add(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {"sum": left["sum"] + right["sum"]}


@settings(max_examples=200)
@given(st.integers(1, 70).flatmap(lambda n: st.permutations(range(n))), st.integers(0, 99))
def test_tree__gives_the_same_bits_for_every_order_of_arrival(order: list[int], seed: int) -> None:
    leaves = np.random.default_rng(seed).normal(size=len(order)) * 10.0 ** np.arange(len(order))
    tree = FixedTree(len(order), add)
    for index in order:
        tree.add(index, {"sum": leaves[index]})
    level = list(leaves)
    while len(level) > 1:
        level = [sum(level[i : i + 2][1:], level[i]) for i in range(0, len(level), 2)]
    assert tree.root["sum"].tobytes() == level[0].tobytes()
    assert len(tree.waiting) == 1


@pytest.mark.parametrize("leaves", [1, 2, 3, 64, 1000, 9999])
def test_tree__holds_few_states_when_they_arrive_in_order(leaves: int) -> None:
    tree, most = FixedTree(leaves, add), 0
    for index in range(leaves):
        tree.add(index, {"sum": np.float64(1)})
        most = max(most, len(tree.waiting))
    assert tree.root["sum"] == leaves
    assert most <= 1 + leaves.bit_length()


def test_threads__compute_ranges_in_their_order() -> None:
    samples = open_samples(np.zeros((1_000_000, 1)))
    events: list[Event] = []
    run_pass(samples, Pass("p", ColumnSums(1)), ThreadedRuntime(2), listeners=[events.append])
    starts = [event.start for event in events if event.kind == "part finished"]
    places = np.argsort(np.argsort(starts))
    assert len(starts) == EVEN_TASKS
    assert np.abs(places - np.arange(len(starts))).max() <= 3


def test_pass__sums_all_rows_and_tells_its_progress() -> None:
    weight = np.random.default_rng(0).uniform(size=ROWS)
    events: list[Event] = []
    result = run_pass(
        open_samples(VALUES, weight=weight),
        Pass("sums", ColumnSums(2)),
        ThreadedRuntime(2),
        listeners=[events.append],
    )
    np.testing.assert_allclose(result["sums"], weight @ VALUES, rtol=1e-12)
    assert result["rows"] == ROWS
    assert result["index"] == ROWS * (ROWS - 1) // 2
    assert [event.kind for event in events] == [
        "pass started",
        *["part finished"] * 5,
        "pass finished",
    ]
    assert {(event.name, event.total_rows, event.total_parts) for event in events} == {
        ("sums", ROWS, 5)
    }
    finished = events[1:-1]
    assert [event.parts for event in finished] == [1, 2, 3, 4, 5]
    covered = sorted((event.start, event.stop) for event in finished)
    assert sum(stop - start for start, stop in covered) == events[-1].rows == ROWS
    assert events[-1].seconds >= finished[0].seconds > 0
    assert all(event.reused == 0 for event in events)


def test_pass__over_chosen_rows_reads_these_only() -> None:
    rows = ((3, 500), (40_000, 90_000))
    pass_ = Pass("p", Together((("a", ColumnSums(2)), ("b", ColumnSums(2, factor=2.0)))), rows=rows)
    both = run_pass(open_samples(VALUES), pass_, ThreadedRuntime(2))
    first, second = both["a"], both["b"]
    chosen = np.concatenate([np.arange(*pair) for pair in rows])
    assert first["index"] == chosen.sum()
    np.testing.assert_allclose(first["sums"], VALUES[chosen].sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(second["sums"], 2 * first["sums"], rtol=1e-14)


@pytest.mark.parametrize("kind", ["array", "store", "lazy", "two lazy"])
def test_pass__over_many_windows_reads_them_in_few_parts(tmp_path: Any, kind: str) -> None:
    windows = tuple((start, start + 210) for start in range(1000, ROWS - 500, 4000))
    data: Any = {
        "array": lambda: VALUES,
        "store": lambda: write_store(tmp_path / "w.zarr", VALUES, chunks=(3333, 2)),
        "lazy": lambda: da.from_array(VALUES, chunks=(7777, 2)),
        "two lazy": lambda: [da.from_array(half, chunks=(999, 2)) for half in np.split(VALUES, 2)],
    }[kind]()
    events: list[Event] = []
    total, pairs = run_pass(
        open_samples(data),
        Pass("p", LaggedProducts(), rows=windows),
        ThreadedRuntime(2),
        listeners=[events.append],
    )
    first = np.concatenate([np.arange(*window) for window in windows])
    assert pairs == len(first)
    expected = float(VALUES[first, 0] @ VALUES[first + 2, 0])
    assert total == pytest.approx(expected, rel=1e-12)
    finished = [event for event in events if event.kind == "part finished"]
    assert len(finished) <= EVEN_TASKS + 1 < len(windows)
    assert finished[-1].rows == finished[-1].total_rows == len(first)


def test_pass__over_no_rows_is_the_empty_state() -> None:
    result = run_pass(open_samples(VALUES), Pass("p", ColumnSums(2), rows=()), ThreadedRuntime(1))
    assert result["rows"] == 0


@pytest.mark.parametrize("kind", ["array", "store", "data set", "lazy", "lazy, small chunks"])
def test_pass__with_a_halo_sees_every_window_of_a_sequence(tmp_path: Any, kind: str) -> None:
    values = VALUES[:, :1] / np.logspace(-6, 6, ROWS)[:, None]
    sequence = np.repeat(np.arange(150), 1000)
    data: Any = xr.Dataset({"X": (("sample", "feature"), values), "sequence": ("sample", sequence)})
    if kind == "array":
        data, sequence = values, np.zeros(ROWS, int)
    elif kind == "store":
        layout = {"chunks": (9999, 1), "variables": {"sequence": sequence}}
        data = write_store(tmp_path / "h.zarr", values, **layout)
    elif kind.startswith("lazy"):
        data = data.chunk({"sample": 40_000 if kind == "lazy" else 7777})
    total, pairs = run_pass(open_samples(data), Pass("p", LaggedProducts()), ThreadedRuntime(2))
    same = sequence[:-2] == sequence[2:]
    assert pairs == np.count_nonzero(same)
    assert total == pytest.approx(float(values[:-2, 0][same] @ values[2:, 0][same]), rel=1e-9)


def test_pass__has_the_same_bits_for_any_number_of_threads_and_kind_of_rows(tmp_path: Any) -> None:
    store = write_store(tmp_path / "b.zarr", VALUES, chunks=(1024, 2))
    results = [
        run_pass(open_samples(data), Pass("p", ColumnSums(2)), ThreadedRuntime(threads))
        for data, threads in [
            (VALUES, 1),
            (VALUES, 3),
            (store, 1),
            (store, 2),
            (da.from_array(VALUES, chunks=(1024, 2)), 2),
        ]
    ]
    bits = {tuple(array.tobytes() for array in result.values()) for result in results}
    assert len(bits) == 1


def test_pass__over_misaligned_rows_has_the_same_bits() -> None:
    content = np.zeros(VALUES.nbytes + 1, np.uint8)
    shifted = content[1:].view(np.float64).reshape(VALUES.shape)
    shifted[...] = VALUES
    assert not shifted.flags.aligned
    for statistic in (ColumnSums(2), LaggedProducts()):
        results = [
            run_pass(open_samples(data), Pass("p", statistic), ThreadedRuntime(1))
            for data in (VALUES, shifted)
        ]
        plain = [tuple(r.values()) if isinstance(r, dict) else r for r in results]
        bits = {tuple(np.asarray(n).tobytes() for n in numbers) for numbers in plain}
        assert len(bits) == 1


def test_single_blas_thread__holds_until_the_last_user_leaves() -> None:
    def threads() -> set[int]:
        return {
            pool["num_threads"]
            for pool in threadpoolctl.threadpool_info()
            if pool["user_api"] == "blas"
        }

    before = threads()
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with single_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with single_blas_thread():
        thread.start()
        assert inside.wait(10)
        assert threads() == {1}
    assert threads() == {1}
    leave.set()
    thread.join()
    assert threads() == before
