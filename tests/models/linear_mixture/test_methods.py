import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.random import default_rng
from scipy.optimize import linear_sum_assignment

import bigtensor
from bigtensor import LinearMixture, merge, simulate
from bigtensor.errors import ConditioningWarning, ParameterError, PlanError
from bigtensor.models.linear_mixture.declared_parameters import METHODS
from bigtensor.models.linear_mixture.settings import ITERATIONS
from tests.parameters import first_quick

N_FEATURES, K, ROWS = 12, 8, 12_000
VIEWS = {view: list(range(v * N_FEATURES, (v + 1) * N_FEATURES)) for v, view in enumerate("abc")}
PRECISE = ("sample", "compressed", "explicit", "passes")


def drawn(seed=0, rows=ROWS, k=K):
    data = simulate.linear_mixture(rows, k, N_FEATURES, 0.8, random_state=seed)
    values = data["X"].to_numpy().astype(np.float64)
    label = data["label"].to_numpy()
    return values, np.stack([values[label == h].mean(axis=0) for h in range(k)])


def fit(rows, method, k=K, **parameters):
    return LinearMixture(k, views=VIEWS, method=method, random_state=0, **parameters).fit(rows)


def means_of(model):
    return np.concatenate([columns.to_numpy() for columns in model.components_.values()]).T


def distance(first, second):
    squares = ((first[:, None] - second[None]) ** 2).sum(axis=2)
    return float(np.sqrt(squares[linear_sum_assignment(squares)].max()))


@pytest.fixture(scope="module")
def rows():
    return drawn()[0]


@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
@pytest.mark.slow  # five methods; the explicit one is quick below
def test_methods__find_the_same_components(seed):
    values, oracle = drawn(seed)
    found = {method: means_of(fit(values, method, max_iter=0)) for method in PRECISE}
    for method, means in found.items():
        assert distance(oracle, means) < 0.06, method
        assert distance(found["sample"], means) < 0.01, method


@pytest.mark.parametrize("seed", first_quick([3, 4]))
@pytest.mark.parametrize("method", ["sample", "explicit", "passes"])
@pytest.mark.quick_cases("explicit-3")
def test_methods__find_more_components_than_features(method, seed):
    values, oracle = drawn(seed, 20_000, 20)
    assert distance(oracle, means_of(fit(values, method, 20))) < 0.06


def test_compressed__without_steps_is_less_precise_and_needs_two_passes(rows):
    model = fit(rows, "compressed", max_iter=0, gauss_newton_steps=0)
    names = [done["name"] for done in model.diagnostics_["passes"]]
    assert names == ["pilot", "pair moments", "projected tensor"]
    assert distance(means_of(fit(rows, "sample", max_iter=0)), means_of(model)) < 0.1


def test_power__is_a_biased_reference(rows):
    oracle = drawn()[1]
    with warnings.catch_warnings():
        # clusters that share a column in one view are lost
        warnings.simplefilter("ignore", ConditioningWarning)
        model = fit(rows, "power", max_iter=0)
    squares = ((means_of(model)[:, None] - oracle[None]) ** 2).sum(axis=2)
    assert 2 <= len(model.weights_) <= K
    assert np.sqrt(squares.min(axis=1)).max() > 0.1
    names = [done["name"] for done in model.diagnostics_["passes"]]
    assert names == ["pilot", *["contractions"] * 62, "pair moments"]


def test_power__finds_orthogonal_columns_as_well_as_labels():
    rng = default_rng(0)
    label = rng.integers(4, size=12_000)
    means = np.hstack([np.linalg.qr(rng.normal(size=(N_FEATURES, 4)))[0].T for _ in "abc"]) * 2
    values = means[label] + 0.3 * rng.normal(size=(12_000, 3 * N_FEATURES))
    model = fit(values, "power", 4, max_iter=0)
    assert distance(means, means_of(model)) < 0.1
    np.testing.assert_allclose(model.weights_, 0.25, atol=0.02)


