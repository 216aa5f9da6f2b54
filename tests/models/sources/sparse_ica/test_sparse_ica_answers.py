"""Answers of fitted sparse sources: containers, stores, saved models, report, bad input."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from sklearn.datasets import load_wine

import bigtensor
from bigtensor import SparseICA, simulate
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    IdentifiabilityError,
    MissingValueError,
    ParameterError,
)
from bigtensor.models.sources.faults import fewer_sources
from bigtensor.models.sources.sparse_ica.settings import without_effect
from bigtensor.report.html import render_report
from tests.models.sources.ica.problems import column_error
from tests.models.sources.sparse_ica.problems import sparse_problem


@pytest.fixture(scope="module")
def data():
    return simulate.ica(30_000, 8, n_features=6, sources="sparse", noise=0.02, random_state=1)


@pytest.fixture(scope="module")
def model(data):
    return SparseICA(8, random_state=0).fit(data)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize("k", [3, 4, 6])
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_transformed_rows__have_the_kurtosis_order_and_signs_of_the_fit(seed, k):
    data = simulate.ica(4_000, 8, n_features=6, sources="sparse", random_state=seed)
    model = SparseICA(k, random_state=0).fit(data)
    sources = model.transform(data).to_numpy()
    centred = sources - sources.mean(axis=0)
    kurtosis = (centred**4).mean(axis=0) / sources.var(axis=0) ** 2 - 3
    # columns that fit codes are updated once more
    tolerance = 1e-3 if model.diagnostics_["further_sources"] else 0.03
    np.testing.assert_allclose(model.kurtosis_, kurtosis, rtol=tolerance)
    np.testing.assert_allclose(model.activity_, (sources != 0).mean(axis=0), rtol=0.1)
    assert (np.diff(model.kurtosis_) <= 0).all()
    assert model.diagnostics_["further_sources"] == (k < 6)
    rows = data["X"].to_numpy()
    correlations = np.corrcoef(rows.T, sources.T)[:6, 6:]
    largest = np.abs(correlations).argmax(axis=0)
    assert (correlations[largest, np.arange(model.mixing_.shape[1])] > 0).all()


def test_simulated_columns__are_found(data, model):
    assert column_error(data["true_mixing"].to_numpy(), model.mixing_) < 0.03


def test_answers__come_in_the_container_of_the_rows(data, model, tmp_path):
    answered = model.transform(data)
    assert isinstance(answered, xr.DataArray)
    assert answered.dims == ("sample", "component")
    lazy = model.transform(data.chunk({"sample": 7_000}))
    assert lazy.chunks is not None
    assert np.allclose(lazy, answered, atol=1e-5)
    model.write(data, tmp_path / "s.zarr", outputs=("source",), scheduler="threads")
    assert np.array_equal(xr.open_zarr(tmp_path / "s.zarr")["source"], answered)


def test_saved_models__answer_the_same(data, model, tmp_path):
    loaded = bigtensor.load(model.save(tmp_path / "m.zarr"))
    assert np.array_equal(loaded.transform(data), model.transform(data))
    assert np.array_equal(loaded.activity_, model.activity_)


@pytest.mark.parametrize("max_iter", [0, 2])
@pytest.mark.quick_cases("2")
def test_report__says_how_many_sources_a_row_has(data, max_iter):
    page = render_report(SparseICA(8, max_iter=max_iter, random_state=0).fit(data))
    assert "Correlation of features and sources" in page
    assert "sources are active" in page
    assert ("all rows were encoded" in page) == bool(max_iter)
    assert ("Gauss-Newton steps in" in page) == (not max_iter)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components is 0; .* at least 1"),
        ({"max_iter": -1}, "max_iter is -1"),
        ({"n_components": 22}, "n_components=22 exceeds 20, "),
    ],
)
def test_parameters__out_of_range_are_errors(data, settings, message):
    with pytest.raises(ParameterError, match=message):
        SparseICA(**settings).fit(data)


def test_steps_without_effect__are_told():
    told = without_effect(SparseICA(4, gauss_newton_steps=5))
    assert "gauss_newton_steps has no effect" in str(told)
    assert without_effect(SparseICA(4, gauss_newton_steps=5, max_iter=0)) is None


def test_bad_rows__are_errors(data):
    rows = data["X"].to_numpy().copy()
    with pytest.raises(DataError, match="have 5 rows, fewer than the 6"):
        SparseICA().fit(rows[:5])
    with pytest.raises(DataError, match="all features are constant"):
        SparseICA().fit(np.ones((50, 3)))
    rows[4, 2] = np.nan
    with pytest.raises(MissingValueError, match="row 4"):
        SparseICA().fit(rows)


def test_sources_that_are_not_sparse__are_told():
    rng = np.random.default_rng(0)
    light = rng.uniform(-1, 1, (20_000, 4)) @ rng.standard_normal((4, 4))
    with pytest.raises(IdentifiabilityError, match=r"no source of the .*model ICA"):
        SparseICA().fit(light)
    some = np.hstack([light, sparse_problem(4, 4, 1, 20_000, seed=1)[0]])
    with pytest.warns(ConditioningWarning, match="4 sources have lighter tails"):
        found = SparseICA().fit(some)
    assert found.mixing_.shape == (8, 4)


@pytest.mark.parametrize(("rows", "features"), [(208, 60), (1_000, 100)])
@pytest.mark.quick_cases("208-60")
def test_gaussian_rows__have_no_sparse_source(rows, features):
    values = np.random.default_rng([1, rows, features]).standard_normal((rows, features))
    with pytest.raises(IdentifiabilityError, match="no source of the sample is sparse"):
        SparseICA(random_state=0).fit(values)


def test_returned_sources_that_are_not_sparse__are_named():
    with pytest.warns(ConditioningWarning, match="not sparse: sparse sources"):
        model = SparseICA(random_state=0).fit(load_wine().data)
    (sentence,) = (s for s in model.diagnostics_["verdict"]["sentences"] if "not sparse" in s)
    light = np.flatnonzero(model.kurtosis_ <= 0)
    assert len(light)
    for source in range(len(model.kurtosis_)):
        assert (str(source) in sentence.partition(" not sparse")[0]) == (source in light)
    assert not model.diagnostics_["verdict"]["good"]


def test_sources_left_out__are_not_said_to_be_returned():
    # four sparse sources are returned, and two with light tails stand out and are left out
    ((_, sentence),) = fewer_sources(SimpleNamespace(n_components=None), 10, 4, left_out=2)
    assert "6 of 10 sources stand out" in str(sentence)
    assert "only these are returned" not in str(sentence)
    # the search counts those with light tails as well
    assert "n_components=6" in str(sentence)


def test_laplace_sources__are_too_many_in_a_row():
    data = simulate.ica(40_000, 6, n_features=6, sources="laplace", random_state=2)
    with pytest.warns(ConditioningWarning, match=r"2.8 sources are active in a typical row"):
        SparseICA().fit(data)


def test_constant_features_and_outliers__have_no_part(data, model):
    rows = np.insert(data["X"].to_numpy(), 3, 2.0, axis=1)
    rows[11, 0] = 1e6
    with (
        pytest.warns(ConstantFeatureWarning, match="Feature 'x3' has one value only"),
        pytest.warns(ConditioningWarning, match="row lies far from all others"),
    ):
        found = SparseICA(8, random_state=0).fit(rows)
    assert not found.mixing_[3].any()
    alone = np.delete(found.mixing_, 3, axis=0)
    assert column_error(model.mixing_, alone) < 0.005
