"""Outputs behind a URL: whole, or marked as unfinished and refused."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import xarray as xr
import zarr
from fsspec.exceptions import FSTimeoutError

import bigtensor
from bigtensor import simulate
from bigtensor.cli.group_table import write_table
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.data.importers.files import import_files
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.stores.leftovers import unfinished_name
from bigtensor.data.stores.manifest import UNFINISHED, check_manifest
from bigtensor.data.stores.object_outputs import check_object_target
from bigtensor.data.stores.outputs import check_target, whole_file, whole_store, write_errors
from bigtensor.data.stores.stored_arrays import create_array, create_root
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.errors import BigtensorError, OutputError, StoreReadError
from bigtensor.report.html import write_report


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    """The file system in memory, empty before and after."""
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]
    yield filesystem
    filesystem.store.clear()


def small_store(address: str, value: float = 1.0) -> None:
    """Write a store of one array."""
    with whole_store(address, overwrite=True) as unfinished:
        array = create_array(create_root(unfinished, {"a": 1}), "x", shape=(3,), dtype="f8")
        array[...] = value


def document(memory: fsspec.AbstractFileSystem, store: str = "/a.zarr") -> dict:
    """Return the document of the root of a store."""
    return json.loads(memory.cat_file(f"{store}/zarr.json"))


def test_store__is_refused_until_it_is_whole(memory):
    with whole_store("memory://a.zarr", overwrite=False) as unfinished:
        assert unfinished == "memory://a.zarr"
        create_root(unfinished, {"a": 1})
        for _ in range(2):
            with pytest.raises(StoreReadError, match="unfinished"):
                open_whole_group(unfinished)
            # the mark stays through changes of the attributes
            zarr.open_group(unfinished, mode="r+").attrs["b"] = 2
    assert dict(open_whole_group("memory://a.zarr").attrs) == {"a": 1, "b": 2}
    assert document(memory)["attributes"] == {"a": 1, "b": 2}


def test_store__that_fails_leaves_nothing(memory):
    def write_half() -> None:
        with whole_store("memory://a", overwrite=False) as unfinished:
            array = create_array(create_root(unfinished, {}), "x", shape=(3,), dtype="f8")
            array[...] = 1
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        write_half()
    assert memory.find("/") == []


@pytest.mark.parametrize("by", ["a process that ended", "another machine", "this process"])
def test_unfinished_store__of_a_run_that_ended_is_replaced(memory, by):
    mark = unfinished_name("store")
    if by == "another machine":
        mark = mark.replace(mark.split(".")[1], "elsewhere-0123456789ab")
    if by == "a process that ended":
        ended = subprocess.Popen(["true"])
        ended.wait()
        mark = mark.replace(f".{os.getpid()}.", f".{ended.pid}.")
    memory.pipe_file("/a.zarr/zarr.json", json.dumps({"attributes": {UNFINISHED: mark}}).encode())
    memory.pipe_file("/a.zarr/old/c/0", b"left behind")
    check_target("memory://a.zarr", overwrite=False)
    small_store("memory://a.zarr")
    assert "/a.zarr/old/c/0" not in memory.find("/")
    assert open_whole_group("memory://a.zarr")["x"][0] == 1


def test_unfinished_store__of_a_living_process_is_kept(memory):
    living = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    mark = unfinished_name("store").replace(f".{os.getpid()}.", f".{living.pid}.")
    content = json.dumps({"attributes": {UNFINISHED: mark}}).encode()
    memory.pipe_file("/a.zarr/zarr.json", content)
    try:
        with pytest.raises(OutputError, match=f"being written by process {living.pid}"):
            small_store("memory://a.zarr")
    finally:
        living.communicate(b"\n")
    assert memory.cat_file("/a.zarr/zarr.json") == content


def test_store__that_another_run_began_again_is_left_to_it(memory):
    other = {"attributes": {UNFINISHED: "store.elsewhere-0.1.01234567.unfinished"}}
    with (
        pytest.raises(OutputError, match="begun again"),
        whole_store("memory://a.zarr", overwrite=True),
    ):
        memory.pipe_file("/a.zarr/zarr.json", json.dumps(other).encode())
    assert document(memory) == other


def test_store__that_another_run_has_finished_is_left_to_it(memory):
    finished = {"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}
    with (
        pytest.raises(OutputError, match="begun again"),
        whole_store("memory://a.zarr", overwrite=True),
    ):
        memory.pipe({"/a.zarr/zarr.json": json.dumps(finished).encode(), "/a.zarr/x/c/0": b"1"})
    assert document(memory) == finished
    assert memory.exists("/a.zarr/x/c/0")


def test_earlier_objects__that_cannot_be_removed_are_refused(memory, monkeypatch):
    small_store("memory://a.zarr")
    # as s3fs does with a key that may write and not remove
    monkeypatch.setattr(type(memory), "rm", lambda *_, **__: None)
    with pytest.raises(OutputError, match="x/c/0"):
        small_store("memory://a.zarr", 2.0)
    with pytest.raises(StoreReadError, match="unfinished"):
        open_whole_group("memory://a.zarr")


def test_earlier_objects__are_removed_where_a_name_looks_like_a_pattern(memory):
    memory.pipe_file("/runs/run[1].zarr/old/c/0", b"left behind")
    memory.pipe_file("/runs/run[1].zarr/zarr.json", b"{}")
    small_store("memory://runs/run[1].zarr")
    assert not memory.exists("/runs/run[1].zarr/old/c/0")
    assert open_whole_group("memory://runs/run[1].zarr")["x"][0] == 1


def test_existing_store__is_replaced_only_when_asked(memory):
    small_store("memory://a.zarr")
    with (
        pytest.raises(OutputError, match="exists already"),
        whole_store("memory://a.zarr", overwrite=False),
    ):
        pass
    small_store("memory://a.zarr", 2.0)
    assert open_whole_group("memory://a.zarr")["x"][0] == 2
    memory.pipe_file("/b/other.txt", b"")
    with pytest.raises(OutputError, match="is not a Zarr store"):
        check_target("memory://b", overwrite=True)
    assert memory.exists("/b/other.txt")


def test_check__leaves_nothing(memory):
    check_object_target("memory://bucket/a.zarr", overwrite=False)
    assert memory.find("/") == []


def test_file__appears_at_the_end(memory):
    with whole_file("memory://a.csv") as path:
        path.write_text("row\n")
        assert memory.find("/") == []
    assert memory.cat_file("/a.csv") == b"row\n"

    def write_half() -> None:
        with whole_file("memory://b.csv") as path:
            path.write_text("row\n")
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        write_half()
    assert memory.find("/") == ["/a.csv"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """Files to import."""
    folder = tmp_path_factory.mktemp("inputs")
    lines = "".join(f"{row + 1} {row % 7 + 1} {row % 5 + 1}\n" for row in range(40))
    (folder / "docword.x.txt").write_text(f"40\n7\n40\n{lines}")
    (folder / "cells.csv").write_text("a,b\n" + "1.5,2\n-1,3.25\n" * 50)
    return folder


def weights() -> xr.Dataset:
    """Weights of two patients."""
    coords = {"patient": ["p", "q"], "rows": ("patient", [5, 6])}
    return xr.Dataset({"weight": (("patient", "component"), np.full((2, 2), 0.5))}, coords)


STORES = {
    "import": lambda i, out: import_files(i / "cells.csv", out),
    "import of counts": lambda i, out: import_counts(i / "docword.x.txt", out),
    "simulated rows": lambda _, out: simulate.write_gaussian_mixture(out, 1000, 2),
    "simulated counts": lambda _, out: simulate.write_topics(out, 50, 2, n_words=30),
}


@pytest.mark.parametrize("write", STORES.values(), ids=STORES)
def test_writer__makes_the_same_store_on_a_disk_and_behind_a_url(memory, inputs, tmp_path, write):
    write(inputs, tmp_path / "a.zarr")
    write(inputs, "memory://a.zarr")
    names = {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert {name.lstrip("/") for name in memory.find("/")} == names
    for name in names:
        content, other = memory.cat_file(f"/{name}"), (tmp_path / name).read_bytes()
        # Zarr consolidates documents in any order
        same = json.loads(content) == json.loads(other) if "json" in name else content == other
        assert same, name
    check_manifest("memory://a.zarr")


def test_model__is_saved_answers_and_reports_behind_urls(memory, tmp_path, undrawn):
    simulate.write_gaussian_mixture("memory://cells.zarr", 2000, 2, random_state=1)
    simulate.write_gaussian_mixture(tmp_path / "cells.zarr", 2000, 2, random_state=1)
    model = bigtensor.GaussianMixture(2, random_state=0)
    model.fit("memory://cells.zarr", checkpoint="memory://checkpoint")
    assert model.save("memory://model.zarr") == "memory://model.zarr"
    loaded = bigtensor.load("memory://model.zarr")
    local = bigtensor.GaussianMixture(2, random_state=0).fit(tmp_path / "cells.zarr")
    np.testing.assert_array_equal(loaded.means_, local.means_)
    assert loaded.write("memory://cells.zarr", "memory://l.zarr") == "memory://l.zarr"
    label = open_whole_group("memory://l.zarr")["label"][:]
    local.write(tmp_path / "cells.zarr", tmp_path / "l.zarr")
    np.testing.assert_array_equal(label, open_whole_group(tmp_path / "l.zarr")["label"][:])
    assert write_report(loaded, "memory://r.html", data="memory://cells.zarr") == "memory://r.html"
    assert memory.cat_file("/r.html").startswith(b"<!DOCTYPE html>")
    write_table(weights(), "memory://t.csv")
    assert memory.cat_file("/t.csv").startswith(b"patient,rows,component_0")


def test_answers__go_into_a_store_behind_a_url(memory):
    simulate.write_gaussian_mixture("memory://cells.zarr", 500, 2, random_state=1)
    before = {name: memory.cat_file(name) for name in memory.find("/")}
    model = bigtensor.GaussianMixture(2, random_state=0).fit("memory://cells.zarr")
    for overwrite in (False, True):
        place = model.write(
            "memory://cells.zarr", "memory://cells.zarr", into="labels", overwrite=overwrite
        )
    assert place == "memory://cells.zarr/labels"
    assert xr.open_zarr("memory://cells.zarr", group="labels")["label"].shape == (500,)
    after = {name: memory.cat_file(name) for name in before}
    assert {name for name in before if before[name] != after[name]} == {"/cells.zarr/zarr.json"}
    with pytest.raises(OutputError, match="exists already"):
        model.write("memory://cells.zarr", "memory://cells.zarr", into="labels")


def test_answers__of_a_run_that_was_given_up_stay_out_of_the_next_one(memory):
    simulate.write_gaussian_mixture("memory://cells.zarr", 500, 2, random_state=1)
    model = bigtensor.GaussianMixture(2, random_state=0).fit("memory://cells.zarr")
    other = "store.elsewhere-0.1.01234567.unfinished"

    def begin_again(event: Any) -> None:
        if event.kind == "pass started":
            zarr.open_group("memory://l.zarr", mode="r+").attrs[UNFINISHED] = other

    with pytest.raises(OutputError, match="begun again"):
        model.write("memory://cells.zarr", "memory://l.zarr", listeners=[begin_again])
    assert document(memory, "/l.zarr")["attributes"][UNFINISHED] == other
    assert not memory.exists("/l.zarr/label/c/0")


def test_answers__do_not_replace_their_rows(memory):
    simulate.write_gaussian_mixture("memory://cells.zarr", 500, 2, random_state=1)
    before = {name: memory.cat_file(name) for name in memory.find("/")}
    model = bigtensor.GaussianMixture(2, random_state=0).fit("memory://cells.zarr")
    with pytest.raises(OutputError, match="into"):
        model.write("memory://cells.zarr/", "memory://cells.zarr", overwrite=True)
    assert {name: memory.cat_file(name) for name in memory.find("/")} == before


def test_timeout_of_fsspec__is_an_error_of_the_output():
    with pytest.raises(OutputError, match="FSTimeoutError"), write_errors("s3://bucket/a.zarr"):
        raise FSTimeoutError


def test_writer__that_has_no_rows_leaves_nothing(memory):
    with (
        pytest.raises(BigtensorError, match="no rows arrived"),
        SampleStoreWriter("memory://a", ["f"]),
    ):
        pass
    assert memory.find("/") == []
