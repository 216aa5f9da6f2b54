"""The table of features inside an xarray object: remedies of errors, and names of features."""

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr

from bigtensor import GaussianMixture
from bigtensor.data.opening import open_samples
from bigtensor.errors import LayoutError

STACK = r"\.stack\(.*(?= in xarray)"
"""The expression of a remedy, which begins with a stack."""


def grid(days: int = 200) -> tuple[xr.DataArray, np.ndarray]:
    """Return maps of two regimes by time, latitude and longitude, and the regimes."""
    rng = np.random.default_rng(0)
    regime = rng.integers(0, 2, days)
    lat = np.linspace(-50, 50, 6)
    shape = np.where(regime, 1.5, -1.5)[:, None, None] * np.sign(lat)[:, None]
    maps = xr.DataArray(
        shape + rng.normal(size=(days, 6, 5)),
        {"time": np.arange(days), "lat": lat, "lon": np.arange(5.0)},
        ("time", "lat", "lon"),
    )
    return maps, regime


def by_remedy(data: xr.DataArray | xr.Dataset, pattern: str, **options: Any) -> xr.DataArray:
    """Return data after the first expression in the error that matches a pattern."""
    with pytest.raises(LayoutError) as caught:
        open_samples(data, **options)
    expression = re.search(pattern, str(caught.value))
    assert expression, str(caught.value)
    text = expression.group()
    table: xr.DataArray = eval(
        text if text.startswith("data") else f"data{text}", {"data": data, "dataset": data}
    )
    return table


def test_remedy_for_maps__keeps_the_names_of_places() -> None:
    """Maps of another file may have their latitudes from north to south."""
    maps, regime = grid()
    table = by_remedy(maps, STACK, sample_dim="time")
    model = GaussianMixture(2, sample_dim="time", random_state=0).fit(table)
    labels = model.predict(table)
    reversed_maps = maps.isel(lat=slice(None, None, -1))
    other = by_remedy(reversed_maps, STACK, sample_dim="time")
    np.testing.assert_array_equal(model.predict(other), labels)
    assert max(np.mean(labels == regime), np.mean(labels != regime)) > 0.99
    assert "(-50.0, 0.0)" in model.feature_names_in_


def test_remedy_for_maps__stacks_beside_a_dimension_of_the_name_feature() -> None:
    maps, _ = grid(5)
    table = by_remedy(maps.rename(lon="feature"), STACK, sample_dim="time")
    assert open_samples(table, sample_dim="time").rows == 5


def ocean() -> xr.Dataset:
    """Return two variables on a grid, with dates."""
    maps, _ = grid(10)
    dates = np.datetime64("2000-01-01", "ns") + np.arange(10) * np.timedelta64(1, "D")
    return xr.Dataset({"sst": maps, "sss": 2 * maps}).assign_coords(time=dates)


MASK = xr.DataArray(np.ones((6, 5)), dims=("lat", "lon"))


@pytest.mark.parametrize(
    "data",
    [
        ocean(),
        ocean().assign(mask=MASK, month=("time", np.arange(10.0))),
        ocean().to_dataarray("band").transpose("time", "lat", "lon", "band"),
        ocean().to_dataarray("feature").assign_coords(feature=[0, 1]),
        ocean().rename(sst="X").to_dataarray(),
    ],
)
def test_remedy_for_grids__makes_features_of_the_variables(data: xr.DataArray | xr.Dataset) -> None:
    table = by_remedy(data, r"(dataset\S* ?\S*)?(\.to_dataarray\S*)?\.stack\(.*(?= in xarray)")
    samples = open_samples(table)
    assert (samples.rows, len(samples.features)) == (300, 2)
    index = table.indexes["sample"]
    assert index.names == ["lat", "lon", "time"]  # the last one runs along a sequence
    assert table.unstack("sample").sizes["lat"] == 6


def test_remedy_for_grids__whose_samples_are_named_keeps_all_variables() -> None:
    table = by_remedy(ocean(), r"\.to_dataarray.*(?= in xarray)", sample_dim="time")
    assert len(open_samples(table, sample_dim="time").features) == 60


@pytest.mark.parametrize("data", [ocean()["sst"], ocean()[["sst"]], grid(10)[0].drop_vars("time")])
def test_remedy_for_one_grid__names_both_ways_to_a_table(
    data: xr.DataArray | xr.Dataset,
) -> None:
    table = by_remedy(data, r"\.stack\(feature=.*(?= in xarray)")
    assert open_samples(table, sample_dim="time").rows == 10
    table = by_remedy(data, r"\.expand_dims.*(?=$)")
    samples = open_samples(table)
    assert (samples.rows, len(samples.features)) == (300, 1)


def test_remedy_for_tables_of_other_names__is_the_name_of_the_samples() -> None:
    data = ocean().stack(place=("lat", "lon"))
    for other in (data["sst"], data[["sst"]], data.rename(sst="X")):
        with pytest.raises(LayoutError, match="sample_dim"):
            open_samples(other)


@pytest.mark.parametrize("dtypes", [["float32"], ["float64"], ["float32", "float64"]])
def test_names_of_places__do_not_depend_on_the_precision_of_coordinates(dtypes: list[str]) -> None:
    maps, _ = grid(5)
    lat = np.linspace(10.1, 50.3, 6).round(2)
    for dtype in dtypes:
        lat = lat.astype(dtype)
    maps = maps.assign_coords(lat=lat)
    table = maps.stack(place=("lat", "lon"))
    names = open_samples(table, sample_dim="time").features
    assert names[:2] == ("(10.1, 0.0)", "(10.1, 1.0)")
    assert names[-1] == "(50.3, 4.0)"
    assert len(set(names)) == 30
    if dtypes == ["float64"]:
        assert names == tuple(str(place) for place in table["place"].to_numpy())


def test_names_of_places__stay_different_for_neighbours_of_32_and_64_bits() -> None:
    maps, _ = grid(5)
    lat = [float(np.float32(10.1)), 10.1, 1e300, 0.1, 0.5, np.inf]
    table = maps.assign_coords(lat=lat).stack(place=("lat", "lon"))
    assert len(set(open_samples(table, sample_dim="time").features)) == 30


def test_names_of_places__keep_levels_that_are_no_numbers() -> None:
    table = ocean().to_dataarray("variable").stack(feature=["variable", "lat", "lon"])
    names = open_samples(table, sample_dim="time").features
    assert names == tuple(str(place) for place in table["feature"].to_numpy())
    months = ocean()["sst"].transpose("lat", "lon", "time").stack(feature=["lon", "time"])
    names = open_samples(months, sample_dim="lat").features
    assert names == tuple(str(place) for place in months["feature"].to_numpy())
