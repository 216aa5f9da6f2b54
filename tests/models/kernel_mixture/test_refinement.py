"""Populations divided by the tail of one feature."""

from copy import deepcopy

import numpy as np
import pytest
import xarray as xr

from bigtensor import KernelMixture, load
from bigtensor.errors import DataError, ParameterError, StatisticsError, ViewError

ROWS, SAMPLES = 24_000, 6


def cells(seed=0, rows=ROWS, distance=3.5):
    """Return two populations of four markers; in one of them, a few cells are positive for c."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4))
    sample = rng.integers(0, SAMPLES, rows)
    second = rng.random(rows) < 0.4
    rare = second & (rng.random(rows) < np.where(sample < 2, 0.03, 0.003))
    values[second] += [4, 4, 0, 4]
    values[rare, 2] += distance
    data = xr.Dataset(
        {"X": (("sample", "feature"), values), "sample_id": ("sample", sample)},
        {"feature": ["a", "b", "c", "d"]},
    )
    data["sample_id"].attrs["categories"] = [f"s{number}" for number in range(SAMPLES)]
    return data, second, rare


def f1(predicted, true):
    return 2 * (predicted & true).sum() / (predicted.sum() + true.sum())


@pytest.fixture(scope="module")
def fitted():
    return KernelMixture(2, random_state=0).fit(cells()[0])


@pytest.fixture(scope="module")
def refined(fitted):
    return deepcopy(fitted).refine_population(1, cells()[0])


def test_refine_population__finds_the_rare_cells(refined):
    data, _, rare = cells()
    names = refined.population_names_.tolist()
    assert names[0] == "0"
    assert [name[-2:] for name in names[1:]] == ["c-", "c+"]
    assert names[1][:-2] == names[2][:-2]
    label = refined.predict(data).values
    best = max(f1(data["X"].values[:, 2] > cut, rare) for cut in np.linspace(1, 4, 60))
    assert f1(label == 2, rare) > 0.9 * max(best, 0.7)
    (facts,) = refined.diagnostics_["refinements"]
    assert (facts["feature"], facts["side"], facts["clear"]) == ("c", "upper", True)
    assert 1.5 < facts["threshold"] < 3.5
    assert facts["variation_between_samples"] > 5


def test_refine_population__gives_weights_of_samples_that_are_shares_of_labels():
    data, *_ = cells(distance=2.5, rows=40_000)
    refined = KernelMixture(2, random_state=0).fit(data).refine_population(1, data)
    label, sample = refined.predict(data).values, data["sample_id"].values
    table = refined.weights_by(data)
    shares = np.array([(label[sample == s] == 2).mean() for s in range(SAMPLES)])
    error = np.sqrt(shares * (1 - shares) / table["rows"].values)
    assert np.abs((table["weight"].values[:, 2] - shares) / error).max() < 1
    np.testing.assert_allclose(table["standard_error"].values[:, 2], error, rtol=0.3)
    (facts,) = refined.diagnostics_["refinements"]
    number = (label == 2).sum()
    assert abs(facts["rows"] - number) < 0.05 * number
    assert abs(refined.weights_[2] * len(label) - number) < 0.1 * number


def test_refine_population__keeps_labels_of_other_populations():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20_000, 3))
    values[:8000, :2] += 2
    values[:400, 2] += 3.5
    model = KernelMixture(2, random_state=0).fit(values)
    before = model.predict(values)
    whole = int(np.bincount(before[:8000]).argmax())
    model.refine_population(whole, values, feature="x2")
    parts = [*model.population_names_].index("0" if whole else "1")
    after = model.predict(values)
    assert np.count_nonzero((before == whole) != (after != parts)) == 0


def shifted_cells(shift, rows=24_000):
    """Return one population whose last marker is shifted in half of the samples."""
    rng = np.random.default_rng(0)
    values, sample = rng.normal(size=(rows, 3)), np.arange(rows) % SAMPLES
    values[: rows // 2, :2] += 4
    values[sample >= SAMPLES // 2, 2] += shift
    return values, sample


def test_refine_population__of_shifted_samples_says_so():
    values, sample = shifted_cells(0.5)
    model = KernelMixture(2, random_state=0).fit(values)
    with pytest.raises(DataError, match="differs between samples in x2"):
        model.refine_population(0, values, by=sample)


def test_refine_population__asks_for_the_feature_of_a_large_tail():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20_000, 3))
    values[:10_000, :2] += 6
    values[:1000, 2] += 5
    model = KernelMixture(2, random_state=0).fit(values)
    whole = int(np.bincount(model.predict(values[:10_000])).argmax())
    with pytest.raises(DataError, match=r"x2 high 1\d\.\d%.*feature='x2'"):
        model.refine_population(whole, values)
    model.refine_population(whole, values, feature="x2")
    assert len(model.population_names_) == 3


def test_refine_population__names_the_sample_that_decides(refined):
    (facts,) = refined.diagnostics_["refinements"]
    assert facts["decisive_sample"] is None
    rng = np.random.default_rng(0)
    values, sample = rng.normal(size=(24_000, 3)), np.arange(24_000) % SAMPLES
    values[:12_000, :2] += 4
    values[np.flatnonzero(sample == 3)[:100], 2] += 5
    # sample 3 alone, and in one of two equal parts
    for part in (sample, sample % 2):
        model = KernelMixture(2, random_state=0).fit(values)
        whole = int(np.bincount(model.predict(values[:12_000])).argmax())
        names = np.array([f"file {number}" for number in range(SAMPLES)])[part]
        (facts,) = model.refine_population(whole, values, by=names).diagnostics_["refinements"]
        assert facts["decisive_sample"] == f"file {part[3]}"
        assert facts["share_of_largest_sample"] > 0.9


@pytest.mark.slow  # a plain feature is quick
def test_refine_population__says_one_thing_of_a_feature_with_spaces():
    data = cells()[0].assign_coords(feature=["a", "b", "marker c", "d"])
    model = KernelMixture(2, random_state=0).fit(data)
    model.rename_populations({1: "a+ marker clo"}).refine_population(1, data)
    assert model.population_names_.tolist() == ["0", "a+ marker c-", "a+ marker c+"]


def test_refine_population__multiplies_probabilities(fitted, refined):
    data, *_ = cells(1)
    before, after = (m.predict_proba(data).values for m in (fitted, refined))
    np.testing.assert_allclose(after[:, 0], before[:, 0], atol=2e-5)
    np.testing.assert_allclose(after[:, 1:].sum(axis=1), before[:, 1], atol=2e-5)
    # the share of a part is a function of the feature alone
    inside = before[:, 1] > 0.99
    share, value = (after[:, 2] / before[:, 1])[inside], data["X"].values[inside, 2]
    assert np.diff(share[np.argsort(value)]).min() > -1e-3
    np.testing.assert_allclose(
        refined.score_samples(data), fitted.score_samples(data), atol=5e-3, rtol=0
    )


@pytest.mark.slow
def test_refine_population__of_lower_tails_has_the_signs_the_other_way(fitted):
    data, _, rare = cells()
    turned = data.assign(X=data["X"] * xr.DataArray([1, 1, -1, 1], dims="feature"))
    model = KernelMixture(2, random_state=0).fit(turned).refine_population(1, turned)
    (facts,) = model.diagnostics_["refinements"]
    assert (facts["feature"], facts["side"]) == ("c", "lower")
    assert model.population_names_[1].endswith("c+")
    assert model.population_names_[2].endswith("c-")
    assert f1(model.predict(turned).values == 2, rare) > 0.6


def test_refine_population__of_a_feature(fitted):
    data, *_ = cells()
    model = deepcopy(fitted).rename_populations({1: "T"}).refine_population("T", data, feature="c")
    assert model.population_names_.tolist() == ["0", "T c-", "T c+"]
    # positive cells below the tail are positive as well
    for name, parts in (("c+ T", ["c+ T clo", "c+ T chi"]), ("T c-", ["T c-", "T c+"])):
        model = deepcopy(fitted).rename_populations({1: name})
        model.refine_population(1, data, feature="c")
        assert model.population_names_.tolist() == ["0", *parts]
    with pytest.raises(DataError, match="choose another feature"):
        deepcopy(fitted).refine_population(1, data, feature="a")
    with pytest.raises(DataError, match="another population"):
        deepcopy(fitted).refine_population(0, data)
    with pytest.raises(ViewError, match=r"'e'.*a, b, c, d"):
        deepcopy(fitted).refine_population(1, data, feature="e")
    with pytest.raises(ParameterError, match="no population 7"):
        deepcopy(fitted).refine_population(7, data)
    with pytest.raises(DataError, match="no variable 'file'"):
        deepcopy(fitted).refine_population(1, data, by="file")


def test_refine_population__of_a_multivariate_view_is_refused():
    data, *_ = cells()
    views = {"ab": ["a", "b"], "c": ["c"], "d": ["d"]}
    model = KernelMixture(2, views=views, init="kmeans", random_state=0).fit(data)
    with pytest.raises(ViewError, match=r"'a'.*choose one of c, d"):
        model.refine_population(1, data, feature="a")


@pytest.mark.slow
def test_refined__beside_multivariate_views():
    data, _, rare = cells()
    views = {"ab": ["a", "b"], "c": ["c"], "d": ["d"]}
    model = KernelMixture(2, views=views, init="kmeans", random_state=0).fit(data)
    model.refine_population(1, data)
    assert f1(model.predict(data).values == 2, rare) > 0.6
    values, label = model.sample(2000, random_state=0)
    assert np.isfinite(values).all()
    assert {*label.tolist()} == {0, 1, 2}


def test_refined__survives_files_and_draws_the_rare_cells(refined, tmp_path):
    data, *_ = cells(2)
    loaded = load(refined.save(tmp_path / "model.zarr"))
    assert loaded.population_names_.tolist() == refined.population_names_.tolist()
    for answer in ("predict", "predict_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(loaded, answer)(data), getattr(refined, answer)(data))
    values, label = loaded.sample(20_000, random_state=0)
    means = [values[label == part, 2].mean() for part in (1, 2)]
    assert means[1] - means[0] > 1.5


def test_refined__parts_merged_again_are_the_population(fitted, refined):
    data, *_ = cells(3)
    merged = deepcopy(refined).merge_populations([1, 2])
    np.testing.assert_array_equal(merged.predict(data), fitted.predict(data))
    np.testing.assert_allclose(merged.predict_proba(data), fitted.predict_proba(data), atol=2e-5)


def test_refined__weights_of_samples_show_where_the_rare_cells_are(refined):
    data, _, rare = cells()
    weights = refined.weights_by(data)["weight"].values[:, 2]
    sample = data["sample_id"].values
    true = np.array([rare[sample == s].mean() for s in range(SAMPLES)])
    assert weights[:2].min() > 2 * weights[2:].max()
    assert abs(weights[:2] - true[:2]).max() < 0.01


@pytest.mark.slow  # merged parts are quick
def test_cut__of_a_refined_tree_keeps_the_part():
    data, *_ = cells()
    model = KernelMixture(n_populations=2, n_components=12, random_state=0).fit(data)
    rest = model.population_weights_.argmin()
    model.refine_population(int(rest), data)
    assert model.population_names_[-1].endswith("c+")
    model.cut_populations(5)
    assert any(str(name).endswith("c+") for name in model.population_names_)
    assert len(model.population_names_) == 5


@pytest.mark.parametrize(
    "where",
    [
        pytest.param({"scheduler": "threads", "workers": 2}, id="threads"),
        pytest.param({"workers": 2}, id="processes", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow  # fits on threads are quick
def test_refine_population__has_the_same_bits_on_workers_and_from_a_checkpoint(
    fitted, tmp_path, where
):
    data, store = cells()[0], tmp_path / "cells.zarr"
    data.chunk(sample=5000).to_zarr(store, zarr_format=2)
    first = deepcopy(fitted).refine_population(1, store, checkpoint=tmp_path / "parts")
    events = []
    reused = deepcopy(fitted).refine_population(
        1, store, checkpoint=tmp_path / "parts", listeners=[events.append]
    )
    assert any(getattr(event, "reused", 0) for event in events)
    elsewhere = deepcopy(fitted).refine_population(1, store, **where)
    for model in (reused, elsewhere):
        np.testing.assert_array_equal(
            model.solution_.solution.densities, first.solution_.solution.densities
        )


@pytest.mark.slow
def test_refine_population__takes_weights_as_repeated_rows(fitted):
    data, *_ = cells()
    count = np.random.default_rng(0).integers(0, 3, ROWS)
    weighted = data.assign(weight=("sample", count.astype(float)))
    repeated = data.isel(sample=np.repeat(np.arange(ROWS), count))
    models = [deepcopy(fitted).refine_population(1, rows) for rows in (weighted, repeated)]
    np.testing.assert_allclose(models[0].weights_, models[1].weights_, rtol=1e-6)


@pytest.mark.slow
def test_refined__takes_no_further_rounds():
    data, *_ = cells()
    model = KernelMixture(2, random_state=0).prepare(data)
    while not hasattr(model, "solution_"):
        model.solve(model.accumulate(data))
    model.refine_population(1, data)
    with pytest.raises(StatisticsError):
        model.accumulate(data)
