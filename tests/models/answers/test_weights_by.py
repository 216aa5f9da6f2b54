"""The mixing weights of every sample: what is summed, and how near to the truth it comes."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import NotFittedError

import bigtensor
from bigtensor import GaussianMixture, KernelMixture, open_samples, simulate
from bigtensor.data.rows.block import Block
from bigtensor.errors import (
    ConditioningWarning,
    DataError,
    MissingValueError,
    MissingValueWarning,
    NoPopulationsError,
    ParameterError,
    PlanError,
    WeightWarning,
)
from bigtensor.statistics.base import Workspace
from tests.parameters import first_quick

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
    return KernelMixture(K, init="kmeans", **small).fit(cells)


@pytest.fixture(scope="module")
def merged(cells, small) -> KernelMixture:
    return KernelMixture(8, init="kmeans", max_iter=3, n_populations=3, **small).fit(cells)


def maximum_likelihood(model, data, codes, level=None, weight=None):
    """Return the table by EM on the posterior probabilities of all rows, to the end."""
    mixture = model.solution_.solution.likelihood_mixture()
    members = model.row_function(("label",)).populations if level != "component" else None
    values = data["X"].to_numpy()[:, model.views_.order]
    out = np.empty((len(values), mixture.n_components))
    block = Block(values, model.solution_.solution.slices, 0, len(values))
    mixture.log_joint(block, out, Workspace())
    joint = np.exp(out - out.max(axis=1, keepdims=True))
    base = mixture.weights
    if members is not None:
        of_population = (members[:, None] == np.arange(members.max() + 1)).astype(float)
        joint, base = joint @ of_population, base @ of_population
    density = joint / base
    weight = np.ones(len(codes)) if weight is None else weight
    found = []
    for code in np.unique(codes[codes >= 0]):
        rows, w, pi = density[codes == code], weight[codes == code], base / base.sum()
        for _ in range(3000):
            posterior = rows * pi / (rows @ pi)[:, None]
            pi = np.average(posterior, axis=0, weights=w)
        found.append(pi)
    return np.array(found)


def test_weights_by__have_the_largest_likelihood_of_every_sample(fitted, cells):
    table = fitted.weights_by(cells)
    codes = cells["sample_id"].to_numpy()
    expected = maximum_likelihood(fitted, cells, codes)
    assert table.attrs["method"] == "maximum likelihood"
    np.testing.assert_allclose(table["weight"], expected, atol=2e-5)
    np.testing.assert_allclose(table["weight"].sum("component"), 1, rtol=1e-12)
    np.testing.assert_array_equal(table["rows"], np.bincount(codes))
    assert table["weight"].dims == ("sample_id", "component")
    assert table.attrs["rows_without"] == 0
    frame = table["weight"].to_pandas()
    assert frame.index.name == "sample_id"
    assert frame.index.tolist() == ["sample1", "sample2", "sample3"]


def test_weights_by__name_samples_on_another_scale(fitted, cells):
    assert "unlike_fit" not in fitted.weights_by(cells).attrs
    of_second = (cells["sample_id"] == 1).to_numpy()
    louder = cells.copy(deep=True)
    louder["X"].data[of_second] *= 1.5
    with pytest.warns(ConditioningWarning, match="sample2") as warned:
        table = fitted.weights_by(louder)
    assert [str(warning.message) for warning in warned] == [table.attrs["unlike_fit"]]
    assert not any(name in table.attrs["unlike_fit"] for name in ("sample1", "sample3"))


def test_weights_by__a_few_outliers_are_no_other_scale(fitted, cells):
    outlying = cells.copy(deep=True)
    outlying["X"].data[:5] += 1000
    assert "unlike_fit" not in fitted.weights_by(outlying).attrs


@pytest.mark.parametrize("level", first_quick([None, "population", "component"]))
@pytest.mark.slow  # one level is quick
def test_weights_by__at_both_levels(merged, cells, level):
    table = merged.weights_by(cells, level=level)
    expected = maximum_likelihood(merged, cells, cells["sample_id"].to_numpy(), level)
    error = table["standard_error"].to_numpy()
    assert table.attrs["method"] == "maximum likelihood"
    assert np.all(np.abs(table["weight"] - expected) < 0.1 * error + 1e-4)
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
    expected = maximum_likelihood(fitted, cells, codes, weight=weight)
    np.testing.assert_allclose(table["weight"], expected, atol=2e-5)
    whole = fitted.weights_by(cells.assign(weight=("sample", 7 * weight)))
    xr.testing.assert_allclose(table["standard_error"], whole["standard_error"], rtol=1e-3)
    assert table["sample_id"].to_numpy().tolist() == ["sample1", "sample3"]
    assert table["rows"].to_numpy().tolist() == [2000, 2000]


def test_weights_by__takes_weights_of_rows_in_memory(fitted, cells):
    weight = np.random.default_rng(0).uniform(0, 2, 6000)
    stored = fitted.weights_by(cells.assign(weight=("sample", weight)))
    frame = cells["X"].to_pandas()
    table = fitted.weights_by(frame, cells["sample_id"].to_numpy(), sample_weight=weight)
    np.testing.assert_allclose(table["weight"], stored["weight"], rtol=1e-6)
    with pytest.raises(DataError, match="sample_weight"):
        fitted.weights_by(frame, cells["sample_id"].to_numpy(), sample_weight=weight[1:])


def test_weights_by__does_not_warn_of_rows_that_a_fit_had_as_frequencies():
    data = simulate.gaussian_mixture(400, 2, random_state=0)["X"].to_pandas()
    counts = np.random.default_rng(0).integers(0, 3, 400)
    model = GaussianMixture(2, random_state=0).fit(data, sample_weight=counts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.weights_by(data.loc[np.repeat(data.index, counts)], np.arange(counts.sum()) % 2)


def test_weights__of_a_fit_in_batches_are_those_of_all_batches():
    rows = simulate.gaussian_mixture(1200, 2, random_state=0)["X"].to_numpy()
    weight = np.random.default_rng(0).uniform(1, 2, 1200)
    model = GaussianMixture(2, random_state=0)
    for batch in np.split(np.arange(1200), 4):
        model.partial_fit(rows[batch], sample_weight=weight[batch])
    np.testing.assert_allclose(model.diagnostics_["effective_rows"], weight.sum())
    for batch in np.split(np.arange(1200), 4):
        model.partial_fit(rows[batch])
    assert model.diagnostics_["rows"] == 2400


def test_weights_by__warns_of_rows_that_lack_the_weights_of_the_fit(tmp_path):
    data = simulate.gaussian_mixture(400, 2, random_state=0)["X"].to_pandas()
    weight = np.random.default_rng(0).uniform(1, 2, 400)
    half = np.arange(400) % 2
    model = GaussianMixture(2, weights="relative", random_state=0).fit(data, sample_weight=weight)
    model.save(tmp_path / "model")
    loaded = bigtensor.load(tmp_path / "model")
    with pytest.warns(WeightWarning, match="sample_weight"):
        plain = loaded.weights_by(data, half)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weighted = loaded.weights_by(data, half, sample_weight=weight)
        unweighted = GaussianMixture(2, random_state=0).fit(data)
        unweighted.weights_by(data, half)
    assert abs(plain["weight"] - weighted["weight"]).max() > 1e-4


def test_weights_by__rows_without_a_sample_are_counted(fitted, cells):
    codes = cells["sample_id"].to_numpy().copy()
    codes[:70] = -1
    table = fitted.weights_by(cells.assign(sample_id=cells["sample_id"].copy(data=codes)))
    assert table.attrs["rows_without"] == 70
    np.testing.assert_array_equal(table["rows"], [1930, 2000, 2000])
    expected = maximum_likelihood(fitted, cells, codes)
    np.testing.assert_allclose(table["weight"], expected, atol=2e-5)


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
    assert {event.name for event in events} == {"weights by sample_id", "likelihood by sample_id"}
    assert events[-1].reused == events[-1].total_parts
    with pytest.raises(PlanError, match="does not fit"):
        fitted.weights_by(store, memory_limit="100MiB")


def test_weights_by__what_cannot_be_asked_is_an_error(fitted, cells):
    with pytest.raises(NoPopulationsError, match="n_populations"):
        fitted.weights_by(cells, level="population")
    with pytest.raises(ParameterError, match="level is 'cell'"):
        fitted.weights_by(cells, level="cell")
    with pytest.raises(DataError, match=r"'patient' .* there are label, sample_id"):
        fitted.weights_by(cells, by="patient")
    with pytest.raises(ParameterError, match="rename"):
        fitted.weights_by(cells.rename(sample_id="rows"), by="rows")
    with pytest.raises(NotFittedError):
        KernelMixture(2).weights_by(cells)


@pytest.mark.slow
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


APART = np.array([[0.0, 1, 2], [1, 2, 0], [2, 0, 1]])
"""Means that differ in every view, in units of the distance."""

OVERLAPPING = {"pair": (2, 1.5), "unequal": (2, 1.5), "three": (3, 2.0)}


def overlapping_rows(name, seed, groups=6, rows=3000):
    """Return rows of overlapping Gaussian components in groups, their groups, and labels."""
    k, distance = OVERLAPPING[name]
    rng = np.random.default_rng(seed)
    means = 0.8 * distance * np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 0, 2, 0]])[:k]
    overall = {"pair": [2, 2], "unequal": [3.2, 0.8], "three": [2, 1.2, 0.8]}[name]
    shares = rng.dirichlet(overall, groups)
    label = np.concatenate([rng.choice(k, size=rows, p=share) for share in shares])
    group = np.repeat(np.arange(groups), rows)
    return rng.normal(size=(len(label), 4)) + means[label], group, label


def distance_to_shares(weights, shares, component):
    """Return the total variation distance, mean over groups."""
    return 0.5 * np.abs(weights[:, component] - shares).sum(axis=1).mean()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning")
@pytest.mark.parametrize("name", ["pair", "unequal", pytest.param("three", marks=pytest.mark.slow)])
def test_weights_by__are_at_most_half_as_far_as_counted_labels_where_components_overlap(
    name,
):
    """The ratio of the distances is .15 to .4; that of mean posteriors is above 1."""
    found, counted = [], []
    for seed in range(5):
        X, group, label = overlapping_rows(name, seed)
        k = label.max() + 1
        model = KernelMixture(k, random_state=0).fit(X)
        predicted = model.predict(X)
        counts = np.zeros((k, k))
        np.add.at(counts, (label, predicted), 1)
        component = linear_sum_assignment(-counts)[1]
        shares, labels = (
            np.stack([np.bincount(of[group == code], minlength=k) / 3000 for code in range(6)])
            for of in (label, predicted)
        )
        table = model.weights_by(X, group)
        assert table.attrs["method"] == "maximum likelihood"
        found.append(distance_to_shares(table["weight"].to_numpy(), shares, component))
        counted.append(distance_to_shares(labels, shares, component))
    assert np.mean(found) < 0.5 * np.mean(counted), (found, counted)


def test_weights_by__intervals_cover_the_weights_of_many_groups(small):
    """Of 95 % intervals of 400 groups of 500 rows, 92 to 98 % hold the weight drawn with."""
    X, _, label = overlapping_rows("pair", 3, groups=20)
    model = KernelMixture(2, **small | {"pilot_rows": 10_000}).fit(X)
    ours = int(model.predict(X[label == 0]).mean() > 0.5)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.1, 0.9, 400)
    group = np.repeat(np.arange(400), 500)
    drawn = (rng.uniform(size=len(group)) > weight[group]).astype(int)
    rows = rng.normal(size=(len(group), 4)) + 1.2 * drawn[:, None]
    table = model.weights_by(rows, group)
    order = np.argsort(table[table["rows"].dims[0]].to_numpy().astype(int))
    found = table["weight"].to_numpy()[order, ours]
    error = table["standard_error"].to_numpy()[order, ours]
    covered = np.mean(np.abs(found - weight) < 1.96 * error)
    assert 0.92 <= covered <= 0.98, covered
    # labels that are certain would have smaller errors
    assert np.all(error > 1.1 * np.sqrt(weight * (1 - weight) / 500))


def test_weights_by__standard_errors_are_binomial_where_labels_are_certain(small):
    rng = np.random.default_rng(0)
    label, group = rng.choice(3, size=6000, p=[0.5, 0.4, 0.1]), np.repeat([0, 1], [1000, 5000])
    X = rng.normal(size=(6000, 3)) + 20 * APART[label]
    table = KernelMixture(3, **small).fit(X).weights_by(X, group)
    share, rows = table["weight"], table["rows"]
    expected = np.sqrt(share * (1 - share) / rows)
    np.testing.assert_allclose(table["standard_error"], expected, rtol=1e-3)


def test_weights_by__small_groups_and_absent_components(small):
    rng = np.random.default_rng(5)
    label = rng.integers(3, size=4000)
    X = rng.normal(size=(4000, 3)) + 8 * APART[label]
    model = KernelMixture(3, **small).fit(X)
    chosen = np.concatenate([np.flatnonzero(label == 0)[:300], [0], np.flatnonzero(label == 1)[:2]])
    group = np.repeat(["only one", "one row", "two rows"], [300, 1, 2])
    table = model.weights_by(X[chosen], group)
    assert np.isfinite(table["weight"]).all()
    assert np.isfinite(table["standard_error"]).all()
    np.testing.assert_allclose(table["weight"].sum("component"), 1, rtol=1e-9)
    only = table["weight"].sel(group="only one").to_numpy()
    assert np.sum(only == 0) == 2, only


def test_weights_by__where_features_depend_on_each_other_labels_set_the_scale(small):
    """All rows as one group: weights are the shares of labels. Two groups: nearer than these."""
    rng = np.random.default_rng(0)
    label = (rng.uniform(size=20_000) < 0.3).astype(int)
    shared = rng.normal(size=(20_000, 1))
    X = 0.8 * shared + 0.6 * rng.normal(size=(20_000, 4)) + 2.2 * label[:, None]
    model = KernelMixture(2, **small).fit(X)
    table = model.weights_by(X, np.zeros(20_000, int))
    assert table.attrs["method"].startswith("maximum likelihood, scaled to")
    shares = np.bincount(model.predict(X), minlength=2) / 20_000
    np.testing.assert_allclose(table["weight"].to_numpy()[0], shares, atol=1e-6)


@pytest.mark.parametrize("chunks", [None, 200])
@pytest.mark.parametrize("where", [None, "live == 1"])
@pytest.mark.quick_cases("None-None", "live == 1-200")
def test_weights_by__finds_a_variable_of_a_dataset_that_was_opened(chunks, where):
    if chunks and where:
        pytest.skip("lazy arrays take no condition")
    random = np.random.default_rng(0)
    values = random.normal(size=(600, 3)) + 3 * (np.arange(600)[:, None] < 200)
    donor = np.where(random.random(600) < 0.3, "ann", "bob")
    live = (random.random(600) < 0.7).astype(int)
    data = xr.Dataset(
        {"X": (("sample", "feature"), values), "donor": ("sample", donor), "live": ("sample", live)}
    )
    model = GaussianMixture(2, random_state=0).fit(data)
    opened = open_samples(data.chunk(sample=chunks) if chunks else data, where=where)
    kept = data if where is None else data.isel(sample=np.flatnonzero(live))
    xr.testing.assert_identical(
        model.weights_by(opened, "donor")["weight"], model.weights_by(kept, "donor")["weight"]
    )


@pytest.mark.parametrize("kind", ["memory", "lazy", "array"])
def test_weights_by__takes_a_part_of_the_dates_as_xarray_names_it(cells, fitted, kind):
    hours = np.arange(cells.sizes["sample"]) * np.timedelta64(1, "h")
    dated = cells.assign_coords(time=("sample", np.datetime64("2024-01-01T00") + hours))
    data = {"memory": dated, "lazy": dated.chunk(sample=1700), "array": dated["X"]}[kind]
    weights = fitted.weights_by(data, "time.month")
    assert weights["weight"].dims[0] == "month"
    xr.testing.assert_equal(weights, fitted.weights_by(dated, dated["time"].dt.month))
    with pytest.raises(DataError, match=r"time\.month"):
        fitted.weights_by(data, "time")
    for no_part in ("time.moth", "time.strftime", "sample_id.month", "time."):
        with pytest.raises(DataError, match="has no variable"):
            fitted.weights_by(data, no_part)


def test_weights_by__a_path_has_no_parts_of_dates(store, fitted, tmp_path):
    """A variable of the store that is called month is another one."""
    dated = xr.open_zarr(store, consolidated=False)
    hours = np.arange(dated.sizes["sample"]) * np.timedelta64(1, "h")
    dated = dated.drop_encoding().assign(
        time=("sample", np.datetime64("2024-01-01T00") + hours),
        month=("sample", np.zeros(len(hours), np.int32)),
    )
    dated["feature"] = dated["feature"].astype(object)
    dated[["X", "time", "month"]].to_zarr(tmp_path / "dated.zarr", consolidated=False)
    with pytest.raises(DataError, match="open_zarr"):
        fitted.weights_by(tmp_path / "dated.zarr", "time.month")
    opened = xr.open_zarr(tmp_path / "dated.zarr", consolidated=False)
    assert fitted.weights_by(opened, "time.month").sizes["month"] > 1
