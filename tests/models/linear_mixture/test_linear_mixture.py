import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.random import default_rng
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import adjusted_rand_score

import bigtensor
from bigtensor import LinearMixture, merge, simulate
from bigtensor.data.rows.block import Block
from bigtensor.errors import (
    ConditioningWarning,
    DataError,
    MissingValueWarning,
    ParameterError,
    ViewError,
)
from bigtensor.models.moment_tensors.pilot_tensor import centred_tensor
from bigtensor.statistics.within_reach import Reach
from tests.parameters import first_quick

VIEWS = {"a": list(range(10)), "b": list(range(10, 20)), "c": list(range(20, 30))}
COLUMNS = ((0, 10), (10, 20), (20, 30))


def drawn(rows=12_000, k=14, seed=0, noise=0.8):
    data = simulate.linear_mixture(rows, k, 10, noise, random_state=seed)
    means = data["true_means"].to_numpy().T
    return data["X"].to_numpy().astype(np.float64), data["label"].to_numpy(), means


def fit(rows, k=14, **parameters):
    return LinearMixture(k, views=VIEWS, random_state=0, **parameters).fit(rows)


def means_of(model):
    return np.concatenate([columns.to_numpy() for columns in model.components_.values()]).T


def matched(truth, found):
    squares = ((truth[:, None] - found[None]) ** 2).sum(axis=2)
    return linear_sum_assignment(squares), squares


def distance(truth, found):
    (rows, columns), squares = matched(truth, found)
    return np.sqrt(squares[rows, columns].sum())


def oracle(rows, label):
    return np.stack([rows[label == h].mean(axis=0) for h in range(label.max() + 1)])


@pytest.fixture(scope="module")
def fitted():
    rows, label, means = drawn()
    return rows, label, means, fit(rows)


@pytest.mark.parametrize("seed", first_quick([1, 2, 3]))
def test_fit__is_as_near_as_the_means_of_true_labels(seed):
    rows, label, means = drawn(seed=seed)
    best = distance(means, oracle(rows, label))
    model = fit(rows)
    assert distance(means, means_of(model)) < 1.03 * best
    assert distance(means, means_of(fit(rows, max_iter=0))) < 1.6 * best
    (order, found), _ = matched(means, means_of(model))
    shares = np.bincount(label, minlength=14)[order] / len(label)
    np.testing.assert_allclose(model.weights_[found], shares, atol=0.002)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_contractions_in_memory__are_those_of_the_explicit_tensor(dtype):
    rng = default_rng(0)
    near = Block(rng.exponential(size=(400, 30)) + 5, {}, 0, 400, rng.random(400))
    everywhere = Reach.unbounded(COLUMNS)
    tensor = centred_tensor(near, everywhere, (1, 1, 1), 0.5, dtype, standardised=True)
    first, second, third = tensor.rows(near)
    weight = near.weight / near.weight.sum()
    explicit = np.einsum("n,in,jn,ln->ijl", weight, first, second, third)
    columns = tuple(rng.normal(size=(11, 4)) for _ in range(3))
    found = tensor.contract_in_memory(near)(columns)
    expected = (
        np.einsum("ijl,jz,lz->iz", explicit, columns[1], columns[2]),
        np.einsum("ijl,iz,lz->jz", explicit, columns[0], columns[2]),
        np.einsum("ijl,iz,jz->lz", explicit, columns[0], columns[1]),
    )
    for of_mode, exact in zip(found, expected, strict=True):
        bound = 1e-10 if dtype == "float64" else 1e-5
        assert np.abs(of_mode - exact).max() < bound * np.abs(exact).max()


SCALES = default_rng(8).uniform(0.01, 100, 30)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.slow  # a law of units is quick
def test_skewed_rows__have_the_same_probabilities_in_another_unit():
    rng = default_rng(0)
    second = rng.random((1500, 1)) < 0.6
    rows = rng.gamma(2, 1, (1500, 4)) + second * [1.0, 1.5, 1.0, 0.5]
    model = LinearMixture(2, views={"a": [0, 1], "b": [2], "c": [3]}, random_state=0)
    probability = model.fit(rows).predict_proba(rows)
    for moved in (3 * rows, -3 * rows, rows * [0.3, 7.0, 30.0, 0.7] + 0.123):
        assert np.allclose(model.fit(moved).predict_proba(moved), probability, atol=1e-5)


