"""Names of features are equal, whatever the data come in."""

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor.data.importers.files import import_files
from bigtensor.data.opening import open_samples

TABLE = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["CD3 ", " CD4"])


def written(ending: str, folder: Path) -> Path:
    """Write the table in the format of an ending."""
    path = folder / f"cells.{ending}"
    if ending == "csv":
        TABLE.to_csv(path, index=False)
    elif ending == "parquet":
        TABLE.to_parquet(path)
    else:
        anndata.AnnData(TABLE.to_numpy(), var=pd.DataFrame(index=TABLE.columns)).write_h5ad(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "h5ad"])
def test_spaces_around_names__are_no_part_of_them_in_files(tmp_path: Path, ending: str) -> None:
    summary = import_files(written(ending, tmp_path), tmp_path / "cells.zarr")
    assert list(summary.features) == ["CD3", "CD4"]


@pytest.mark.parametrize("kind", ["table", "array", "anndata"])
def test_spaces_around_names__are_no_part_of_them_in_memory(kind: str) -> None:
    data = {
        "table": TABLE,
        "array": xr.DataArray(TABLE, dims=("sample", "feature")),
        "anndata": anndata.AnnData(TABLE.to_numpy(), var=pd.DataFrame(index=TABLE.columns)),
    }[kind]
    assert open_samples(data).views.feature_names == ("CD3", "CD4")
    views = open_samples(data, views={"t": [" CD4", "CD3"]}).views
    assert views.as_mapping() == {"t": ["CD4", "CD3"]}