@pytest.mark.parametrize("method", first_quick(METHODS, 3))
@pytest.mark.quick_cases("compressed")
def test_methods__have_the_same_bits_everywhere(rows, method, tmp_path):
    warnings.simplefilter("ignore", ConditioningWarning)
    model = fit(rows, method)
    again = LinearMixture(K, views=VIEWS, method=method, random_state=0).fit(
        rows, scheduler="threads", workers=1, checkpoint=tmp_path / "parts"
    )
    np.testing.assert_array_equal(means_of(again), means_of(model))
    resumed = LinearMixture(K, views=VIEWS, method=method, random_state=0).fit(
        rows, checkpoint=tmp_path / "parts"
    )
    np.testing.assert_array_equal(means_of(resumed), means_of(model))
    assert all(done["reused_parts"] == done["parts"] for done in resumed.diagnostics_["passes"])


@pytest.mark.parametrize("method", PRECISE)
@pytest.mark.quick_cases("explicit")
def test_methods__do_not_depend_on_chunks(rows, method):
    model = fit(rows, method)
    parts = [xr.DataArray(part, dims=("sample", "feature")) for part in np.split(rows, [5001])]
    np.testing.assert_allclose(means_of(fit(parts, method)), means_of(model), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", first_quick(METHODS, 2))
@pytest.mark.quick_cases("sample")
def test_fit__resumes_from_the_pass_that_failed(rows, method, tmp_path):
    warnings.simplefilter("ignore", ConditioningWarning)
    ends = []

    def stop(event):
        if event.kind == "pass finished":
            ends.append(event.name)
            if len(ends) == 2:
                raise KeyboardInterrupt

    model = LinearMixture(K, views=VIEWS, method=method, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, checkpoint=tmp_path / "parts", listeners=[stop])
    model.fit(rows, checkpoint=tmp_path / "parts")
    reused = [done["reused_parts"] == done["parts"] for done in model.diagnostics_["passes"]]
    assert reused == [True, True, *[False] * (len(reused) - 2)]
    np.testing.assert_array_equal(means_of(model), means_of(fit(rows, method)))


@pytest.mark.parametrize("method", ["sample", "compressed", "explicit"])
@pytest.mark.quick_cases("explicit")
def test_rounds__of_sites_give_the_components_of_all_rows(rows, method, tmp_path):
    site = LinearMixture(K, views=VIEWS, method=method, random_state=0, max_iter=0).prepare(rows)
    site = bigtensor.load(site.save(tmp_path / "prepared.zarr"))
    while site._rounds.next_pass is not None:
        site.solve(merge([site.accumulate(part) for part in np.split(rows, 3)]))
    found = means_of(fit(rows, method, max_iter=0))
    assert distance(found, means_of(site)) < 1e-5


def test_rounds__of_the_explicit_tensor_see_components_that_the_first_batch_has_not():
    values, oracle = drawn(5)
    near = ((values[:, None] - oracle[None]) ** 2).sum(axis=2).argmin(axis=1)
    model = LinearMixture(K, views=VIEWS, method="explicit", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        model.partial_fit(values[near < K - 2])
    model.partial_fit(values[near >= K - 2])
    assert distance(oracle, means_of(model)) < 0.1


def plan_of(n_features, k, n_rows, **parameters):
    views = {
        view: list(range(v * n_features, (v + 1) * n_features)) for v, view in enumerate("abc")
    }
    values = np.zeros((n_rows, 3 * n_features), "f4")
    where = {key: parameters.pop(key) for key in ("memory_limit",) if key in parameters}
    return LinearMixture(k, views=views, **parameters).plan(values, **where)


@pytest.mark.parametrize(
    ("n_features", "k", "n_rows", "method"),
    [
        (20, 10, 20_000, "sample"),
        (50, 100, 20_000, "sample"),
        (50, 200, 40_000, "explicit"),
        (300, 100, 20_000, "compressed"),
        (100, 60, 200_000, "sample"),
        (110, 120, 20_000, "sample"),
    ],
)
def test_auto__takes_a_sample_unless_another_costs_clearly_less(n_features, k, n_rows, method):
    plan = plan_of(n_features, k, n_rows)
    (taken,) = (other for other in plan.alternatives if other.is_taken)
    assert taken.value == method
    assert f"method {method}" in str(plan)
    reason = "no other costs clearly less" if method == "sample" else "clearly less"
    assert f"taken: {reason}" in str(plan)
    names = [other.value for other in plan.alternatives]
    assert names == [name for name in METHODS[1:] if name != "compressed" or k <= n_features]


def test_plan__has_the_price_of_every_method():
    prices = {other.value: other for other in plan_of(20, 30, 50_000).alternatives}
    entries = 21**3
    assert prices["explicit"].state_nbytes > 8 * entries
    assert prices["explicit"].operations > 2 * 50_000 * entries
    assert prices["sample"].reads == 2 + ITERATIONS
    assert prices["explicit"].reads == 1 + ITERATIONS
    assert prices["power"].reads == 63 + ITERATIONS
    assert prices["passes"].operations > 2 * prices["sample"].operations
    asked = plan_of(20, 30, 50_000, method="passes")
    assert "taken: asked for" in str(asked)
    assert [other.value for other in asked.alternatives if other.is_taken] == ["passes"]


@pytest.mark.slow
def test_fit__is_within_its_plan(rows):
    for method in METHODS[1:]:
        warnings.simplefilter("ignore", ConditioningWarning)
        model = LinearMixture(K, views=VIEWS, method=method, random_state=0)
        most = {size.name: 0 for size in model.plan(rows).passes}
        for size in model.plan(rows).passes:
            most[size.name] += size.times
        done = [entry["name"] for entry in model.fit(rows).diagnostics_["passes"]]
        assert all(done.count(name) <= most[name] for name in set(done))
        assert model.diagnostics_["method"] == method
        taken = [other for other in model.diagnostics_["plan"]["alternatives"] if other["is_taken"]]
        assert [other["value"] for other in taken] == [method]


def test_explicit__that_does_not_fit_is_refused():
    views = {view: list(range(v * 200, (v + 1) * 200)) for v, view in enumerate("abc")}
    model = LinearMixture(5, views=views, method="explicit")
    rows = np.zeros((3000, 600), "f4")
    plan = model.plan(rows, workers=1, memory_limit="600MiB")
    with pytest.raises(PlanError, match=r"125\.75 MiB a task; .*method='sample'"):
        plan.check()
    with pytest.raises(PlanError, match="the plan does not fit"):
        model.fit(rows, memory_limit="600MiB")


@pytest.mark.parametrize("method", METHODS[1:])
def test_methods__fit_fewer_rows_than_they_start_from_columns(method):
    rng = default_rng(0)
    rows = 8.0 * np.repeat([0, 1], [7, 5])[:, None] + rng.normal(size=(12, 3))
    views = {"a": [0], "b": [1], "c": [2]}
    # a compressed tensor has at most as many components as a view has features
    k = 1 if method == "compressed" else 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        model = LinearMixture(k, views=views, method=method).fit(rows)
    assert model.weights_.sum() == pytest.approx(1)


def test_errors__name_the_method(rows):
    with pytest.raises(ParameterError, match=r"method is 'cheap'; .* auto, sample"):
        fit(rows, "cheap")
    with pytest.raises(
        ParameterError,
        match=r"compressed'.* 12 for 13 .*method=",
    ):
        fit(rows, "compressed", 13)
    some = np.full(len(rows), -1)
    some[:500] = np.arange(500) % K
    with pytest.raises(ParameterError, match=r"method='explicit' .* labels"):
        LinearMixture(K, views=VIEWS, method="explicit").fit(rows, some)


@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.quick_cases("sample", "compressed", "explicit", "passes")
def test_description__says_where_components_were_found(rows, method):
    warnings.simplefilter("ignore", ConditioningWarning)
    model = fit(rows, method)
    where = {"sample": "sample", "compressed": "compressed", "explicit": "moment tensor"}
    (sentence, *_) = model.description.report(model, None).method
    assert where.get(method, "passes over all rows") in sentence