def test_fit__of_two_sources_is_that_of_their_rows(fitted):
    rows, _, _, model = fitted
    halves = [xr.DataArray(part, dims=("sample", "feature")) for part in np.split(rows, 2)]
    np.testing.assert_allclose(means_of(fit(halves)), means_of(model), rtol=1e-8, atol=1e-10)


def test_rounds__of_sites_give_the_terms_of_all_rows(fitted):
    rows, _, means, _ = fitted
    prepared = LinearMixture(14, views=VIEWS, random_state=0).prepare(rows)
    solved = prepared.solve(merge([prepared.accumulate(part) for part in np.split(rows, 3)]))
    assert distance(means, means_of(solved)) < 0.5


@pytest.mark.slow  # views of columns are quick
def test_views__may_be_arrays(fitted):
    rows, _, _, model = fitted
    tables = {name: rows[:, columns] for name, columns in VIEWS.items()}
    named = LinearMixture(14, random_state=0).fit(tables)
    np.testing.assert_array_equal(means_of(named), means_of(model))
    turned = {name: tables[name] for name in ("c", "a", "b")}
    np.testing.assert_array_equal(named.predict(turned), model.predict(rows))
    listed = LinearMixture(14, random_state=0).fit(list(tables.values()))
    np.testing.assert_array_equal(listed.predict(list(tables.values())), model.predict(rows))
    assert list(listed.components_) == ["view1", "view2", "view3"]
    with pytest.raises(ViewError, match="fitted on 'a', 'b', 'c'"):
        named.predict({"a": tables["a"], "b": tables["b"]})
    with pytest.raises(DataError, match="'a' 12,000, 'b' 12,000, 'c' 11,999"):
        LinearMixture(14).fit({**tables, "c": tables["c"][1:]})


def test_views__have_to_be_three():
    with pytest.raises(ViewError, match=r"three views, .* have 4 .*join views"):
        LinearMixture(2).fit(np.zeros((50, 4)))
    with pytest.raises(ViewError, match=r"have 2 .*split the features"):
        LinearMixture(2, views={"a": [0], "b": [1]}).fit(np.zeros((50, 2)))


def test_fit__starts_from_one_label_a_component(fitted, tmp_path):
    rows, label, means, _ = fitted
    some = np.full(len(rows), -1)
    first = np.unique(label, return_index=True)[1]
    some[first] = label[first]
    model = LinearMixture(14, views=VIEWS, random_state=0).fit(rows, some)
    assert model.classes_.tolist() == [*range(14)]
    np.testing.assert_allclose(means_of(model), means, atol=0.1)
    assert (model.predict(rows) == label).mean() > 0.99
    again = bigtensor.load(model.save(tmp_path / "model.zarr"))
    assert again.classes_.tolist() == model.classes_.tolist()
    with pytest.raises(ParameterError, match=r"is 13, .* 14 different labels"):
        LinearMixture(13, views=VIEWS).fit(rows, some)
    assert not hasattr(LinearMixture(14, views=VIEWS, random_state=0).fit(rows, label), "classes_")


def test_fit__reads_labels_from_a_variable(fitted):
    rows, label, _, _ = fitted
    names = np.where(np.arange(len(rows)) % 50 == 0, np.char.add("type ", label.astype(str)), "")
    data = xr.Dataset({"X": (("sample", "feature"), rows), "type": ("sample", names)})
    model = LinearMixture(14, views=VIEWS, random_state=0).fit(data, "type")
    order = [int(name.split()[1]) for name in model.classes_]
    assert (np.array(order)[model.predict(data)] == label).mean() > 0.99


def test_too_many_components__are_not_padded(fitted):
    rows, _, means, _ = fitted
    with pytest.warns(ConditioningWarning, match="of the 20 components asked for"):
        model = fit(rows, 20, max_iter=0)
    assert 14 <= len(model.weights_) < 20
    heavy = model.weights_ > 0.02
    assert heavy.sum() >= 13
    assert distance(means_of(model)[heavy], means) < 2.0


@pytest.mark.slow
def test_few_rows__are_iterated_until_the_likelihood_settles():
    values = load_breast_cancer().data
    views = np.split((values - values.mean(axis=0)) / values.std(axis=0), 3, axis=1)
    settled = LinearMixture(2, random_state=0).fit(views)
    assert 2 < settled.n_iter_ < 200
    assert np.diff(settled.diagnostics_["mean_log_likelihood"])[-1] < 0.01 / len(values)
    stopped = LinearMixture(2, max_iter=2, random_state=0).fit(views)
    assert settled.score(views) > stopped.score(views) + 0.01


