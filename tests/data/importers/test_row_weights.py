"""Weights of rows from a column of imported tables."""

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor import DiscreteMixture, simulate
from bigtensor.data.importers.files import import_files
from bigtensor.errors import DataError, ParameterError

WEIGHTS = [0.5, 2, 0]


def imported(path: Path, frame: pd.DataFrame, **options: Any) -> xr.Dataset:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        obs = frame.set_index(frame.index.astype(str))
        anndata.AnnData(np.eye(len(frame), dtype="f4"), obs=obs).write_h5ad(path)
    import_files(path, path.with_suffix(".zarr"), weight="w", **options)
    return xr.open_zarr(path.with_suffix(".zarr"), chunks=None)


@pytest.mark.parametrize("codes", [False, True])
@pytest.mark.parametrize("ending", ["csv", "parquet", "h5ad"])
@pytest.mark.quick_cases("csv-True", "parquet-False", "h5ad-False")
def test_weights__are_a_variable_and_no_feature(tmp_path: Path, ending: str, codes: bool) -> None:
    answer = ["yes", "no", "yes"] if codes else [1.0, 2.0, 3.0]
    frame = pd.DataFrame({"answer": answer, "w": WEIGHTS})
    store = imported(tmp_path / f"t.{ending}", frame, codes=codes)
    np.testing.assert_array_equal(store["weight"], WEIGHTS)
    assert store["weight"].dtype == np.float64
    assert "w" not in store["feature"].to_numpy()


def test_bad_weights__are_refused_with_their_row(tmp_path: Path) -> None:
    for bad in (np.nan, -1.0, np.inf):
        frame = pd.DataFrame({"answer": [1, 2, 3], "w": [1.0, bad, 1.0]})
        with pytest.raises(DataError, match=r"row 1 \(from 0\) .*weight"):
            imported(tmp_path / "t.csv", frame)
    frame["w"] = ["1", "2", "x"]
    with pytest.raises(DataError, match=r"row 2 \(from 0\) holds 'x'"):
        imported(tmp_path / "t.csv", frame)
    (tmp_path / "t.fcs").write_bytes(b"FCS3.1")
    with pytest.raises(ParameterError, match=r"columns for weight.*fcs"):
        import_files(tmp_path / "t.fcs", tmp_path / "f.zarr", weight="w")


def test_a_fit_of_the_store__is_that_with_the_weights_in_memory(tmp_path: Path) -> None:
    answers = simulate.discrete_mixture(3_000, 2, n_categories=4, random_state=0)
    names = answers["X"].to_pandas().astype(str)
    weight = np.random.default_rng(0).gamma(2, 0.5, len(names)).round(3)
    store = imported(tmp_path / "t.csv", names.assign(w=weight), codes=True)
    model = DiscreteMixture(2, weights="relative", random_state=0)
    stored = model.fit(tmp_path / "t.zarr").weights_
    in_memory = model.fit(store[["X"]], sample_weight=weight).weights_
    np.testing.assert_allclose(in_memory, stored, rtol=1e-6)
    assert abs(model.fit(store[["X"]]).weights_ - stored).max() > 1e-3
