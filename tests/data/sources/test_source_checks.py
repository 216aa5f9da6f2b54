"""Checks of data sets before their rows are read."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor.data.importers.files import import_files
from bigtensor.data.opening import open_samples
from bigtensor.errors import FileFormatWarning

VALUES = np.random.default_rng(0).normal(280, 5, size=(40, 3)).round(2)
PACKED = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -32767}


def messages(data: object) -> list[str]:
    """Return the warnings of opening data that concern what is decoded."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_samples(data)
    return [str(one.message) for one in caught if one.category is FileFormatWarning]


@pytest.mark.parametrize("chunks", [None, {}])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_packed_values__are_warned_of_until_they_are_decoded(tmp_path, zarr_format, chunks):
    path = tmp_path / "packed.zarr"
    data = xr.Dataset({"X": (("sample", "feature"), VALUES)})
    options = {"zarr_format": zarr_format, "consolidated": False}
    data.to_zarr(path, encoding={"X": PACKED}, **options)
    undecoded = xr.open_zarr(path, mask_and_scale=False, chunks=chunks, consolidated=False)
    for other in (undecoded, undecoded["X"]):
        (message,) = messages(other)
        assert "scale_factor=0.01, add_offset=280.0, _FillValue=-32767" in message
        (remedy,) = re.findall(r"xarray\.decode_cf\(.*?\)(?=\.? )", message)
        table = eval(remedy, {"xarray": xr, "data": other})
        assert not messages(table)
        np.testing.assert_allclose(table["X"], VALUES, atol=0.006)
    assert len(messages([undecoded["X"], undecoded["X"]])) == 1
    decoded = xr.open_zarr(path, chunks=chunks, consolidated=False)
    for other in (path, decoded, decoded["X"], xr.decode_cf(undecoded), undecoded.drop_attrs()):
        assert not messages(other)


@pytest.mark.parametrize(
    ("attrs", "dtype", "count"),
    [
        ({"_FillValue": -999.0}, "f8", 1),
        ({"missing_value": [-999.0, -888.0]}, "f4", 1),
        ({"missing_value": 0.0}, "f4", 1),
        ({"_FillValue": np.int16(-32767)}, "i2", 1),
        ({"_FillValue": np.nan, "missing_value": np.float32(np.nan)}, "f4", 0),
        ({"_FillValue": -1}, "i4", 0),  # the code of a missing entry
        ({"missing_value": -1}, "i4", 0),
        ({"missing_value": -1}, "u4", 1),
        ({"missing_value": -1.0}, "f4", 1),
        ({"scale_factor": 1.0, "add_offset": 0.0}, "f4", 0),  # as rioxarray keeps them
        ({"scale_factor": np.array([1]), "add_offset": 273.15}, "f4", 1),
        ({"_FillValue": 0.0}, "f8", 0),  # the default of Zarr v2
        ({"_FillValue": "none", "units": "K"}, "f8", 0),
    ],
)
def test_markers_of_missing_values__are_warned_of_by_their_attributes(attrs, dtype, count):
    array = xr.DataArray(VALUES.astype(dtype), dims=("sample", "feature"), attrs=attrs)
    assert len(messages(array)) == count


def test_undecoded_weights__are_warned_of():
    weight = ("sample", np.ones(40), {"scale_factor": 0.5})
    data = xr.Dataset({"X": (("sample", "feature"), VALUES), "weight": weight})
    assert len(messages(data)) == 1


def test_stores_of_the_package__are_not_warned_of(tmp_path):
    table = pd.DataFrame({"colour": ["red", "blue", None, "red"], "size": [1, 2, 3, 4]})
    table.to_csv(tmp_path / "cars.csv", index=False)
    table[["size"]].to_csv(tmp_path / "sizes.csv", index=False)
    for name, codes in (("cars", True), ("sizes", False)):
        path = tmp_path / f"{name}.zarr"
        import_files(tmp_path / f"{name}.csv", path, codes=codes)
        for decoded in (True, False):
            data = xr.open_zarr(path, mask_and_scale=decoded)
            assert not messages(data)
            assert not messages(data["X"])
