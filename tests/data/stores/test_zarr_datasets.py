"""Stores of Zarr v2: zeros are values, and chosen fill values are missing values."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import bigtensor
from bigtensor.data.opening import open_samples
from bigtensor.data.sources.row_sources import ZarrSource
from bigtensor.data.stores.zarr_datasets import open_dataset

pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")

COUNTS = np.array([[0, 1, 2], [3, 0, -1], [-1, 5, 0], [2, 0, 0]], "i4")


def written_by_zarr(path: Path, zarr_format: int, attrs: Any = None, **arrays: Any) -> str:
    """Write arrays as Zarr does by itself, which gives them the fill value 0."""
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    for name, values in arrays.items():
        dims = ["sample", "feature"][: values.ndim]
        names = {"dimension_names": dims} if zarr_format == 3 else {}
        array = group.create_array(name, data=values, chunks=values.shape, **names)
        array.attrs.update({"_ARRAY_DIMENSIONS": dims} if zarr_format == 2 else {})
        array.attrs.update(attrs or {})
    return str(path)


def written_by_xarray(path: Path, values: np.ndarray, **encoding: Any) -> str:
    """Write values as xarray does, with the marker of missing entries that a user names."""
    data = xr.Dataset({"X": (("sample", "feature"), values)})
    data.to_zarr(path, zarr_format=2, consolidated=True, encoding={"X": encoding})
    return str(path)


def rows(path: str) -> np.ndarray:
    """Return all rows that a fit would read."""
    samples = open_samples(path)
    return np.concatenate([np.array(block.values) for block in samples.blocks([(0, 4)], 4)])


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8", "?"])
def test_zeros__written_by_zarr_are_values(tmp_path: Path, dtype: str) -> None:
    values = abs(COUNTS).astype(dtype)
    path = written_by_zarr(tmp_path / "v2.zarr", 2, X=values)
    (source,) = open_samples(path).sources
    assert isinstance(source, ZarrSource)  # tasks read their rows themselves
    assert source.dtype == values.dtype
    np.testing.assert_array_equal(rows(path), values)


def test_zeros__beside_the_rows_are_values_in_either_format(tmp_path: Path) -> None:
    """Groups with the code 0 disappeared from Zarr v2, and weights of 0 became NaN."""
    n = np.arange(600)
    X = np.random.default_rng(0).normal(size=(len(n), 3)) + 6 * (n % 2)[:, None]
    arrays = {"X": X, "sample_id": (n % 3).astype("i4"), "weight": (n % 5).astype("f8")}
    tables = []
    for version in (2, 3):
        path = written_by_zarr(tmp_path / f"v{version}.zarr", version, **arrays)
        dataset = open_dataset(path)[1]
        for name, values in arrays.items():
            assert dataset[name].dtype == values.dtype
            np.testing.assert_array_equal(dataset[name], values)
        model = bigtensor.GaussianMixture(2, random_state=0).fit(path, scheduler="threads")
        tables.append(model.weights_by(path, "sample_id"))
    assert list(tables[0]["sample_id"].values) == [0, 1, 2]
    np.testing.assert_allclose(tables[0]["weight"], tables[1]["weight"])


@pytest.mark.parametrize(
    "encoding",
    [
        {"dtype": "i4", "_FillValue": -1},
        {"dtype": "i4", "missing_value": -1},
        {"dtype": "f4", "_FillValue": -1.0},
        {"dtype": "i2", "_FillValue": -9, "scale_factor": 0.5},
        # packed numbers: zero is a marker that a user chose
        {"dtype": "i2", "_FillValue": 0, "scale_factor": 0.5, "add_offset": -8.0},
        {},
    ],
)
def test_markers_of_missing_entries__written_by_xarray_count(
    tmp_path: Path, encoding: dict[str, Any]
) -> None:
    values = np.where(COUNTS == -1, np.nan, COUNTS)
    np.testing.assert_array_equal(
        rows(written_by_xarray(tmp_path / "v2.zarr", values, **encoding)), values
    )


def test_zeros__beside_another_marker_are_values(tmp_path: Path) -> None:
    """The attributes name -1; the fill value 0 is the default of Zarr."""
    for name in ("missing_value", "_FillValue"):
        path = written_by_zarr(tmp_path / f"{name}.zarr", 2, {name: -1}, X=COUNTS)
        np.testing.assert_array_equal(rows(path), np.where(COUNTS == -1, np.nan, COUNTS))
    path = written_by_zarr(tmp_path / "zero.zarr", 2, {"_FillValue": 0}, X=COUNTS)
    np.testing.assert_array_equal(rows(path), np.where(COUNTS == 0, np.nan, COUNTS))


def test_integers__written_by_xarray_stay_integers(tmp_path: Path) -> None:
    path = written_by_xarray(tmp_path / "v2.zarr", COUNTS)
    assert open_samples(path).dtype == COUNTS.dtype
    np.testing.assert_array_equal(rows(path), COUNTS)


def test_names__of_the_features_and_rows_are_read(tmp_path: Path) -> None:
    data = xr.Dataset(
        {"X": (("sample", "feature"), COUNTS)}, {"feature": ["a", "b", "c"], "sample": range(4)}
    )
    data.to_zarr(tmp_path / "v2.zarr", zarr_format=2, consolidated=False)
    assert open_samples(tmp_path / "v2.zarr").features == ("a", "b", "c")
    opened = open_dataset(str(tmp_path / "v2.zarr"))[1]
    assert opened.indexes["sample"].tolist() == [0, 1, 2, 3]
    xr.testing.assert_identical(opened.load(), data)
