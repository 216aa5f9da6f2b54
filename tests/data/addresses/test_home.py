"""Paths that begin with ``~`` are in the folder of the user, to read and to write."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bigtensor import GaussianMixture
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.data.importers.files import import_files
from bigtensor.errors import ParameterError
from bigtensor.models.contract.model_files import load_model

ROWS = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 9]], 30, axis=0)


def test_data_models_and_answers__may_be_in_the_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    pd.DataFrame(ROWS, columns=["a", "b"]).to_csv(tmp_path / "cells.csv", index=False)
    import_files("~/cells.csv", "~/cells.zarr")
    GaussianMixture(2, random_state=0).fit("~/cells.zarr").save("~/model.zarr")
    load_model("~/model.zarr").write("~/cells.zarr", Path("~/labels.zarr"), outputs=("label",))
    names = {"cells.csv", "cells.zarr", "model.zarr", "labels.zarr"}
    assert names <= {entry.name for entry in tmp_path.iterdir()}


def test_files_to_import__are_no_urls(tmp_path: Path) -> None:
    for importer in (import_files, import_counts):
        with pytest.raises(ParameterError, match=r"https://host/a\.csv is a URL; copy"):
            importer("https://host/a.csv", tmp_path / "out.zarr")  # type: ignore[operator]
    path = tmp_path / "a b%20#.csv"
    pd.DataFrame(ROWS, columns=["a", "b"]).to_csv(path, index=False)
    assert import_files(f"file://{path}", tmp_path / "out.zarr").rows == 60
