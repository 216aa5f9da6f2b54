"""Row-wise answers: the same in memory, lazily and in a store, and nothing half-written."""

import errno
import warnings
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor.data.opening import open_samples
from bigtensor.data.sources.row_sources import LazySource
from bigtensor.data.stores.leftovers import discard, unfinished_path
from bigtensor.engine import answers_to_store, ranges, row_tasks
from bigtensor.engine.answers_in_memory import evaluate_in_memory
from bigtensor.engine.answers_to_store import evaluate_to_store
from bigtensor.engine.events import Event
from bigtensor.engine.lazy_answers import evaluate_lazily
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import (
    DataChangedError,
    MissingValueError,
    OutputError,
    StoreReadError,
)
from bigtensor.statistics.validity import Validity
from tests.engine.sums import RowTotals, write_store

ROWS = 120_000
VALUES = np.random.default_rng(9).normal(size=(ROWS, 3)).astype("float32")
TOTALS = VALUES.sum(axis=1, dtype="f8")
THREADS = ThreadedRuntime(2)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_to_store, "CHUNK_ROWS", 10_000)


@pytest.fixture(params=["array", "store", "lazy", "several", "several lazy"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same rows in every kind of container; also cut where no chunk of the output ends."""
    lazy = da.from_array(VALUES, chunks=(7777, 3))
    kinds = {
        "array": VALUES,
        "store": write_store(tmp_path / "in.zarr", VALUES, chunks=(9999, 3)),
        "lazy": lazy,
        "several": [VALUES[:12_345], VALUES[12_345:12_346], VALUES[12_346:]],
        "several lazy": [lazy[:33_333], lazy[33_333:]],
    }
    return kinds[request.param]


@pytest.mark.quick_cases("array", "store", "several lazy")
def test_outputs__are_the_same_in_memory_lazily_and_in_a_store(tmp_path: Path, data: Any) -> None:
    samples = open_samples(data)
    events: list[Event] = []
    arrays, validity = evaluate_in_memory(samples, RowTotals(), THREADS, listeners=[events.append])
    np.testing.assert_allclose(arrays["total"], TOTALS, rtol=1e-12)
    np.testing.assert_array_equal(arrays["pair"], VALUES[:, :2])
    assert validity == Validity(ROWS, 0, None, None, 0, None)
    assert (events[0].kind, events[-1].kind) == ("pass started", "pass finished")
    assert events[-1].rows == ROWS

    path = tmp_path / "out.zarr"
    evaluate_to_store(samples, RowTotals(), THREADS, path, sample_dim="cell", attrs={"by": "test"})
    stored = xr.open_zarr(path)  # warns of nothing: the metadata are consolidated
    assert stored["pair"].dims == ("cell", "member")
    assert stored.attrs == {"by": "test"}
    for name, array in arrays.items():
        assert stored[name].to_numpy().tobytes() == array.tobytes()
        assert zarr.open_group(str(path))[name].chunks[0] == 10_000

    for name, array in arrays.items():
        lazy = evaluate_lazily(samples, RowTotals((name,)), missing="raise")
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype) == (array.shape, array.dtype)
        assert lazy.compute(scheduler="threads").tobytes() == array.tobytes()


@pytest.mark.quick_cases("array", "store", "several lazy")
def test_outputs__of_one_task_are_bounded_by_their_bytes(
    tmp_path: Path, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "MAX_OUTPUT_NBYTES", 70_000)
    most = 4096  # of rows of 16 bytes
    samples, events = open_samples(data), list[Event]()
    evaluate_in_memory(samples, RowTotals(), THREADS, listeners=[events.append])
    parts = [event.stop - event.start for event in events if event.kind == "part finished"]
    assert sum(parts) == ROWS
    lazy = any(isinstance(source, LazySource) for source in samples.sources)
    longest_chunk = 7777 if isinstance(data, da.Array) else 33_334  # stays whole
    assert max(parts) <= (longest_chunk if lazy else most) + lazy * most

    evaluate_to_store(samples, RowTotals(), THREADS, tmp_path / "out.zarr")
    stored = zarr.open_group(str(tmp_path / "out.zarr"))
    assert {stored[name].chunks[0] for name in ("total", "pair")} == {most}
    np.testing.assert_allclose(stored["total"][:], TOTALS, rtol=1e-12)

    pairs = evaluate_lazily(samples, RowTotals(("pair",)), missing="raise")
    if not lazy:
        assert max(pairs.chunks[0]) <= 2 * most  # rows of 8 bytes
    np.testing.assert_array_equal(pairs.compute(scheduler="threads"), VALUES[:, :2])


def with_gaps() -> np.ndarray:
    values = VALUES.copy()
    values[100_001, 2] = np.nan
    values[70_007, 1] = np.inf
    values[70_008, 0] = np.nan
    return values


def test_missing_values__get_the_fill_value_and_are_counted(tmp_path: Path) -> None:
    values = with_gaps()
    good = np.isfinite(values).all(axis=1)
    arrays, validity = evaluate_in_memory(open_samples(values), RowTotals(), THREADS)
    assert validity == Validity(ROWS, 3, 70_007, 1, 0, None)
    np.testing.assert_array_equal(np.isnan(arrays["total"]), ~good)
    np.testing.assert_array_equal(arrays["pair"][good], values[good, :2])
    lazy = evaluate_lazily(
        open_samples(da.from_array(values, chunks=(30_000, 3))),
        RowTotals(("total",)),
        missing="omit",
    )
    assert lazy.compute(scheduler="threads").tobytes() == arrays["total"].tobytes()


@pytest.mark.parametrize("lazy", [True, False])
def test_missing_values__are_named_when_a_lazy_output_is_computed(
    tmp_path: Path, lazy: bool
) -> None:
    values = with_gaps()
    data: Any = da.from_array(values, chunks=(30_000, 3))
    if not lazy:
        data = write_store(tmp_path / "gaps.zarr", values)
    output = evaluate_lazily(open_samples(data), RowTotals(("total",)), missing="raise")
    assert np.isfinite(output[:30_000].compute(scheduler="threads")).all()
    # a task of a store reads from row 65,536 on, a chunk of the lazy array from row 90,000 on
    first = "row 100,001, feature 'x2'" if lazy else "row 70,007, feature 'x1'"
    with pytest.raises(MissingValueError, match=first):
        output[100_000:].compute(scheduler="threads")


def test_store__that_exists_or_has_no_folder_is_refused(tmp_path: Path) -> None:
    samples = open_samples(VALUES)
    (tmp_path / "taken").mkdir()
    with pytest.raises(OutputError, match="exists already; choose another name"):
        evaluate_to_store(samples, RowTotals(), THREADS, tmp_path / "taken")
    with pytest.raises(OutputError, match="is not a Zarr store, so it will not be overwritten"):
        evaluate_to_store(samples, RowTotals(), THREADS, tmp_path / "taken", overwrite=True)
    with pytest.raises(OutputError, match="does not exist; make it first"):
        evaluate_to_store(samples, RowTotals(), THREADS, tmp_path / "none" / "out.zarr")
    evaluate_to_store(samples, RowTotals(), THREADS, tmp_path / "out.zarr")
    evaluate_to_store(
        samples, RowTotals(("total",)), THREADS, tmp_path / "out.zarr", overwrite=True
    )
    assert list(xr.open_zarr(tmp_path / "out.zarr")) == ["total"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.zarr", "taken"]


def test_store__is_not_left_half_written_by_an_error(tmp_path: Path) -> None:
    samples = open_samples(VALUES)

    def interrupt(event: Event) -> None:
        if event.parts == 3:
            raise KeyboardInterrupt

    def object_to(validity: Validity) -> None:
        raise MissingValueError("as a check would")

    failures: list[tuple[type[BaseException], dict[str, Any], RowTotals]] = [
        (RuntimeError, {}, RowTotals(fail_at=55_555)),
        (KeyboardInterrupt, {"listeners": [interrupt]}, RowTotals()),
        (MissingValueError, {"check": object_to}, RowTotals()),
    ]
    for kind, options, function in failures * 5:
        with pytest.raises(kind):
            evaluate_to_store(samples, function, THREADS, tmp_path / "out.zarr", **options)
        assert list(tmp_path.iterdir()) == []


def test_store__is_removed_by_a_task_that_outlives_the_driver(tmp_path: Path) -> None:
    """What a worker does whose driver gave up while it was computing."""
    partial = unfinished_path(tmp_path / "out.zarr")
    samples, function = open_samples(VALUES), RowTotals(("total",))
    answers_to_store._create_outputs(partial, ROWS, function, "sample", {}, {})
    evaluate = function.evaluate

    class Slow(RowTotals):
        def evaluate(self, *arguments: Any) -> None:
            evaluate(*arguments)
            (partial / "zarr.json").unlink(missing_ok=True)

    task = row_tasks.RowTask(samples, Slow(("total",)), str(partial))
    with pytest.raises(OutputError):
        row_tasks.evaluate_range(task, [(0, 1000)])
    discard(partial)
    assert list(tmp_path.iterdir()) == []


def test_store__holds_no_torn_chunks_of_killed_workers(tmp_path: Path) -> None:
    def leave_torn(_: Validity) -> None:
        (store,) = tmp_path.iterdir()
        (store / "total" / "c" / "0.0123abcd.partial").write_bytes(b"torn")

    evaluate_to_store(
        open_samples(VALUES), RowTotals(), THREADS, tmp_path / "out.zarr", check=leave_torn
    )
    assert not list(tmp_path.rglob("*.partial"))


def test_rows__that_change_while_they_are_answered_are_noticed(tmp_path: Path) -> None:
    # arrays stay open, so that rows of a shorter store would be read as missing values
    path = write_store(tmp_path / "in.zarr", VALUES, chunks=(10_000, 3))

    def shorten(event: Event) -> None:
        if event.kind == "part finished" and event.parts == 1:
            write_store(path, VALUES[:50_000], chunks=(10_000, 3))

    with pytest.raises((DataChangedError, StoreReadError)):
        evaluate_in_memory(open_samples(path), RowTotals(), ThreadedRuntime(1), listeners=[shorten])
    write_store(path, VALUES, chunks=(10_000, 3))
    with pytest.raises((DataChangedError, StoreReadError)):
        evaluate_to_store(
            *(open_samples(path), RowTotals(), ThreadedRuntime(1), tmp_path / "out.zarr"),
            listeners=[shorten],
        )
    assert not (tmp_path / "out.zarr").exists()


def test_store__with_damaged_input_names_it_and_leaves_nothing(tmp_path: Path) -> None:
    path = Path(write_store(tmp_path / "in.zarr", VALUES, chunks=(30_000, 3)))
    chunk = path / "X" / "c" / "2" / "0"
    chunk.write_bytes(chunk.read_bytes()[:100])
    with pytest.raises(StoreReadError, match=r"of 'X' in .*in.zarr cannot be read"):
        evaluate_to_store(open_samples(path), RowTotals(), THREADS, tmp_path / "out.zarr")
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.zarr"]


@pytest.mark.parametrize("small_disk", ["256k"], indirect=True)
def test_store__on_a_full_disk_says_so_and_leaves_nothing(small_disk: Path) -> None:
    with pytest.raises(OutputError) as caught:
        evaluate_to_store(open_samples(VALUES), RowTotals(), THREADS, small_disk / "out.zarr")
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert list(small_disk.iterdir()) == []


def test_lazy_output__computes_nothing_until_asked(tmp_path: Path) -> None:
    path = write_store(tmp_path / "in.zarr", VALUES, chunks=(9999, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        output = evaluate_lazily(
            open_samples(path), RowTotals(("total",), fail_at=100_000), missing="raise"
        )
        np.testing.assert_allclose(output[:9].compute(scheduler="threads"), TOTALS[:9], rtol=1e-12)
    with pytest.raises(RuntimeError, match="fails on purpose"):
        output[100_000:100_001].compute(scheduler="threads")
