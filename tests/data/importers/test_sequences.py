"""The column of sequences of imported files."""

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor.data.importers import job
from bigtensor.data.importers.files import import_files
from bigtensor.errors import DataError, ParameterError

LENGTHS = [30, 1, 69]


def table(ids: list[object]) -> pd.DataFrame:
    rows = sum(LENGTHS)
    column = np.repeat(np.array(ids, object), LENGTHS)
    return pd.DataFrame({"id": column, "x": np.arange(rows) / 2})


def imported(tmp_path: Path, ids: list[object], kind: str, **options: object) -> xr.DataArray:
    path = tmp_path / f"t.{kind}"
    frame = table(ids)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.infer_objects().to_parquet(path, index=False)
    else:
        obs = frame[["id"]].infer_objects().set_index(frame.index.astype(str))
        anndata.AnnData(frame[["x"]].to_numpy(), obs=obs).write_h5ad(path)
    import_files(path, tmp_path / "t.zarr", sequence="id", **options)
    return xr.open_zarr(tmp_path / "t.zarr", chunks=None)["sequence"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "h5ad"])
def test_integers_of_one_file__stay_as_they_are(tmp_path: Path, kind: str) -> None:
    found = imported(tmp_path, [40, -3, 7_000_000_000], kind)
    np.testing.assert_array_equal(found, np.repeat([40, -3, 7_000_000_000], LENGTHS))
    assert found.dtype == np.int64
    assert "categories" not in found.attrs


@pytest.mark.parametrize("kind", ["csv", "parquet", "h5ad"])
def test_names__are_codes_in_the_order_in_which_they_appear(tmp_path: Path, kind: str) -> None:
    found = imported(tmp_path, ["zoe", "ann", "007"], kind)
    np.testing.assert_array_equal(found, np.repeat([0, 1, 2], LENGTHS))
    assert found.attrs["categories"] == ["zoe", "ann", "007"]


def test_blocks__do_not_change_the_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "chunk_rows", lambda *_: 17)
    found = imported(tmp_path, ["b", "a", "b"], "csv")
    np.testing.assert_array_equal(found, np.repeat([0, 1, 0], LENGTHS))


def test_equal_ids_of_two_files__do_not_join(tmp_path: Path) -> None:
    for name in ("one", "two"):
        table([1, 2, 1]).to_csv(tmp_path / f"{name}.csv", index=False)
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    import_files(paths, tmp_path / "both.zarr", sequence="id")
    found = xr.open_zarr(tmp_path / "both.zarr", chunks=None)["sequence"]
    np.testing.assert_array_equal(found, np.repeat([0, 1, 0, 2, 3, 2], LENGTHS * 2))
    assert found.attrs["categories"] == ["1", "2", "1", "2"]


def test_one_column__may_be_of_samples_and_of_sequences(tmp_path: Path) -> None:
    table(["a", "b", "c"]).to_parquet(tmp_path / "t.parquet", index=False)
    options = {"sequence": "id", "sample_id": "id"}
    import_files(tmp_path / "t.parquet", tmp_path / "t.zarr", **options)
    found = xr.open_zarr(tmp_path / "t.zarr", chunks=None)
    np.testing.assert_array_equal(found["sequence"], found["sample_id"])


def test_bad_columns__are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"row 30 \(from 0\) has no id"):
        imported(tmp_path, ["a", None, "b"], "csv")
    monkeypatch.setattr(job, "chunk_rows", lambda *_: 17)
    with pytest.raises(DataError, match="holds 'a' after integers"):
        imported(tmp_path, [1, "a", 2], "csv")
    with pytest.raises(DataError, match="no column 'ids' to use as sequence"):
        import_files(tmp_path / "t.csv", tmp_path / "t.zarr", sequence="ids")
    path = tmp_path / "x.fcs"
    path.write_bytes(b"FCS3.1")
    with pytest.raises(ParameterError, match=r"columns for sequence.*fcs"):
        import_files(path, tmp_path / "t.zarr", sequence="id")
