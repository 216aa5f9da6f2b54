"""Names of rows as AnnData files hold them."""

from pathlib import Path

import pytest

pytest.importorskip("anndata", reason="anndata is not installed")

import anndata
import h5py
import numpy as np
import xarray as xr

from bigtensor.report.row_names import row_names


@pytest.mark.parametrize("masked", [False, True])
def test_stored_names__are_read_with_and_without_a_mask(tmp_path: Path, masked: bool) -> None:
    path = tmp_path / "cells.h5ad"
    data = anndata.AnnData(np.ones((4, 2), np.float32))
    data.obs_names = [f"cell {number}" for number in range(4)]
    data.write_h5ad(path)
    with h5py.File(path, "a") as file:
        names = file["obs/_index"]
        if masked == isinstance(names, h5py.Dataset):
            # the layout of the other versions of anndata
            texts = (names if isinstance(names, h5py.Dataset) else names["values"])[:]
            del file["obs/_index"]
            if masked:
                file["obs/_index/values"] = texts
                file["obs/_index/mask"] = np.zeros(len(texts), bool)
            else:
                file["obs/_index"] = texts
    read = row_names(str(path), xr.Dataset(), "sample", [slice(1, 3)])
    assert read.tolist() == ["cell 1", "cell 2"]
