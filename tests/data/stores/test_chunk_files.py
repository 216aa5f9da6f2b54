"""Files of an array against those that its shape asks for: exact counts in bounded memory."""

import re
import time
import tracemalloc
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.opening import open_samples
from bigtensor.data.stores import chunk_files
from bigtensor.data.stores.chunk_files import ChunkFiles
from bigtensor.errors import LayoutWarning


def array(shape: tuple[int, ...], chunks: tuple[int, ...], **options: Any) -> Any:
    return zarr.create_array({}, shape=shape, chunks=chunks, dtype="f4", **options)


ENCODINGS = {
    "3, folders": {},
    "3, flat": {"chunk_key_encoding": {"name": "default", "separator": "."}},
    "2, flat": {"zarr_format": 2},
    "2, folders": {"zarr_format": 2, "chunk_key_encoding": {"name": "v2", "separator": "/"}},
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_count__every_absent_file_is_found_and_named(encoding):
    made = array((25, 7), (10, 3), **ENCODINGS[encoding])
    places = list(product(range(3), range(3)))
    names = [made.metadata.encode_chunk_key(place) for place in places]
    for missing, (place, name) in enumerate(zip(places, names, strict=True)):
        found = ChunkFiles(made)
        assert all(found.count(other) for other in names if other != name)
        assert (found.expected, found.present, found.absent) == (9, 8, 1)
        words = found.describe_absent("X")
        start = 10 * place[0]
        assert words.startswith("1 of the 9 files of 'X'"), missing
        assert words.endswith(f"X/{name}, with rows {start} to {min(start + 10, 25) - 1}"), missing


@pytest.mark.parametrize("name", ["zarr.json", ".zarray", ".DS_Store", "c/3/0", "c/01/0", "c/0"])
def test_count__other_files_hold_no_chunk(name):
    found = ChunkFiles(array((25, 7), (10, 3)))
    assert not found.count(name)
    assert found.present == 0


def test_count__arrays_without_rows_and_without_dimensions():
    assert ChunkFiles(array((0, 3), (1, 3))).expected == 0
    for version, name in ((3, "c"), (2, "0")):
        scalar = ChunkFiles(array((), (), zarr_format=version))
        assert re.fullmatch(rf"1 of the 1 files of 'n' .* n/{name}", scalar.describe_absent("n"))
        assert scalar.count(name)
        assert scalar.absent == 0


def test_count__beyond_what_is_tracked(monkeypatch):
    monkeypatch.setattr(chunk_files, "MOST_TRACKED", 4)
    found = ChunkFiles(array((60,), (10,)))
    for index in range(4):
        found.count(f"c/{index}")
    words = found.describe_absent("w")
    assert words.startswith("2 of the 6 files of 'w'")
    assert words.endswith("after the first 4")


def test_count__of_a_grid_beyond_64_bits():
    made = array((2**60, 2**60), (1, 1))
    found = ChunkFiles(made)
    assert found.count("c/0/0")
    assert found.describe_absent("X").endswith("the first is X/c/0/1, with rows 0 to 0")


def almost_empty_store(path: Path, rows: int) -> Path:
    """Make a store of many rows, of which one chunk is there."""
    group = zarr.create_group(path)
    group.create_array(
        "X",
        shape=(rows, 3),
        chunks=(64, 3),
        dtype="f4",
        fill_value=np.nan,
        dimension_names=("sample", "feature"),
    )[: 2 * 64] = 1
    (path / "X" / "c" / "1" / "0").unlink()
    return path


def test_open__of_a_store_that_is_almost_empty_needs_little_memory(tmp_path: Path) -> None:
    """A list of every place of 2**40 rows would take all memory."""
    path = almost_empty_store(tmp_path / "a.zarr", 2**40)
    tracemalloc.start()
    try:
        with pytest.warns(LayoutWarning) as caught:
            samples = open_samples(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert samples.rows == 2**40
    message = str(caught[-1].message)
    assert "17,179,869,183 of the 17,179,869,184 files" in message
    assert "X/c/1/0, with rows 64 to 127" in message
    assert "are read as nan" in message
    assert peak < 2 * chunk_files.MOST_TRACKED


@pytest.mark.alone
@pytest.mark.filterwarnings("ignore::bigtensor.errors.LayoutWarning")
def test_open__of_a_store_that_is_almost_empty_takes_as_long_for_any_rows(tmp_path: Path) -> None:
    """Looking at every place of 2**40 rows would take hours."""
    paths = {rows: almost_empty_store(tmp_path / f"{rows}.zarr", rows) for rows in (2**12, 2**40)}
    seconds: dict[int, list[float]] = {rows: [] for rows in paths}
    for _ in range(5):
        for rows, path in paths.items():
            started = time.process_time()
            open_samples(path)
            seconds[rows].append(time.process_time() - started)
    few, many = (min(taken) for taken in seconds.values())
    print(f"2**40 rows take {many / few:.2f} times as long as 2**12")
    assert many < 5 * few


def test_files__are_listed_as_fsspec_lists_them(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "a.zarr")
    group.create_array("X", shape=(25, 7), chunks=(10, 3), dtype="f4")[:] = 1
    local = StoreFiles(tmp_path / "a.zarr")
    remote = StoreFiles("memory://chunk-files.zarr")
    zarr.create_group("memory://chunk-files.zarr").create_array(
        "X", shape=(25, 7), chunks=(10, 3), dtype="f4"
    )[:] = 1
    assert sorted(local.names("X")) == sorted(remote.names("X"))
    sizes = [
        sorted((name, info["size"]) for name, info in files.infos("X")) for files in (local, remote)
    ]
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) == 10
    assert list(local.names("none")) == list(remote.names("none")) == []
    assert local.folders("") == remote.folders("") == ["X"]
