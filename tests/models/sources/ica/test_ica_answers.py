"""Answers of fitted sources: containers, stores, names, and the way back."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import bigtensor
from bigtensor import ICA, simulate
from bigtensor.errors import DataError, ParameterError
from bigtensor.report.html import render_report


@pytest.fixture(scope="module")
def data():
    return simulate.ica(20_000, 4, n_features=4, random_state=1)


@pytest.fixture(scope="module")
def model(data):
    return ICA(random_state=0).fit(data)


def test_transform__is_the_centred_row_times_the_components(data, model):
    rows = data["X"].to_numpy().astype("f8")
    expected = (rows - model.mean_) @ model.components_.T
    answered = model.transform(data)
    assert answered.dims == ("sample", "component")
    assert answered.name == "source"
    assert answered.dtype == np.float32
    assert np.allclose(answered, expected, atol=1e-5)
    assert np.allclose(ICA(random_state=0).fit_transform(rows), expected, atol=1e-2)


def test_inverse_transform__gives_the_rows_back(data, model):
    rows = data["X"]
    again = model.inverse_transform(model.transform(rows))
    assert isinstance(again, xr.DataArray)
    assert list(again["feature"].to_numpy()) == list(rows["feature"].to_numpy())
    assert np.allclose(again, rows, atol=1e-4)
    lazy = model.inverse_transform(model.transform(rows.chunk({"sample": 5_000})))
    assert lazy.chunks is not None
    assert np.allclose(lazy, rows, atol=1e-4)
    graph = da.from_array(model.transform(rows).to_numpy(), chunks=(5_000, 4))
    assert isinstance(model.inverse_transform(graph), da.Array)
    plain = model.inverse_transform(model.transform(rows).to_numpy().tolist())
    assert np.allclose(plain, rows, atol=1e-4)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("dim", ["component", "feature", "source"])
def test_inverse_transform__takes_sources_along_any_dimension(data, model, dim, lazy):
    sources = model.transform(data["X"].assign_coords(donor=("sample", data["X"][:, 0].values)))
    wanted = model.inverse_transform(sources.to_numpy())
    k = sources.sizes["component"]
    renamed = sources.rename(component=dim).assign_coords({dim: [f"IC{i}" for i in range(k)]})
    rows = model.inverse_transform(renamed.chunk(sample=5_000) if lazy else renamed)
    assert rows.dims == ("sample", "feature")
    assert rows["feature"].values.tolist() == list(model.views_.feature_names)
    assert (rows.chunks is not None) == lazy
    np.testing.assert_array_equal(rows["donor"], sources["donor"])
    np.testing.assert_allclose(rows, wanted)


def test_inverse_transform__has_the_dimension_of_the_features_of_the_fit(data, tmp_path):
    names = np.array(["Fz", "Cz", "Pz", "Oz"], object)
    raw = xr.DataArray(
        data["X"].to_numpy().T[:, :2_000], {"channel": names}, ("channel", "time"), name="X"
    )
    raw.to_dataset().to_zarr(tmp_path / "raw.zarr", consolidated=False)
    in_memory = ICA(2, method="whitened", sample_dim="time").fit(raw)
    in_memory.save(tmp_path / "model")
    for model in (
        in_memory,
        bigtensor.load(tmp_path / "model"),
        ICA(2, method="whitened", sample_dim="time").fit(raw.chunk({"time": 500})),
        ICA(2, method="whitened", sample_dim="time").fit(tmp_path / "raw.zarr"),
    ):
        again = model.inverse_transform(model.transform(raw))
        assert again.dims == ("time", "channel")
        assert again["channel"].to_numpy().tolist() == names.tolist()
        assert (raw - again).shape == raw.shape
    assert in_memory.fit(data["X"].to_numpy()).feature_dim_ == "feature"


def test_inverse_transform__takes_data_frames(data, model):
    sources = model.transform(data["X"])
    rows = model.inverse_transform(sources.to_pandas())
    np.testing.assert_allclose(rows, model.inverse_transform(sources.to_numpy()))


def test_inverse_transform__refuses_other_numbers_of_sources(model):
    with pytest.raises(DataError, match=r"shape \(5, 3\); expected \(rows, 4\)"):
        model.inverse_transform(np.zeros((5, 3)))


def test_names__of_the_sources_are_those_of_scikit_learn(data, model):
    assert list(model.get_feature_names_out()) == ["ica0", "ica1", "ica2", "ica3"]
    table = data["X"].to_pandas()
    framed = ICA(random_state=0).set_output(transform="pandas").fit_transform(table)
    assert list(framed.columns) == ["ica0", "ica1", "ica2", "ica3"]


def test_write__puts_sources_into_a_store(data, model, tmp_path):
    model.write(data, tmp_path / "s.zarr", outputs=("source",), scheduler="threads")
    stored = xr.open_zarr(tmp_path / "s.zarr")["source"]
    assert np.array_equal(stored, model.transform(data))
    with pytest.raises(ParameterError, match="expected one of source"):
        model.write(data, tmp_path / "other.zarr", outputs=("label",))


def test_missing_rows__have_no_sources(data, model):
    rows = data["X"].to_numpy().copy()
    rows[3, 1] = np.nan
    named = xr.DataArray(rows, data["X"].coords, data["X"].dims)
    with pytest.raises(bigtensor.errors.MissingValueError, match="row 3"):
        model.transform(named)
    lenient = ICA(missing="omit", random_state=0)
    with pytest.warns(bigtensor.errors.MissingValueWarning, match="left out"):
        lenient.fit(rows)
    with pytest.warns(bigtensor.errors.MissingValueWarning, match="left out"):
        answered = lenient.transform(rows)
    assert np.isnan(answered[3]).all()
    assert np.isfinite(np.delete(answered, 3, axis=0)).all()


@pytest.mark.parametrize("method", ["whitened", "cumulant"])
def test_saved_models__answer_the_same(data, method, tmp_path):
    model = ICA(method=method, random_state=0).fit(data)
    loaded = bigtensor.load(model.save(tmp_path / "m.zarr"))
    assert np.array_equal(loaded.transform(data), model.transform(data))
    assert loaded.method_ == method
    assert np.array_equal(loaded.kurtosis_, model.kurtosis_)


def test_report__shows_mixing_and_kurtosis(data, model):
    page = render_report(model, data=data)
    assert "Correlation of features and sources" in page
    assert "Mixing of the sources" in page
    assert f"{model.kurtosis_[0]:.3f}" in page
    assert "no sign of Gaussian noise" in model._repr_html_()
    noisy = simulate.ica(60_000, 4, n_features=4, noise=0.7, random_state=2)
    page = render_report(ICA(random_state=0).fit(noisy))
    assert "Gauss-Newton steps in" in page


def test_cumulant__sources_of_fewer_than_the_rank_have_at_most_unit_variance():
    rng = np.random.default_rng(3)
    rows = rng.laplace(size=(2_000, 4)) @ np.random.default_rng(103).normal(size=(4, 4))

    model = ICA(3, method="cumulant", random_state=0).fit(rows)

    assert (model.transform(rows).std(axis=0) < 1.001).all()
    unexplained = np.cov(rows.T) - np.outer(model.mixing_[:, 0], model.mixing_[:, 0])
    assert np.linalg.eigvalsh(unexplained)[0] > -0.01
