"""Data that are damaged, change or hold gaps: one clear error, the same whatever the workers."""

import warnings
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import Client

from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.data.opening import open_samples
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.engine.events import Event
from bigtensor.errors import (
    DataChangedError,
    DataError,
    IdentifiabilityError,
    LayoutWarning,
    MissingValueError,
    MissingValueWarning,
    OutputError,
    StoreReadError,
)
from tests.engine.sums import write_store

ROWS = 500_000
VALUES = simulate.kernel_mixture(ROWS, 3, random_state=8)["X"].to_numpy().astype("float32")
NAMES = ["CD3", "CD4", "CD19"]


def model(**options: Any) -> KernelMixture:
    small = {
        "spectral": SpectralOptions(n_landmarks=15, bins=64),
        "pilot_rows": 1000,
        "max_iter": 1,
    }
    return KernelMixture(3, **small | options)


def own_store(path: Path, values: np.ndarray = VALUES) -> Path:
    with SampleStoreWriter(path, NAMES) as writer:
        writer.append(values)
    return path


def test_truncated_shard__is_named_with_its_rows(tmp_path: Path) -> None:
    store = own_store(tmp_path / "cells.zarr")
    (shard,) = [path for path in (store / "X" / "c").rglob("*") if path.is_file()]
    content, samples = shard.read_bytes(), open_samples(store)
    for length in (len(content) // 2, len(content) - 3, 0):
        shard.write_bytes(content[:length])
        with pytest.raises(StoreReadError, match=r"the files of 'X' have .* one of them is trunc"):
            model().fit(store, scheduler="threads", workers=2)
        # and after the store was opened
        with pytest.raises(StoreReadError) as caught:
            model().fit(samples, scheduler="threads", workers=2)
        message = str(caught.value)
        assert f"of 'X' in {store} cannot be read" in message
        assert "truncated or corrupted" in message
        assert message.startswith("rows ")


def test_truncated_chunk__is_named_by_a_worker_too(tmp_path: Path, two_workers: Client) -> None:
    store = Path(write_store(tmp_path / "cells.zarr", VALUES, chunks=(50_000, 3)))
    chunk = store / "X" / "c" / "7" / "0"
    chunk.write_bytes(chunk.read_bytes()[:1000])
    for place in ({"scheduler": "threads"}, {"client": two_workers}):
        with pytest.raises(
            StoreReadError, match=r"rows 3\d\d,\d\d\d to \S+ of 'X' in .* cannot be"
        ):
            model().fit(str(store), **place)


def test_flipped_byte__in_the_index_of_a_shard_is_noticed(tmp_path: Path) -> None:
    store = own_store(tmp_path / "cells.zarr")
    (shard,) = [path for path in (store / "X" / "c").rglob("*") if path.is_file()]
    content = bytearray(shard.read_bytes())
    content[-20] ^= 0x10
    shard.write_bytes(bytes(content))
    with pytest.raises(StoreReadError, match="cannot be read"):
        model().fit(store, scheduler="threads")


def test_flipped_byte__in_a_chunk_with_a_checksum_is_noticed(tmp_path: Path) -> None:
    codecs = [zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()]
    layout = {"chunks": (50_000, 3), "compressors": codecs}
    store = Path(write_store(tmp_path / "cells.zarr", VALUES, **layout))
    chunk = store / "X" / "c" / "4" / "0"
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 0x01
    chunk.write_bytes(bytes(content))
    with pytest.raises(StoreReadError, match=r"rows .* cannot be read"):
        model().fit(store, scheduler="threads")


def test_lost_shard__is_refused_before_a_row_is_read(tmp_path: Path) -> None:
    store = own_store(tmp_path / "cells.zarr")
    (shard,) = [path for path in (store / "X" / "c").rglob("*") if path.is_file()]
    shard.unlink()
    with pytest.raises(StoreReadError, match=r"1 of the 1 files of 'X' are absent"):
        model().fit(store)


def test_lost_chunk__of_another_layout_is_warned_of_and_then_found_as_gaps(tmp_path: Path) -> None:
    layout = {"chunks": (50_000, 3), "fill_value": np.nan}
    store = Path(write_store(tmp_path / "cells.zarr", VALUES, **layout))
    (store / "X" / "c" / "9" / "0").unlink()
    with (
        pytest.warns(LayoutWarning, match=r"with rows 450,000 to 499,999. They are read as nan"),
        pytest.raises(MissingValueError, match="row 450,"),
    ):
        model().fit(store)


@pytest.mark.parametrize("kind", ["chunk", "removed"])
def test_store__that_changes_while_it_is_read_is_noticed(tmp_path: Path, kind: str) -> None:
    store = Path(write_store(tmp_path / "cells.zarr", VALUES, chunks=(50_000, 3)))

    def change(event: Event) -> None:
        if event.name == "moments" and event.parts == 3:
            if kind == "chunk":
                zarr.open_group(str(store))["X"][450_000:450_010] = 1.0
            else:
                (store / "X" / "c" / "0" / "0").unlink()

    with pytest.raises(DataChangedError) as caught:
        model().fit(store, listeners=[change], scheduler="threads", workers=1)
    assert f"{store} (500,000 rows) changed" in str(caught.value)


def gaps(rows: list[int], column: int, number: float = np.nan) -> np.ndarray:
    values = VALUES.copy()
    values[rows, column] = number
    return values


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_gap_in_a_late_row__is_named_the_same_everywhere(
    tmp_path: Path, one_worker: Client, two_workers: Client, number: float
) -> None:
    values = gaps([456_789, 480_000], 2, number)
    store = own_store(tmp_path / "cells.zarr", values)
    places: list[dict[str, Any]] = [
        {"scheduler": "threads", "workers": 1},
        {"scheduler": "threads", "workers": 2},
        {"client": one_worker},
        {"client": two_workers},
    ]
    messages = set()
    for place in places:
        with pytest.raises(MissingValueError) as caught:
            model().fit(store, **place)
        messages.add(str(caught.value))
    (message,) = messages
    assert "row 456,789, feature 'CD19'" in message
    assert "missing='omit'" in message
    for data in (values, da.from_array(values, chunks=(60_000, 3))):
        with pytest.raises(MissingValueError, match="row 456,789, feature 'x2'"):
            model().fit(data)


def test_gaps__are_left_out_and_counted_on_request(tmp_path: Path) -> None:
    rows = [5, 6, 70_000, 456_789]
    store = own_store(tmp_path / "cells.zarr", gaps(rows, 1))
    with pytest.warns(MissingValueWarning) as caught:
        fitted = model(missing="omit").fit(store)
    message = str(caught[-1].message)
    assert "4 of 500,000 rows" in message
    assert "row 5, feature 'CD4'" in message
    with pytest.warns(MissingValueWarning, match="4 of 500,000 rows"):
        path = fitted.write(store, tmp_path / "labels.zarr")
    label = zarr.open_group(str(path), mode="r")["label"][...]
    np.testing.assert_array_equal(np.flatnonzero(label == -1), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingValueWarning)
        kept = model(missing="omit").fit(np.delete(VALUES, rows, axis=0))
    np.testing.assert_allclose(fitted.weights_, kept.weights_, rtol=0.02)


def test_empty_store__is_refused(tmp_path: Path) -> None:
    group = zarr.create_group(str(tmp_path / "empty.zarr"))
    dims = ("sample", "feature")
    group.create_array("X", shape=(0, 3), chunks=(1, 3), dtype="f4", dimension_names=dims)
    with pytest.raises(DataError, match=r"0 sample\(s\): .*empty.zarr \(0 rows\) is empty"):
        model().fit(tmp_path / "empty.zarr")


def test_one_row__is_refused(tmp_path: Path) -> None:
    store = own_store(tmp_path / "one.zarr", VALUES[:1])
    with pytest.raises(IdentifiabilityError, match="needs more rows; got n_samples=1"):
        model().fit(store)


def test_wrong_path__is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreReadError, match=r"there is no store at .*none.zarr; check the path"):
        model().fit(tmp_path / "none.zarr")


@pytest.mark.slow  # millions of rows; a late row of fewer is quick
def test_gap_in_row_4567890__is_named(tmp_path: Path) -> None:
    values = np.resize(VALUES.astype(np.float32), (5_000_000, 3))
    values[4_567_890, 1] = np.nan
    store = own_store(tmp_path / "cells.zarr", values)
    with pytest.raises(MissingValueError, match=r"1 of 5,000,000 rows .* row 4,567,890, feature "):
        model(init="kmeans", max_iter=1).fit(store)


def test_output__that_no_worker_sees_is_named(tmp_path: Path, two_workers: Client) -> None:
    few = VALUES[:2000]
    target = f"memory://{tmp_path.name}/labels.zarr"
    with pytest.raises(OutputError, match="worker"):
        model().fit(few).write(few, target, client=two_workers)