def test_rows_beyond_the_sample__are_read_two_or_three_times_where_the_model_describes_them(fitted):
    rows, _, _, model = fitted
    assert 2 <= fit(rows, pilot_rows=6_000).n_iter_ <= 3 <= model.n_iter_


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.slow  # rows that the model describes are quick
def test_rows_beyond_the_sample__are_read_until_their_likelihood_hardly_gains():
    rows, _, _ = drawn()
    # the views depend on each other, and noise has heavy tails
    rows = np.sinh(rows + default_rng(0).normal(size=(len(rows), 1)))
    model = fit(rows, 6, pilot_rows=4_000)
    gains = np.diff(model.diagnostics_["mean_log_likelihood"])
    assert 3 < model.n_iter_ <= 10
    assert model.n_iter_ == 10 or gains[-1] < 1e-3
    assert (gains[1:-1] >= 1e-3).all()
    assert model.score(rows) > fit(rows, 6, pilot_rows=4_000, max_iter=2).score(rows) + 0.005


@pytest.mark.slow  # fewer rows are quick
def test_too_few_components__are_said(fitted):
    rows, _, means, _ = fitted
    with pytest.warns(ConditioningWarning, match=r"more components .* than the 9"):
        model = fit(rows, 9)
    assert len(model.weights_) == 9
    assert distance(means_of(model), means) < 2.5


def test_unequal_weights__are_found():
    rng = default_rng(0)
    shares = np.linspace(1, 10, 12)
    label = rng.choice(12, 20_000, p=shares / shares.sum())
    means = rng.normal(size=(12, 30)) / np.sqrt(10)
    rows = means[label] + 0.8 * rng.normal(size=(20_000, 30)) / np.sqrt(10)
    model = fit(rows, 12)
    assert distance(means, means_of(model)) < 1.05 * distance(means, oracle(rows, label))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("offset", [0.0, 50.0])
@pytest.mark.quick_cases("0.0-1", "0.0-3", "50.0-2")
def test_few_components__are_unique(k, offset):
    rows, label, _ = drawn(6000, k, seed=k)
    found = means_of(fit(rows + offset, k))
    best = oracle(rows + offset, label)
    assert distance(best, found) < 0.02


def test_single_features__are_views():
    rng = default_rng(0)
    label = rng.integers(2, size=8000)
    rows = np.where(label[:, None] == 1, 2.0, 0.0) + 0.7 * rng.normal(size=(8000, 3))
    model = LinearMixture(2, random_state=0).fit(rows)
    table = np.abs(np.sort(means_of(model), axis=0) - [[0.0] * 3, [2.0] * 3])
    assert table.max() < 0.05


