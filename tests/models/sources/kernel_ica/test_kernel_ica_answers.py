"""Answers of fitted kernel sources: containers, stores, saved models, report, command line."""

import numpy as np
import pytest
import xarray as xr
from sklearn.datasets import load_breast_cancer

import bigtensor
from bigtensor import KernelICA
from bigtensor.report.html import render_report
from tests.models.sources.ica.problems import problem
from tests.parameters import first_quick


@pytest.fixture(scope="module")
def data():
    values, _, _ = problem("mixed", 4, 4, 6_000, seed=5)
    names = {"feature": ["a", "b", "c", "d"]}
    return xr.DataArray(values, names, ("sample", "feature"), "X")


@pytest.fixture(scope="module")
def model(data):
    return KernelICA(5, n_landmarks=80, random_state=0).fit(data)


@pytest.mark.slow
def test_sources__are_uncorrelated_with_unit_variance(data, model):
    answered = model.transform(data).to_numpy().astype("f8")
    assert answered.mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-3)
    assert np.cov(answered.T) == pytest.approx(np.eye(5), abs=2e-3)
    assert model.explained_variance_ratio_.sum() == pytest.approx(model.diagnostics_["explained"])


@pytest.mark.slow
def test_answers__come_in_the_container_of_the_rows(data, model, tmp_path):
    answered = model.transform(data)
    assert isinstance(answered, xr.DataArray)
    assert answered.dims == ("sample", "component")
    assert answered.dtype == np.float32
    lazy = model.transform(data.chunk({"sample": 7_000}))
    assert lazy.chunks is not None
    assert np.allclose(lazy, answered, atol=1e-4)
    model.write(data, tmp_path / "s.zarr", outputs=("source",), scheduler="threads")
    assert np.array_equal(xr.open_zarr(tmp_path / "s.zarr")["source"], answered)
    assert model.get_feature_names_out().tolist() == [f"kernelica{j}" for j in range(5)]


def test_rows__cannot_be_made_again(model):
    assert not hasattr(model, "inverse_transform")


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "linear"])
def test_saved_models__answer_the_same(data, kernel, tmp_path):
    model = KernelICA(3, kernel=kernel, n_landmarks=50, random_state=0)
    if kernel == "linear":
        model.set_params(n_landmarks=500)
    model.fit(data)
    loaded = bigtensor.load(model.save(tmp_path / "m.zarr"))
    assert np.array_equal(loaded.transform(data), model.transform(data))
    assert np.array_equal(loaded.dual_coef_, model.dual_coef_)
    assert np.array_equal(loaded.explained_variance_, model.explained_variance_)
    assert np.isnan(loaded.bandwidth_) == (kernel == "linear")


def test_report__says_how_features_were_approximated(data, model):
    page = render_report(model)
    assert "Correlation of features and sources" in page
    assert "approximated from 80 landmarks" in page
    assert "variance in the feature space" in page
    linear = render_report(KernelICA(3, kernel="linear", random_state=0).fit(data))
    assert "standardised features of the data" in linear
    assert "approximated from" not in linear


def test_passes__are_few_and_told(model):
    names = [entry["name"] for entry in model.diagnostics_["passes"]]
    assert names[:2] == ["pilot", "moments"]
    assert names[2:] == ["contrast"] * (len(model.diagnostics_["turns"]) - 1)


@pytest.mark.slow
def test_sites__give_the_model_of_all_rows(data):
    prepared = KernelICA(4, n_landmarks=100, random_state=0).prepare(data)
    half = len(data) // 2
    sums = bigtensor.merge([prepared.accumulate(data[:half]), prepared.accumulate(data[half:])])
    solved = prepared.solve(sums)
    together = KernelICA(4, n_landmarks=100, max_iter=1, random_state=0).fit(data)
    assert np.abs(solved.transform(data) - together.transform(data)).max() < 1e-3


@pytest.mark.parametrize("n_components", first_quick([3, 5]))
def test_seeds__lead_to_the_same_sources_of_real_rows(n_components):
    rows = load_breast_cancer(return_X_y=True)[0]
    one, other = (
        KernelICA(n_components, random_state=seed).fit(rows).transform(rows) for seed in (0, 1)
    )
    k = n_components
    agreement = np.abs(np.corrcoef(one.T, other.T)[:k, k:]).max(axis=1)
    assert agreement.min() > 0.999


def moved(rows, how):
    if how == "units":
        return rows * np.exp(np.linspace(-6, 6, rows.shape[1]))
    if how == "shift":
        return rows + 100.0
    if how == "permuted features":
        return rows[:, ::-1].copy()
    return np.repeat(rows, 2, axis=0)


@pytest.mark.parametrize("how", ["units", "shift", "permuted features", "twice"])
@pytest.mark.parametrize("kernel", [pytest.param("gaussian", marks=pytest.mark.slow), "linear"])
def test_sources__do_not_depend_on(how, kernel):
    rng = np.random.default_rng(6)
    rows = rng.laplace(size=(1_500, 4)) @ rng.standard_normal((4, 4))
    there = moved(rows, how)
    one = KernelICA(4, kernel=kernel, random_state=0).fit(rows).transform(rows)
    other = KernelICA(4, kernel=kernel, random_state=0).fit(there).transform(there)
    if how == "twice":
        other = other[::2]
    agreement = np.abs(np.corrcoef(one.T, other.T)[:4, 4:]).max(axis=1)
    assert agreement.min() > 0.999


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_default_bandwidth__gives_typical_rows_a_kernel_of_one_over_e(kernel):
    rows = np.random.default_rng(0).standard_normal((400, 9)) * np.arange(1, 10)
    model = KernelICA(2, kernel=kernel, random_state=0).fit(rows)
    scaled = rows / model.scale_
    differences = scaled[:200, None] - scaled[200:]
    if kernel == "gaussian":
        exponents = np.square(differences).sum(axis=2) / (2 * model.bandwidth_**2)
    else:
        exponents = np.sqrt(2) * np.abs(differences).sum(axis=2) / model.bandwidth_
    assert exponents.mean() == pytest.approx(1, rel=0.05)
    assert model.diagnostics_["verdict"]["good"]
