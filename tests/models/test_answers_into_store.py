"""Answers in a group of the store that holds the rows: whole or not at all, the data untouched."""

import errno
import hashlib
import shutil
from pathlib import Path

import anndata
import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor import KernelMixture, simulate
from bigtensor.data.stores import consolidation
from bigtensor.data.stores.manifest import check_manifest
from bigtensor.errors import DataError, OutputError, ParameterError, StoreReadError

ROWS = 3000


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a store of rows that stays as it is, and a model of it."""
    path = tmp_path_factory.mktemp("rows") / "cells.zarr"
    simulate.write_cytometry(path, ROWS, 3, random_state=2)
    return path, KernelMixture(3, init="kmeans", random_state=0).fit(path)


@pytest.fixture
def cells(fitted, tmp_path) -> Path:
    return Path(shutil.copytree(fitted[0], tmp_path / "cells.zarr"))


@pytest.fixture
def model(fitted) -> KernelMixture:
    return fitted[1]


def contents(path: Path) -> dict[str, str]:
    """Return the digest of every file below a folder."""
    files = (file for file in path.rglob("*") if file.is_file())
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_answers__lie_in_a_group_and_the_data_are_untouched(model, cells):
    before = contents(cells.parent)
    found = model.write(cells, cells, into="answers", outputs=("label", "probability"))
    assert found == cells / "answers"
    after = contents(cells.parent)
    # only the list of what the store holds has become longer
    assert {name for name in before if before[name] != after.get(name)} == {
        str(cells / "zarr.json")
    }
    assert all(str(cells / "answers") in name for name in after.keys() - before.keys())
    expected = model.predict(cells).to_numpy()
    with xr.open_zarr(cells, group="answers") as answers:
        np.testing.assert_array_equal(answers["label"], expected)
        assert answers["probability"].shape == (ROWS, 3)
    with xr.open_datatree(cells, engine="zarr") as tree:
        np.testing.assert_array_equal(tree["answers/label"], expected)
    for path in (cells, found):
        check_manifest(path)
    assert model.predict(cells).shape == (ROWS,)


def test_answers__that_are_lost_or_damaged_are_found(model, cells):
    found = model.write(cells, cells, into="answers")
    (chunk,) = (found / "label" / "c").iterdir()
    chunk.unlink()
    with pytest.raises(StoreReadError, match="answers is damaged"):
        check_manifest(found)
    check_manifest(cells)


def test_answers__are_replaced_on_request_only(model, cells):
    model.write(cells, cells, into="answers")
    before = contents(cells.parent)
    with pytest.raises(OutputError, match=r"exists already.*overwrite=True"):
        model.write(cells, cells, into="answers")
    assert contents(cells.parent) == before
    model.write(cells, cells, into="answers", outputs=("log_density",), overwrite=True)
    model.write(cells, cells, into="second")
    with xr.open_zarr(cells, group="answers") as answers:
        assert list(answers) == ["log_density"]
    assert [path.name for path in cells.parent.iterdir()] == ["cells.zarr"]
    check_manifest(cells)


class Stopped(BaseException):
    """Stands for Ctrl-C."""


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("stage", ["reading", "disk full in the pass", "moving", "listing"])
@pytest.mark.quick_cases(
    "reading-False", "disk full in the pass-True", "moving-False", "listing-False"
)
def test_interruption__leaves_the_store_as_it_was(model, cells, monkeypatch, stage, again):
    if again:
        model.write(cells, cells, into="answers")
    before = contents(cells.parent)
    listeners = ()

    def stop(*_, **__):
        raise Stopped

    def fill(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    if stage == "reading":
        listeners = (stop,)
    elif stage == "disk full in the pass":
        monkeypatch.setattr("bigtensor.engine.answers_to_store.seal", fill)
    elif stage == "moving":
        rename = Path.rename

        def fail(self, target):
            moved = self.name.endswith(".unfinished") and ".replaced." not in self.name
            return stop() if moved else rename(self, target)

        monkeypatch.setattr(Path, "rename", fail)
    else:
        consolidate, calls = zarr.consolidate_metadata, iter([fill])
        monkeypatch.setattr(
            consolidation.zarr,
            "consolidate_metadata",
            lambda *args, **options: next(calls, consolidate)(*args, **options),
        )
        # the answers have been sealed by then
        monkeypatch.setattr("bigtensor.engine.answers_to_store.seal", lambda _: None)
    with pytest.raises((Stopped, OutputError)):
        model.write(cells, cells, into="answers", overwrite=again, listeners=listeners)
    monkeypatch.undo()
    assert contents(cells.parent) == before
    check_manifest(cells)
    model.write(cells, cells, into="answers", overwrite=again)


@pytest.mark.parametrize("name", ["X", "label", "bigtensor_manifest"])
def test_data__are_never_replaced(model, cells, name):
    before = contents(cells.parent)
    with pytest.raises(OutputError, match=f"holds '{name}', which are no answers"):
        model.write(cells, cells, into=name, overwrite=True)
    assert contents(cells.parent) == before


@pytest.mark.parametrize("name", ["", "../other", "a/b", ".hidden", "zarr.json", "1", "a b"])
def test_name__of_a_group_is_checked(model, cells, name):
    with pytest.raises(ParameterError, match="is no name of a group"):
        model.write(cells, cells, into=name)


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
def test_store__that_cannot_take_answers_is_named(model, cells, tmp_path):
    rows = xr.open_zarr(cells).drop_encoding()
    other = tmp_path / "other.zarr"
    rows.isel(sample=slice(0, 10)).to_zarr(other, consolidated=False)
    with pytest.raises(DataError, match="has 10 rows and X has 3,000"):
        model.write(cells, other, into="answers")
    anndata.AnnData(rows["X"].to_numpy()).write_zarr(tmp_path / "a.zarr")
    with pytest.raises(OutputError, match="is AnnData, which has places of its own"):
        model.write(cells, tmp_path / "a.zarr", into="answers")
    rows[["X"]].to_zarr(tmp_path / "v2.zarr", zarr_format=2)
    with pytest.raises(OutputError, match="is of Zarr v2, which has no checksums"):
        model.write(cells, tmp_path / "v2.zarr", into="answers")


def test_store__of_others_without_consolidated_metadata_takes_answers(model, cells, tmp_path):
    other = tmp_path / "other.zarr"
    rows = xr.open_zarr(cells).drop_encoding()[["X", "label"]].load()
    rows.to_zarr(other, consolidated=False)
    before = contents(other)
    model.write(other, other, into="answers")
    after = contents(other)
    assert {name: after[name] for name in before} == before
    with xr.open_zarr(other, group="answers", consolidated=False) as answers:
        np.testing.assert_array_equal(answers["label"], model.predict(other))


def test_damaged_store__takes_no_answers(model, cells):
    rows = xr.open_zarr(cells).load()
    next((cells / "X" / "c").rglob("*0")).joinpath("0").unlink()
    before = contents(cells)
    with pytest.raises(StoreReadError, match="is damaged"):
        model.write(rows, cells, into="answers")
    assert contents(cells) == before


def test_answers__never_replace_the_rows(model, cells, tmp_path):
    before = contents(cells.parent)
    (tmp_path / "link.zarr").symlink_to(cells)
    for target in (cells, f"file://{cells}", tmp_path / "link.zarr", cells.parent):
        with pytest.raises(OutputError):
            model.write(cells, target, overwrite=True)
    (tmp_path / "link.zarr").unlink()
    assert contents(cells.parent) == before