@pytest.mark.parametrize("kind", first_quick(["skewed", "t3", "correlated"]))
def test_noise__need_not_be_spherical_or_gaussian(kind):
    rng = default_rng(1)
    _, label, means = drawn()
    shape = (len(label), 30)
    noise = {
        "t3": lambda: rng.standard_t(3, shape) / np.sqrt(3),
        "skewed": lambda: rng.exponential(size=shape) - 1,
        "correlated": lambda: np.hstack(
            [rng.normal(size=(shape[0], 10)) @ np.linalg.cholesky(0.6 + 0.4 * np.eye(10)).T] * 1
            + [rng.normal(size=(shape[0], 20))]
        ),
    }[kind]()
    rows = means[label] + 0.8 * noise / np.sqrt(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        model = fit(rows)
    assert distance(means, means_of(model)) < 1.3 * distance(means, oracle(rows, label))


def test_outlier__is_left_out_and_counted(fitted):
    rows, _, _, model = fitted
    far = rows.copy()
    far[3] = 1e6
    with pytest.warns(ConditioningWarning, match="1 row lies far"):
        found = fit(far)
    assert found.diagnostics_["outlying_rows"] == 1
    assert distance(means_of(model), means_of(found)) < 0.05


def test_constant_and_duplicated_features__do_no_harm(fitted):
    rows, label, _, _ = fitted
    wide = np.hstack([rows, rows[:, :3], np.ones((len(rows), 2))])
    views = {**VIEWS, "a": [*VIEWS["a"], 30, 31, 32, 33, 34]}
    with pytest.warns(ConditioningWarning, match="'a' depend linearly"):
        model = LinearMixture(14, views=views, random_state=0).fit(wide)
    (order, found), _ = matched(
        oracle(wide, label),
        np.hstack([model.components_[v].to_numpy().T for v in "abc"])[:, np.r_[0:10, 15:35, 10:15]],
    )
    name = np.empty(14, int)
    name[found] = order
    assert (name[model.predict(wide)] == label).mean() > 0.99


def test_errors__name_the_parameter(fitted):
    rows = fitted[0][:100]
    for k in (0, 1.5, None):
        with pytest.raises(ParameterError, match="n_components"):
            fit(rows, k)
    with pytest.raises(DataError, match="100 rows, fewer than the 101 components"):
        fit(rows, 101)
    with pytest.raises(DataError, match="same values"):
        fit(np.ones((100, 30)), 2)
    with pytest.raises(ParameterError, match="gauss_newton_steps"):
        fit(rows, 2, gauss_newton_steps=-1)


@pytest.mark.slow  # a law on every model
def test_missing_rows__are_an_error_or_left_out(fitted):
    rows, _, _, model = fitted
    holed = rows.copy()
    holed[7, 3] = np.nan
    with pytest.raises(DataError, match="missing"):
        fit(holed)
    with pytest.warns(MissingValueWarning):
        found = fit(holed, missing="omit")
    assert distance(means_of(model), means_of(found)) < 0.05
    with pytest.warns(MissingValueWarning):
        assert found.predict(holed)[7] == -1


@pytest.mark.slow  # a law on every model
def test_float32__is_near_float64(fitted):
    rows, _, _, model = fitted
    assert distance(means_of(fit(rows.astype("f4"))), means_of(model)) < 1e-3


def test_lazy_answers__are_those_in_memory(fitted):
    rows, _, _, model = fitted
    chunked = xr.DataArray(rows, dims=("sample", "feature")).chunk(sample=5000)
    lazy = model.predict_proba(chunked)
    assert lazy.chunks is not None
    np.testing.assert_array_equal(lazy.to_numpy(), model.predict_proba(rows))


def test_rows_far_from_zero__are_refused_without_the_name_of_another_model() -> None:
    data = simulate.linear_mixture(500, 2, random_state=0)
    far = data.assign(X=data["X"].astype(np.float64) + 1e15)
    views = {view: [f"{view}{number}" for number in range(10)] for view in "abc"}
    with pytest.raises(DataError, match="rounding hides") as raised:
        LinearMixture(2, views=views).fit(far)
    assert "Gaussian" not in str(raised.value)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize("seed", first_quick(range(6)))
@pytest.mark.parametrize(
    ("features", "k", "rows", "noise"),
    [(4, 6, 60, 0.7), (2, 3, 150, 0.3), (1, 3, 150, 0.15), (2, 6, 150, 0.3)],
)
@pytest.mark.quick_cases("2-3-150-0.3-0", "1-3-150-0.15-0", "2-6-150-0.3-0")
def test_few_rows_or_features__have_the_components_of_the_true_means(
    features, k, rows, noise, seed
):
    rng = default_rng(seed)
    means = rng.normal(size=(k, 3, features))
    if features > 1:
        means /= np.linalg.norm(means, axis=2, keepdims=True)
    label = rng.integers(k, size=rows)
    values = means[label] + noise / np.sqrt(features) * rng.normal(size=(rows, 3, features))
    distances = ((values[:, None] - means) ** 2).sum(axis=(2, 3))
    views = [values[:, view] for view in range(3)]
    model = LinearMixture(k, random_state=0).fit(views)
    best = adjusted_rand_score(label, distances.argmin(axis=1))
    assert adjusted_rand_score(label, model.predict(views)) > best - 0.15


def test_clusters__compete_with_moments_of_few_rows_and_not_with_moments_alone():
    few = drawn(k=6)[0][:300]
    pilot = fit(few, 6).diagnostics_["pilot"]
    assert set(pilot["log_likelihood"]) >= {"one component", "k-means"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        alone = fit(few, 6, max_iter=0)
    assert "log_likelihood" not in alone.diagnostics_["pilot"]


@pytest.mark.parametrize("seed", first_quick(range(4)))
def test_fewer_components_than_there_are__are_said_where_moments_find_too_few(seed):
    rng = default_rng(seed)
    means = 3 * rng.normal(size=(12, 3, 2))
    label = rng.integers(12, size=600)
    values = means[label] + 0.5 * rng.normal(size=(600, 3, 2))
    with pytest.warns(ConditioningWarning, match="more|beyond|stand out"):
        LinearMixture(3, random_state=0).fit([values[:, view] for view in range(3)])
