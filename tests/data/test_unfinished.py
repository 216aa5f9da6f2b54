"""Outputs of runs that were killed: the next run of the same output removes them."""

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import zarr

from bigtensor.data.layout import SampleStoreWriter
from bigtensor.data.outputs import unfinished_name, unfinished_path


def left_by(process: int, name: str, host: str | None = None) -> str:
    """Return the name under which a process was writing."""
    here = unfinished_name("name").split(".")[1]
    return f"{name}.{here if host is None else host}.{process}.0123abcd.unfinished"


@pytest.fixture
def ended() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def make_store(path: Path, age: float = 0.0) -> None:
    """Make a store whose newest file has an age in seconds."""
    zarr.create_group(path).create_array("X", data=np.ones(3))
    then = time.time() - age
    for entry in path.rglob("*"):
        os.utime(entry, (then, then))
    os.utime(path, (time.time() - 10 * 86_400,) * 2)


def test_leftovers__of_the_same_output_are_removed(tmp_path: Path, ended: int) -> None:
    two_days = 2 * 86_400
    ages = {
        left_by(ended, "a.zarr"): 0,
        left_by(7, "a.zarr", "another-machine"): two_days,
        # kept: somebody may finish them, or they are of other outputs
        left_by(os.getpid(), "a.zarr"): 0,
        left_by(8, "a.zarr", "another-machine"): 0,
        left_by(ended, "b.zarr"): two_days,
        "a.zarr": two_days,
    }
    for name, age in ages.items():
        make_store(tmp_path / name, age)
    path = unfinished_path(tmp_path / "a.zarr")
    assert not path.exists()
    assert {entry.name for entry in tmp_path.iterdir()} == set(list(ages)[2:])


def test_leftovers__that_are_files_or_links_are_removed(tmp_path: Path, ended: int) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / left_by(ended, "a.csv")).write_text("row,label\n")
    (tmp_path / left_by(ended, "a.csv").replace("0123", "4567")).symlink_to(tmp_path / "kept")
    unfinished_path(tmp_path / "a.csv")
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept"]


def test_unfinished_path__of_an_unfinished_store_is_of_the_same_output(tmp_path: Path) -> None:
    inner = unfinished_path(unfinished_path(tmp_path / "a.zarr"))
    assert inner.name.count("unfinished") == 1
    assert inner.name.startswith("a.zarr.")


def test_unfinished_path__in_no_folder_leaves_the_error_to_the_writer(tmp_path: Path) -> None:
    assert unfinished_path(tmp_path / "none" / "a.zarr").parent == tmp_path / "none"


def test_replaced_store__of_a_killed_run_is_kept_until_a_new_one_is_in_place(
    tmp_path: Path, ended: int
) -> None:
    replaced = tmp_path / left_by(ended, "a.zarr.replaced")
    make_store(replaced)
    with SampleStoreWriter(tmp_path / "a.zarr", ["f"], overwrite=True) as store:
        store.append(np.ones((4, 1)))
        assert (replaced / "X" / "zarr.json").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.zarr"]
