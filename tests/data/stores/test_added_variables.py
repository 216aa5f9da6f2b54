"""A variable is added to a store without touching anything else in it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bigtensor.data.importers.column_files import read_row_values
from bigtensor.data.opening import open_samples
from bigtensor.data.stores import added_variables
from bigtensor.data.stores.added_variables import add_row_variable
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.stores.manifest import check_manifest
from bigtensor.errors import BigtensorError, DataError, OutputError, ParameterError

ROWS = 100
GATE = np.arange(ROWS) % 4


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    path = tmp_path / "cells.zarr"
    with SampleStoreWriter(
        path, ["CD3", "CD4"], row_variables={"weight": "float64"}, attrs={"software": "test"}
    ) as store:
        store.append(np.arange(2 * ROWS).reshape(ROWS, 2), weight=1.0)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder but of its metadata."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "zarr.json"
    }


def test_added_variable__is_one_of_the_store(cells: Path) -> None:
    before = contents(cells)
    add_row_variable(cells, "gate", GATE, attrs={"categories": ["a", "b", "c", "d"]})
    check_manifest(cells)
    with xr.open_zarr(cells) as store:
        np.testing.assert_array_equal(store["gate"], GATE)
        assert store["gate"].dims == ("sample",)
        assert store.attrs["software"] == "test"
    after = contents(cells)
    assert {name: after[name] for name in before} == before
    assert open_samples(cells, where="gate == 'b'").rows == ROWS // 4
    assert [path.name for path in cells.parent.iterdir()] == ["cells.zarr"]


def test_variable__is_replaced_only_on_request(cells: Path) -> None:
    add_row_variable(cells, "gate", GATE)
    with pytest.raises(OutputError, match="overwrite"):
        add_row_variable(cells, "gate", GATE + 1)
    add_row_variable(cells, "gate", (GATE + 1).astype("float32"), overwrite=True)
    check_manifest(cells)
    with xr.open_zarr(cells) as store:
        np.testing.assert_array_equal(store["gate"], GATE + 1)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("gate", GATE[:-1], DataError),
        ("gate", np.array(["a"] * ROWS), DataError),
        ("X", GATE, OutputError),
        ("feature", GATE, OutputError),
        ("CD3", GATE, ParameterError),
        ("a/b", GATE, ParameterError),
        ("..", GATE, ParameterError),
        ("bigtensor_manifest", GATE, OutputError),
    ],
)
def test_wrong_variable__leaves_the_store_alone(
    cells: Path, name: str, values: Any, kind: type[Exception]
) -> None:
    before = {path: path.read_bytes() for path in cells.rglob("*") if path.is_file()}
    with pytest.raises(kind):
        add_row_variable(cells, name, values, overwrite=True)
    assert {path: path.read_bytes() for path in cells.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("step", ["write", "list"])
def test_failure__leaves_the_store_as_it_was(
    cells: Path, replaced: bool, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if replaced:
        add_row_variable(cells, "gate", GATE)
    calls: list[int] = []
    whole = added_variables._list_arrays

    def fail(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        whole(*arguments)

    monkeypatch.setattr(added_variables, "_write" if step == "write" else "_list_arrays", fail)
    with pytest.raises(OutputError, match="No space"):
        add_row_variable(cells, "gate", GATE + 1, overwrite=True)
    check_manifest(cells)
    with xr.open_zarr(cells) as store:
        assert ("gate" in store) == replaced
        if replaced:
            np.testing.assert_array_equal(store["gate"], GATE)
    assert [path.name for path in cells.parent.iterdir()] == ["cells.zarr"]


def test_killed_run__leaves_a_store_that_can_be_read(
    cells: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_row_variable(cells, "gate", GATE, attrs={"categories": ["a", "b", "c", "d"]})
    rename = Path.rename
    with monkeypatch.context() as patched:

        def killed(path: Path, target: Any) -> Any:
            # the earlier variable is away, and nothing after that has an effect
            patched.setattr(Path, "rename", lambda *_: None)
            patched.setattr(added_variables.shutil, "rmtree", lambda *_, **__: None)
            patched.setattr(added_variables, "_list_arrays", lambda _: None)
            rename(path, target)
            raise KeyboardInterrupt

        patched.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            add_row_variable(cells, "gate", GATE + 1, overwrite=True)
    check_manifest(cells)
    np.testing.assert_array_equal(open_samples(cells).sources[0].read(0, 1).values, [[0, 1]])
    add_row_variable(cells, "gate", GATE + 1, overwrite=True)
    with xr.open_zarr(cells) as store:
        np.testing.assert_array_equal(store["gate"], GATE + 1)
        assert not store["gate"].attrs


def test_values__are_read_from_tables_arrays_and_labels(tmp_path: Path) -> None:
    names = np.array(["in", "out"])[GATE % 2]
    (tmp_path / "one.csv").write_text("what\n" + "\n".join(names))
    rows = "\n".join(f"{name},{value}" for name, value in zip(names, GATE, strict=True))
    (tmp_path / "two.csv").write_text("side,gate\n" + rows)
    np.save(tmp_path / "gate.npy", GATE > 1)
    xr.Dataset({"label": ("sample", GATE, {"categories": ["a", "b", "c", "d"]})}).to_zarr(
        tmp_path / "labels.zarr", zarr_format=3, consolidated=False
    )
    coded = read_row_values(tmp_path / "one.csv", "gate")
    assert coded.attrs["categories"] == ["in", "out"]
    np.testing.assert_array_equal(coded.values[0:ROWS], GATE % 2)
    numbers = read_row_values(tmp_path / "two.csv", "gate")
    np.testing.assert_array_equal(numbers.values[0:ROWS], GATE)
    flags = read_row_values(tmp_path / "gate.npy", "gate")
    np.testing.assert_array_equal(flags.values[0:ROWS], GATE > 1)
    labels = read_row_values(tmp_path / "labels.zarr", "gate")
    np.testing.assert_array_equal(labels.values[0:ROWS], GATE)
    assert labels.attrs["categories"] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("file", ["absent.csv", "two.csv", "objects.npy"])
def test_files_without_the_values__are_refused(tmp_path: Path, file: str) -> None:
    (tmp_path / "two.csv").write_text("a,b\n1,2\n")
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(BigtensorError, match=file):
        read_row_values(tmp_path / file, "gate")
