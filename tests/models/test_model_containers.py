"""What goes in comes out: xarray, NumPy, data frames, Dask, paths, and several sources."""

import json

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from bigtensor import KernelMixture
from bigtensor.errors import DataError, FileFormatWarning
from tests.models.kernel_mixture.parameters import mixture_parameters


@pytest.fixture(scope="module")
def cells(data) -> xr.Dataset:
    """The data with another sample dimension, coordinates and attributes."""
    cells = data[["X"]].rename(sample="cell", feature="marker").assign_attrs(instrument="A1")
    cells["X"].attrs["scale"] = "arcsinh"
    names = xr.DataArray(
        [f"c{index}" for index in range(cells.sizes["cell"])], dims="cell", attrs={"source": "f"}
    )
    return cells.assign_coords(cell=names, batch=("cell", np.arange(4000) % 3), run=5)


@pytest.fixture(scope="module")
def cell_model(cells, small) -> KernelMixture:
    return KernelMixture(3, sample_dim="cell", **small).fit(cells)


@pytest.fixture(scope="module")
def values(data) -> np.ndarray:
    return data["X"].to_numpy()


def write_store(data: xr.Dataset, path) -> str:
    # Zarr has no specification of strings of fixed length
    names = data["feature"].astype(object)
    data[["X"]].assign_coords(feature=names).to_zarr(path, zarr_format=3, consolidated=False)
    return str(path)


