"""The mixing weights of every sample: what is summed, and how near to the truth it comes."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import NotFittedError

from bigtensor import KernelMixture, simulate
from bigtensor.errors import (
    DataError,
    MissingValueError,
    MissingValueWarning,
    NoPopulationsError,
    ParameterError,
    PlanError,
)

K, SAMPLES = 4, 3


@pytest.fixture(scope="module")
def cells() -> xr.Dataset:
    return simulate.cytometry(6000, K, samples=SAMPLES, random_state=1)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "cells.zarr"
    simulate.write_cytometry(path, 6000, K, samples=SAMPLES, random_state=1)
    return path


@pytest.fixture(scope="module")
def fitted(cells, small) -> KernelMixture:
    return KernelMixture(K, start="kmeans", **small).fit(cells)


@pytest.fixture(scope="module")
def merged(cells, small) -> KernelMixture:
    return KernelMixture(8, start="kmeans", posterior_passes=3, n_populations=3, **small).fit(cells)


def mean_posterior(model, data, codes, level=None, weight=None):
    """Return the table by its definition, from the posterior probabilities of all rows."""
    posterior = np.asarray(model.predict_proba(data, level), np.float64)
    weight = np.ones(len(codes)) if weight is None else weight
    return np.array(
        [
            np.average(posterior[codes == code], axis=0, weights=weight[codes == code])
            for code in np.unique(codes[codes >= 0])
        ]
    )


def test_weights_by__are_the_mean_posteriors_of_every_sample(fitted, cells):
    table = fitted.weights_by(cells)
    codes = cells["sample_id"].to_numpy()
    expected = mean_posterior(fitted, cells, codes)
    np.testing.assert_allclose(table["weight"], expected, atol=1e-6)
    np.testing.assert_allclose(table["weight"].sum("component"), 1, rtol=1e-12)
    np.testing.assert_array_equal(table["rows"], np.bincount(codes))
    assert table["weight"].dims == ("sample_id", "component")
    assert table.attrs["rows_without"] == 0
    frame = table["weight"].to_pandas()
    assert frame.index.name == "sample_id"
    assert frame.index.tolist() == ["sample1", "sample2", "sample3"]


@pytest.mark.parametrize("level", [None, "population", "component"])
def test_weights_by__at_both_levels(merged, cells, level):
    table = merged.weights_by(cells, level=level)
    expected = mean_posterior(merged, cells, cells["sample_id"].to_numpy(), level)
    np.testing.assert_allclose(table["weight"], expected, atol=1e-6)
    assert table["weight"].dims[1] == (level or "population")


@pytest.mark.parametrize("kind", ["path", "lazy", "frame", "dask", "parts"])
def test_weights_by__any_container_gives_the_same(fitted, cells, store, kind):
    whole = fitted.weights_by(cells)
    by = cells["sample_id"]
    if kind == "path":
        found = fitted.weights_by(store)
    elif kind == "lazy":
        found = fitted.weights_by(cells.chunk(sample=1500))
    elif kind == "frame":
        found = fitted.weights_by(cells["X"].to_pandas(), by)
    elif kind == "dask":
        found = fitted.weights_by(cells["X"].chunk(sample=1500).data, by)
    else:
        renamed = cells.isel(sample=slice(2500, None)).copy()
        renamed["sample_id"] = (
            "sample",
            2 - renamed["sample_id"].to_numpy(),
            {"categories": ["sample3", "sample2", "sample1"]},
        )
        found = fitted.weights_by([cells.isel(sample=slice(2500)), renamed])
    xr.testing.assert_allclose(found["weight"], whole["weight"], rtol=1e-5)
    xr.testing.assert_equal(found["rows"], whole["rows"])


def test_weights_by__features_go_by_name(fitted, cells):
    turned = cells.isel(feature=slice(None, None, -1))
    xr.testing.assert_allclose(
        fitted.weights_by(turned)["weight"], fitted.weights_by(cells)["weight"]
    )


def test_weights_by__weighs_rows(fitted, cells):
    weight = np.random.default_rng(0).uniform(0, 2, 6000)
    weight[cells["sample_id"].to_numpy() == 1] = 0
    codes = cells["sample_id"].where(cells["sample_id"] != 1, -1).to_numpy()
    table = fitted.weights_by(cells.assign(weight=("sample", weight)))
    expected = mean_posterior(fitted, cells, codes, weight=weight)
    np.testing.assert_allclose(table["weight"], expected, atol=1e-6)
    assert table["sample_id"].to_numpy().tolist() == ["sample1", "sample3"]
    assert table["rows"].to_numpy().tolist() == [2000, 2000]


def test_weights_by__rows_without_a_sample_are_counted(fitted, cells):
    codes = cells["sample_id"].to_numpy().copy()
    codes[:70] = -1
    table = fitted.weights_by(cells.assign(sample_id=cells["sample_id"].copy(data=codes)))
    assert table.attrs["rows_without"] == 70
    np.testing.assert_array_equal(table["rows"], [1930, 2000, 2000])
    expected = mean_posterior(fitted, cells, codes)
    np.testing.assert_allclose(table["weight"], expected, atol=1e-6)


def test_weights_by__missing_values_are_judged_as_in_a_fit(fitted, cells):
    holes = cells.copy(deep=True)
    holes["X"][5, 2] = np.nan
    with pytest.raises(MissingValueError, match="row 5"):
        fitted.weights_by(holes)
    lenient = KernelMixture(**fitted.get_params()).set_params(missing="omit")
    lenient.fit(cells)
    with pytest.warns(MissingValueWarning, match="left out"):
        table = lenient.weights_by(holes)
    assert table["rows"].to_numpy().tolist() == [1999, 2000, 2000]


def test_weights_by__takes_the_options_of_a_fit(fitted, store, tmp_path):
    first = fitted.weights_by(store, scheduler="threads", workers=2, checkpoint=tmp_path)
    events = []
    again = fitted.weights_by(store, checkpoint=tmp_path, listeners=[events.append])
    xr.testing.assert_identical(first, again)
    assert events[-1].name == "weights by sample_id"
    assert events[-1].reused == events[-1].total_parts
    with pytest.raises(PlanError, match="does not fit"):
        fitted.weights_by(store, memory_limit="100MiB")


def test_weights_by__what_cannot_be_asked_is_an_error(fitted, cells):
    with pytest.raises(NoPopulationsError, match="n_populations"):
        fitted.weights_by(cells, level="population")
    with pytest.raises(ParameterError, match="level is 'cell'"):
        fitted.weights_by(cells, level="cell")
    with pytest.raises(DataError, match=r"no variable 'patient' .* there are label, sample_id"):
        fitted.weights_by(cells, by="patient")
    with pytest.raises(ParameterError, match="rename"):
        fitted.weights_by(cells.rename(sample_id="rows"), by="rows")
    with pytest.raises(NotFittedError):
        KernelMixture(2).weights_by(cells)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
def test_weights_by__are_near_the_proportions_of_the_rows(small):
    """Total variation distance, mean over samples: 0.0003 to 0.03, where fits are less exact."""
    found, overall = [], []
    for seed in range(4):
        cells = simulate.cytometry(20_000, K, samples=4, random_state=seed)
        model = KernelMixture(K, **small).fit(cells)
        label, predicted = cells["label"].to_numpy(), model.predict(cells).to_numpy()
        counts = np.zeros((K, K))
        np.add.at(counts, (label, predicted), 1)
        component = linear_sum_assignment(-counts)[1]
        truth = np.zeros((4, K))
        np.add.at(truth, (cells["sample_id"].to_numpy(), label), 1 / 5000)
        for distances, weights in (
            (found, model.weights_by(cells)["weight"].to_numpy()),
            (overall, model.weights_[None]),
        ):
            error = np.abs(weights[:, component] - truth)
            distances.append(0.5 * error.sum(axis=1).mean())
    assert np.mean(found) < 0.015, found
    assert np.median(found) < 0.005, found
    assert np.all(np.array(found) < 0.6 * np.array(overall)), (found, overall)


def test_weights_by__are_drawn_to_those_of_all_rows_where_components_overlap(small):
    rng = np.random.default_rng(2)
    sample = np.repeat([0, 1], 6000)
    label = (rng.uniform(size=12_000) < np.array([0.9, 0.1])[sample]).astype(int)
    X = rng.normal(size=(12_000, 3)) + 1.5 * label[:, None]
    model = KernelMixture(2, **small).fit(X)
    found = model.weights_by(X, sample)["weight"].to_numpy()
    ours = int(model.predict(np.full((1, 3), 1.5))[0])
    shares = np.array([label[sample == code].mean() for code in (0, 1)])
    overall = model.weights_[ours]
    assert overall < found[0, ours] < shares[0]
    assert shares[1] < found[1, ours] < overall
