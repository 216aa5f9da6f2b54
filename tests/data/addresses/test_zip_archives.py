"""Stores in ZIP archives, which fsspec opens: the store is the archive, or a folder in it."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import bigtensor
from bigtensor.data.opening import open_samples
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.errors import StoreReadError

ROWS = 600
VALUES = np.random.default_rng(0).normal(size=(ROWS, 3)) + 6 * (np.arange(ROWS) % 2)[:, None]


def packed(store: Path, folder: str = "", leave_out: str | None = None) -> str:
    """Pack a store into an archive beside it, and return the URL of the store in it."""
    archive = store.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as opened:
        for path in sorted(store.rglob("*")):
            name = path.relative_to(store).as_posix()
            if path.is_file() and name != leave_out:
                opened.write(path, f"{folder}/{name}".lstrip("/"))
    return f"zip://{folder}::{archive}"


def own_store(path: Path) -> Path:
    """Write a store of this package, which compares its files with their manifest."""
    with SampleStoreWriter(path, ["a", "b", "c"]) as writer:
        writer.append(VALUES)
    return path


@pytest.mark.parametrize("folder", ["", "inside/cells.zarr"])
@pytest.mark.quick_cases("inside/cells.zarr")
def test_zip__is_read_by_fits_and_answers(tmp_path: Path, folder: str) -> None:
    """All files of a store at the root of an archive were taken for absent."""
    store = own_store(tmp_path / "cells.zarr")
    address = packed(store, folder)
    model = bigtensor.GaussianMixture(2, random_state=0).fit(address, scheduler="threads")
    model.save(tmp_path / "model.zarr")
    loaded = bigtensor.load(packed(tmp_path / "model.zarr"))
    labels = loaded.predict(address).to_numpy()
    np.testing.assert_array_equal(labels, model.predict(store).to_numpy())
    assert len(np.unique(labels)) == 2


@pytest.mark.parametrize("folder", ["", "inside"])
def test_zip__that_lacks_a_file_is_damaged(tmp_path: Path, folder: str) -> None:
    address = packed(own_store(tmp_path / "cells.zarr"), folder, leave_out="X/c/0/0")
    with pytest.raises(StoreReadError, match=r"1 of .* files of 'X' "):
        open_samples(address)


def test_zip__of_xarray_is_read_without_warnings(tmp_path: Path) -> None:
    data = xr.Dataset({"X": (("sample", "feature"), VALUES)})
    path = tmp_path / "cells.zarr"
    data.to_zarr(path, consolidated=False, encoding={"X": {"chunks": (100, 3)}})
    samples = open_samples(packed(path))
    blocks = [np.array(block.values) for block in samples.blocks([(0, ROWS)], ROWS)]
    np.testing.assert_array_equal(np.concatenate(blocks), VALUES)


def test_zip__whose_store_is_in_a_folder_is_no_store(tmp_path: Path) -> None:
    """Of a name that begins with a slash fsspec lists the root, whose folders never ended."""
    path = tmp_path / "cells.zarr"
    xr.Dataset({"X": (("sample", "feature"), VALUES)}).to_zarr(path, consolidated=False)
    archive = packed(path, "inside").partition("::")[2]
    with pytest.raises(StoreReadError, match="as a Zarr group"):
        open_samples(f"zip://::{archive}")


def test_zip__without_the_marks_of_a_protocol_names_its_url(tmp_path: Path) -> None:
    archive = packed(own_store(tmp_path / "cells.zarr")).partition("::")[2]
    with pytest.raises(StoreReadError, match=f"give zip://::{archive}"):
        open_samples(f"zip::{archive}")


def test_path__of_an_archive_is_refused_with_its_url(tmp_path: Path) -> None:
    address = packed(own_store(tmp_path / "cells.zarr"))
    with pytest.raises(StoreReadError, match=r"'zip://::.*cells\.zip'"):
        open_samples(tmp_path / "cells.zip")
    assert open_samples(address).rows == ROWS