@pytest.fixture(scope="module")
def store(data, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("stores") / "cells.zarr"
    return write_store(data.chunk(sample=1500), path)


def test_dataset__answers_have_the_coords_of_the_samples(cells, cell_model):
    probability = cell_model.predict_proba(cells)
    assert probability.dims == ("cell", "component")
    assert probability.name == "probability"
    assert set(probability.coords) == {"cell", "batch", "run"}
    assert probability.coords["cell"].attrs == {"source": "f"}
    assert_array_equal(probability["batch"], cells["batch"])
    assert "instrument" not in probability.attrs
    assert probability.attrs["software"] == "bigtensor"
    parameters = json.loads(probability.attrs["parameters"])
    assert parameters["n_components"] == 3
    assert parameters["views"] is None
    assert probability.dtype == np.float32


def test_data_array__answers_have_the_dims_of_the_samples(cells, cell_model):
    label = cell_model.predict(cells["X"])
    scores = cell_model.score_samples(cells["X"])
    assert label.dims == scores.dims == ("cell",)
    assert label.dtype == np.int32
    assert scores.dtype == np.float64
    assert "scale" not in label.attrs
    assert_array_equal(label, cell_model.predict(cells))


def test_transposed_data_array__gives_the_same_answers(cells, cell_model):
    assert_array_equal(cell_model.predict(cells["X"].T), cell_model.predict(cells["X"]))


def test_coords__of_the_name_of_an_output_dimension_are_left_out(cells, cell_model):
    both = cells.assign_coords(component=("cell", np.arange(4000)))
    assert "component" in cell_model.predict(both).coords
    first = cell_model.predict_proba(both).sel(component=0)
    assert_array_equal(first, cell_model.predict_proba(cells)[:, 0])


def test_answers__of_packed_data_keep_their_numbers_in_a_file(cells, cell_model, tmp_path):
    # as xarray opens packed integers with mask_and_scale=False
    packed = cells["X"].assign_attrs(scale_factor=0.01, add_offset=273.15)
    with pytest.warns(FileFormatWarning, match=r"xarray\.decode_cf"):
        label = cell_model.predict(packed)
    label.drop_vars(["cell"]).to_zarr(tmp_path / "label.zarr", consolidated=False)
    stored = xr.open_zarr(tmp_path / "label.zarr", consolidated=False)["label"]
    assert_array_equal(stored, label)


def test_answers__are_written_to_netcdf(cells, cell_model, tmp_path):
    probability = cell_model.predict_proba(cells)
    probability.to_netcdf(tmp_path / "probability.nc", engine="scipy")
    stored = xr.load_dataarray(tmp_path / "probability.nc", engine="scipy")
    assert_array_equal(stored, probability)
    assert json.loads(stored.attrs["views"]).keys() == cell_model.views_.as_mapping().keys()
    weights = cell_model.weights_by(cells, "batch")
    weights.to_netcdf(tmp_path / "weights.nc", engine="scipy")


def test_labels_of_one_component__are_those_of_the_model_after_a_file_held_them(cells, small):
    model = KernelMixture(1, sample_dim="cell", **small).fit(cells)
    attrs = model.predict(cells).attrs | {"population_of_component": np.int64(0)}
    model.require_own_labels(attrs)
    with pytest.raises(DataError, match="predict the labels again"):
        model.require_own_labels(attrs | {"population_of_component": [0, 1]})


def test_input__is_not_modified(cells, small):
    before = cells.copy(deep=True)
    KernelMixture(3, sample_dim="cell", **small).fit(cells).predict(cells)
    xr.testing.assert_identical(cells, before)


def test_numpy__answers_are_arrays_equal_to_the_labelled_ones(values, data, model, small):
    plain = KernelMixture(3, **small).fit(values)
    assert not hasattr(plain, "feature_names_in_")
    for answer in ("predict", "predict_proba", "score_samples"):
        found = getattr(plain, answer)(values)
        assert type(found) is np.ndarray
        assert_array_equal(found, getattr(model, answer)(data).to_numpy())


def test_numpy__views_are_columns(values, small):
    views = {"a": [0], "b": [1, 2]}
    fitted = KernelMixture(3, views=views, init="kmeans", **small).fit(values)
    assert fitted.views_.as_mapping() == {"a": ["x0"], "b": ["x1", "x2"]}
    assert fitted.views_.columns == ((0,), (1, 2))
    assert fitted.get_params()["views"] is views


def test_pandas__names_are_features(values, small):
    frame = pd.DataFrame(values, columns=["CD3", "CD4", "CD19"])
    views = {"t": ["CD4"], "b": ["CD19"], "all": ["CD3"]}
    fitted = KernelMixture(3, views=views, **small).fit(frame)
    assert list(fitted.feature_names_in_) == ["CD3", "CD4", "CD19"]
    assert fitted.views_.columns == ((1,), (2,), (0,))
    assert type(fitted.predict(frame)) is np.ndarray
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(frame[["CD4", "CD3", "CD19"]])


def test_list_of_rows__is_read_as_an_array(values, model):
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        expected = model.predict(values[:7])
    assert_array_equal(model.predict(values[:7].tolist()), expected)


def test_features__go_by_name_in_labelled_data(data, model):
    shuffled = data["X"].isel(feature=[2, 0, 1])
    more = xr.concat(
        [shuffled, data["X"].isel(feature=[0]).assign_coords(feature=["time"])], "feature"
    )
    assert_array_equal(model.score_samples(shuffled), model.score_samples(data))
    assert_array_equal(model.score_samples(more), model.score_samples(data))


def test_features__go_by_position_where_the_fit_had_no_names(data, values, small):
    fitted = KernelMixture(3, **small).fit(values)
    assert_array_equal(fitted.predict(data["X"]), fitted.predict(values))


def test_refit__forgets_the_names_of_earlier_data(data, values, small):
    fitted = KernelMixture(3, **small).fit(data)
    assert list(fitted.feature_names_in_) == ["view1", "view2", "view3"]
    fitted.fit(da.from_array(values, chunks=(1000, 3)))
    assert not hasattr(fitted, "feature_names_in_")
    assert_array_equal(fitted.predict(values[:50]), fitted.predict(values)[:50])


def counting(values: np.ndarray, calls: list[int]) -> da.Array:
    """Return a lazy array that notes every chunk that is computed."""

    def load(block_info=None):
        start, stop = block_info[None]["array-location"][0]
        calls.append(start)
        return values[start:stop]

    chunks = ((1000,) * 4, (3,))
    return da.map_blocks(load, chunks=chunks, dtype=values.dtype, meta=np.empty((0, 0)))


@pytest.mark.parametrize("answer", ["predict", "predict_proba", "score_samples"])
def test_dask__nothing_is_computed_before_it_is_asked_for(values, data, model, answer):
    calls: list[int] = []
    lazy = getattr(model, answer)(counting(values, calls))
    assert isinstance(lazy, da.Array)
    assert lazy.chunks[0] == (1000,) * 4
    assert calls == []
    expected = getattr(model, answer)(data).to_numpy()
    assert lazy.dtype == expected.dtype
    assert_array_equal(lazy[:1000].compute(scheduler="sync"), expected[:1000])
    assert calls == [0]
    assert_array_equal(lazy.compute(scheduler="threads"), expected)


def test_lazy_xarray__answers_are_lazy_and_labelled(values, cells, cell_model):
    calls: list[int] = []
    lazy = cells["X"].copy(data=counting(values, calls))
    label = cell_model.predict(lazy)
    probability = cell_model.predict_proba(lazy.to_dataset(name="X"))
    assert calls == []
    assert dask.is_dask_collection(label)
    assert probability.dims == ("cell", "component")
    assert_array_equal(label["batch"], cells["batch"])
    assert_array_equal(label.compute(), cell_model.predict(cells))


def test_lazy_xarray__variables_may_have_chunks_of_their_own(cells, cell_model):
    lazy = cells.chunk(cell=1000)
    lazy["weight"] = xr.DataArray(np.ones(lazy.sizes["cell"]), dims="cell").chunk(cell=700)
    label = cell_model.predict(lazy)
    assert dask.is_dask_collection(label)
    assert_array_equal(label.compute(), cell_model.predict(cells))


def test_dask_data_frame__is_read_by_name(values, small, model):
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    fitted = KernelMixture(3, **small).fit(dd.from_pandas(frame, npartitions=3))
    assert_allclose(fitted.weights_, model.weights_, rtol=1e-5)
    label = fitted.predict(dd.from_pandas(frame[["c", "a", "b"]], npartitions=2))
    assert_array_equal(label.compute(), fitted.predict(dd.from_pandas(frame, npartitions=1)))


def test_fit__on_lazy_rows_equals_the_fit_on_rows_in_memory(values, model, small):
    fitted = KernelMixture(3, **small).fit(da.from_array(values, chunks=(1700, 3)))
    assert_allclose(fitted.weights_, model.weights_, rtol=1e-5)


def test_path__is_fitted_and_answered_lazily(store, data, model, small):
    fitted = KernelMixture(3, **small).fit(store)
    assert_array_equal(fitted.weights_, model.weights_)
    assert list(fitted.feature_names_in_) == ["view1", "view2", "view3"]
    label = fitted.predict(store)
    assert isinstance(label, xr.DataArray)
    assert dask.is_dask_collection(label)
    assert label.dims == ("sample",)
    assert_array_equal(label.compute(), model.predict(data))


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.quick_cases("False")
def test_several_stores__are_one(data, tmp_path, small, chunked):
    parts = [slice(0, 900), slice(900, 1000), slice(1000, None)]
    paths = [str(tmp_path / f"{index}.zarr") for index in range(len(parts))]
    for path, rows in zip(paths, parts, strict=True):
        part = data.isel(sample=rows)
        write_store(part.chunk(sample=300) if chunked else part, path)
    settings = mixture_parameters(small, feature_dtype="float64")
    several = KernelMixture(3, **settings).fit(paths)
    whole = KernelMixture(3, **settings).fit(data)
    assert_allclose(several.weights_, whole.weights_, rtol=1e-8)
    points = np.linspace(-2, 12, 50)
    for view in several.views_.names:
        assert_allclose(
            several.component_density(view, points),
            whole.component_density(view, points),
            rtol=1e-8,
            atol=1e-12,
        )
    assert several.diagnostics_["rows"] == 4000
    assert list(several.feature_names_in_) == ["view1", "view2", "view3"]
    assert_array_equal(several.predict(paths), whole.predict(data))
    assert_array_equal(several.predict(data), whole.predict(data))


def test_write__stores_every_answer(data, model, tmp_path):
    path = model.write(
        data, tmp_path / "labels.zarr", outputs=("label", "probability", "log_density")
    )
    stored = xr.open_zarr(path, consolidated=False)
    assert stored["probability"].dims == ("sample", "component")
    assert_array_equal(stored["label"], model.predict(data))
    assert_array_equal(stored["probability"], model.predict_proba(data))
    assert_array_equal(stored["log_density"], model.score_samples(data))
    assert stored.attrs["model"] == "KernelMixture"
