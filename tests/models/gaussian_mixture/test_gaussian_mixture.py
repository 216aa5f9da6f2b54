import warnings

import numpy as np
import pytest
import xarray as xr
from numpy.random import default_rng
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture as Peer

import bigtensor
from bigtensor import GaussianMixture, merge
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    MissingValueWarning,
    ParameterError,
)
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.gaussian_mixture.regularisation import Strength
from bigtensor.models.gaussian_mixture.settings import GaussianSettings
from bigtensor.models.gaussian_mixture.verdict import judged
from tests.parameters import first_quick


def drawn(n=8000, d=10, k=12, noise=0.6, seed=0):
    rng = default_rng(seed)
    means = rng.normal(size=(k, d))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    label = rng.integers(k, size=n)
    rows = means[label] + noise * rng.normal(size=(n, d)) / np.sqrt(d)
    return rows, label, means


def oracle(rows, label):
    return np.stack([rows[label == h].mean(axis=0) for h in range(label.max() + 1)])


def distance(means, found):
    squares = ((means[:, None] - found[None]) ** 2).sum(axis=2)
    rows, columns = linear_sum_assignment(squares)
    return np.sqrt(squares[rows, columns].sum())


@pytest.fixture(scope="module")
def fitted():
    rows, label, means = drawn()
    return (
        rows,
        label,
        means,
        GaussianMixture(12, random_state=0, covariance_type="shared_spherical").fit(rows),
    )


def test_fit__is_as_near_as_the_means_of_true_labels(fitted):
    rows, label, means, model = fitted
    assert distance(means, model.means_) < 1.05 * distance(means, oracle(rows, label))
    assert set(model.diagnostics_["pilot"]["log_likelihood"]) == {"merged clusters", "moments"}
    assert abs(model.covariances_ - 0.036) < 0.0005
    assert (np.diff(model.weights_) <= 0).all()


@pytest.mark.parametrize("seed", first_quick([1, 2, 3]))
@pytest.mark.slow  # the number of means is quick
def test_fit__finds_more_components_than_features_where_the_peer_does_not(seed):
    rows, label, means = drawn(12_000, 20, 30, 0.8, seed)
    model = GaussianMixture(30, random_state=seed, covariance_type="shared_spherical").fit(rows)
    peer = Peer(30, covariance_type="spherical", random_state=seed).fit(rows)
    ours, theirs = distance(means, model.means_), distance(means, peer.means_)
    assert ours < 1.05 * distance(means, oracle(rows, label))
    assert ours < 0.5 * theirs


def as_peer(model, tied):
    peer = Peer(len(model.weights_), covariance_type="tied" if tied else "spherical")
    k, d = model.means_.shape
    peer.weights_, peer.means_ = model.weights_, model.means_
    peer.covariances_ = model.covariances_ if tied else np.full(k, model.covariances_)
    whole = model.covariances_ if tied else model.covariances_ * np.eye(d)
    factor = np.linalg.cholesky(np.linalg.inv(whole))
    peer.precisions_cholesky_ = factor if tied else np.full(k, model.covariances_**-0.5)
    return peer


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.quick_cases("False")
def test_answers__are_those_of_scikit_learn_for_the_same_parameters(tied):
    rows, _, _ = drawn(4000, 8, 6)
    kind = "tied" if tied else "shared_spherical"
    model = GaussianMixture(6, covariance_type=kind, random_state=0).fit(rows)
    peer = as_peer(model, tied)
    np.testing.assert_allclose(model.score_samples(rows), peer.score_samples(rows), rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(rows), peer.predict_proba(rows), atol=1e-6)
    assert (model.predict(rows) == peer.predict(rows)).mean() > 0.999
    difference = 0 if tied else 2 * (len(model.weights_) - 1)
    assert np.isclose(model.aic(rows), peer.aic(rows) - difference, rtol=1e-6)
    drawn_rows, label = model.sample(3000, random_state=1)
    assert (model.predict(drawn_rows) == label).mean() > 0.9


def test_fit__of_a_tied_covariance_does_not_depend_on_linear_maps():
    rows, _, _ = drawn(6000, 6, 5, 0.4)
    turn = default_rng(3).normal(size=(6, 6))
    plain = GaussianMixture(5, covariance_type="tied", random_state=0).fit(rows)
    turned = GaussianMixture(5, covariance_type="tied", random_state=0).fit(rows @ turn + 7)
    np.testing.assert_allclose(turned.weights_, plain.weights_, atol=1e-3)
    np.testing.assert_allclose(turned.means_, plain.means_ @ turn + 7, atol=0.02)


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda rows: rows * 2.0**14, lambda means: means / 2.0**14),
        (lambda rows: rows + 100.0, lambda means: means - 100.0),
        (lambda rows: rows[:, ::-1], lambda means: means[:, ::-1]),
        (lambda rows: np.repeat(rows, 2, axis=0), lambda means: means),
    ],
    ids=["scale", "shift", "features", "duplicates"],
)
@pytest.mark.quick_cases("shift", "features")
def test_fit__does_not_depend_on(fitted, change, back):
    rows, _, _, model = fitted
    changed = GaussianMixture(12, random_state=0, covariance_type="shared_spherical").fit(
        np.ascontiguousarray(change(rows))
    )
    np.testing.assert_allclose(np.sort(changed.weights_), np.sort(model.weights_), atol=1e-3)
    assert distance(model.means_, back(changed.means_)) < 0.01


def test_fit__of_two_sources_is_that_of_their_rows(fitted):
    rows, _, _, model = fitted
    halves = [xr.DataArray(part, dims=("sample", "feature")) for part in np.split(rows, 2)]
    split = GaussianMixture(12, random_state=0, covariance_type="shared_spherical").fit(halves)
    np.testing.assert_allclose(split.means_, model.means_, rtol=1e-8, atol=1e-10)


@pytest.mark.slow  # a law of batches is quick
def test_rounds__of_sites_give_the_fit(fitted):
    rows, _, means, _ = fitted
    prepared = GaussianMixture(12, random_state=0, covariance_type="shared_spherical").prepare(rows)
    solved = prepared.solve(merge([prepared.accumulate(part) for part in np.split(rows, 2)]))
    assert distance(means, solved.means_) < 0.1


def test_fit__starts_from_labels_of_some_rows():
    rows, label, _ = drawn(4000, 5, 3, 0.5)
    some = np.full(4000, -1)
    for h in range(3):
        some[np.flatnonzero(label == h)[0]] = 10 + h
    for kind in ("shared_spherical", "tied"):
        model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(rows, some)
        assert model.classes_.tolist() == [10, 11, 12]
        assert (model.predict(rows) == label).mean() > 0.98
    with pytest.raises(ParameterError, match="2, but the rows have 3 different labels"):
        GaussianMixture(2, covariance_type="shared_spherical").fit(rows, some)
    ignored = GaussianMixture(2, random_state=0, covariance_type="shared_spherical").fit(
        rows, label
    )
    assert not hasattr(ignored, "classes_")


def test_save__keeps_answers(fitted, tmp_path):
    rows, _, _, model = fitted
    path = model.save(tmp_path / "model.zarr")
    again = bigtensor.load(path)
    np.testing.assert_array_equal(again.predict_proba(rows[:100]), model.predict_proba(rows[:100]))
    np.testing.assert_array_equal(again.means_, model.means_)


@pytest.mark.parametrize("k", [2, 4, 11])
@pytest.mark.quick_cases("2", "4")
def test_tied__of_numbers_that_moments_do_not_determine_is_fitted_from_clusters(k):
    rows, _, _ = drawn(2000, k=k)
    model = GaussianMixture(k, covariance_type="tied", random_state=0).fit(rows)
    assert "moments" not in model.diagnostics_["pilot"]["log_likelihood"]
    peer = Peer(k, covariance_type="tied", n_init=3, random_state=0).fit(rows)
    assert model.score(rows) > peer.score(rows) - 0.001


@pytest.mark.parametrize("kind", ["shared_spherical", "tied"])
def test_one_component__is_the_mean_and_the_covariance(kind):
    rows, _, _ = drawn(500)
    model = GaussianMixture(1, covariance_type=kind).fit(rows)
    np.testing.assert_allclose(model.means_[0], rows.mean(axis=0), atol=1e-6)
    covariance = np.cov(rows.T, bias=True)
    expected = covariance if kind == "tied" else np.trace(covariance) / 10
    np.testing.assert_allclose(model.covariances_, expected, atol=1e-6)


def test_errors__name_the_parameter():
    rows, _, _ = drawn(100)
    for k in (0, 2.5, None):
        with pytest.raises(ParameterError, match="n_components"):
            GaussianMixture(k, covariance_type="shared_spherical").fit(rows)
    for parameter, value in (
        ("covariance_type", "round"),
        ("n_init", 0),
        ("reg_covar", -1),
        ("tol", 0),
    ):
        with pytest.raises(ParameterError, match=parameter):
            GaussianMixture(2, **{parameter: value}).fit(rows)
    with pytest.raises(DataError, match="100 rows, fewer than the 101 components"):
        GaussianMixture(101, covariance_type="shared_spherical").fit(rows)
    with pytest.raises(DataError, match="same values"):
        GaussianMixture(2, covariance_type="shared_spherical").fit(np.ones((50, 3)))


def test_missing_rows__are_an_error_or_left_out():
    rows, _, means = drawn(4000)
    rows[7, 3] = np.nan
    with pytest.raises(DataError, match="missing"):
        GaussianMixture(12, covariance_type="shared_spherical").fit(rows)
    with pytest.warns(MissingValueWarning):
        model = GaussianMixture(
            12, missing="omit", random_state=0, covariance_type="shared_spherical"
        ).fit(rows)
    assert distance(means, model.means_) < 0.2


@pytest.mark.slow  # a law on every model
def test_outlier__is_left_out_and_said(fitted):
    rows, _, means, _ = fitted
    far = rows.copy()
    far[5] = 1e6
    with pytest.warns(ConditioningWarning, match=r"1 row lies far .* \(row 5\)"):
        model = GaussianMixture(12, random_state=0, covariance_type="shared_spherical").fit(far)
    assert distance(means, model.means_) < 0.2


@pytest.mark.slow  # tests of bad input have fewer rows
def test_constant_and_duplicated_features__do_no_harm(fitted):
    rows, label, _, _ = fitted
    wide = np.hstack([rows, rows[:, :2], np.ones((len(rows), 1))])
    with pytest.warns(ConstantFeatureWarning):
        model = GaussianMixture(12, random_state=0, covariance_type="shared_spherical").fit(wide)
    table = np.zeros((12, 12))
    np.add.at(table, (label, model.predict(wide)), 1)
    matched = table[linear_sum_assignment(-table)].sum()
    assert matched > 0.97 * len(rows)


def test_too_many_components__are_said():
    rows = np.repeat(np.eye(3), 50, axis=0) + 1e-3 * default_rng(0).normal(size=(150, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GaussianMixture(3, random_state=0, covariance_type="shared_spherical").fit(rows)
    assert not caught
    assert sorted(np.round(model.weights_, 6)) == [pytest.approx(1 / 3, abs=1e-5)] * 3
    with pytest.warns(ConditioningWarning):
        GaussianMixture(8, random_state=0, covariance_type="shared_spherical").fit(
            np.repeat(np.eye(3), 50, axis=0) * 1.0
        )


@pytest.mark.parametrize("seed", first_quick([0, 1]))
@pytest.mark.slow  # 1,797 images of 64 pixels
def test_tied__does_not_take_rare_pixels_for_components(seed):
    images, digit = load_digits(return_X_y=True)
    with pytest.warns(ConstantFeatureWarning, match="'x0', 'x32', 'x39'"):
        model = GaussianMixture(10, covariance_type="tied", random_state=seed).fit(images)
    peer = Peer(10, covariance_type="tied", random_state=seed).fit(images)
    assert model.diagnostics_["pilot"]["initialisation"] != "moments"
    assert adjusted_rand_score(digit, model.predict(images)) > 0.4
    assert (model.weights_ * len(images)).min() > 20
    assert len(model.weights_) == 10
    assert adjusted_rand_score(digit, peer.predict(images)) > 0.6


@pytest.mark.parametrize("tied", [False, True])
def test_judged__gives_rows_of_a_dropped_component_to_the_nearest(tied):
    covariance = np.diag([1.0, 2.0]) if tied else np.ones(2)
    weights, means = np.array([0.6, 0.399, 0.001]), np.array([[0.0, 0], [8, 0], [0, 10]])
    components = GaussianComponents(weights, means, covariance, (("x", ("a", "b")),), "float64")
    shape = DataShape(1000, components.views, "float64", False, 1000.0)
    kind = "tied" if tied else "shared_spherical"
    settings = GaussianSettings(
        shape,
        n_components=3,
        criterion=None,
        covariance_type=kind,
        n_populations=None,
        init="kmeans",
        n_init=1,
        strength=Strength(1e-6),
        max_iter=1,
        tol=1e-5,
        pilot_rows=1000,
        random_state=0,
    )
    shapes = {
        "two_groups": 0,
        "tails": 0.0,
        "most_skewed": {"feature": "a", "skewness": 0.0},
        "wide_features": ["a", "b"],
    }
    told = {
        "outlying_rows": 0,
        "first_outlying_rows": [],
        "pilot": {"rows": 1000, "shapes": shapes},
    }
    with pytest.warns(ConditioningWarning, match="2 of the 3 components asked for"):
        solved = judged(components, settings, told)
    kept = solved.fitted
    np.testing.assert_allclose(kept.weights, [0.601, 0.399])
    np.testing.assert_allclose(kept.means, [[0, 10 / 601], [8, 0]])
    # 0.001 of the rows lie 10 away, along the second feature, from the other 0.6
    spread = 100 * 0.6 * 0.001 / 0.601
    expected = np.diag([1.0, 2 + spread]) if tied else np.full(2, 1 + spread / 2)
    np.testing.assert_allclose(kept.covariance, expected)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.quick_cases("False")
def test_attributes__are_those_of_the_peer(tied):
    rows, _, _ = drawn(4000, 8, 6)
    kind = "tied" if tied else "shared_spherical"
    model = GaussianMixture(6, covariance_type=kind, max_iter=50, random_state=0).fit(rows)
    names = {name for name in vars(Peer(6).fit(rows)) if name.endswith("_")}
    assert names <= {name for name in dir(model) if name.endswith("_")}
    public = {name for name in dir(Peer) if not name.startswith("_")}
    assert public - {"set_fit_request", "set_score_request"} <= set(dir(GaussianMixture))
    whole = model.covariances_ if tied else model.covariances_ * np.eye(8)
    precision = model.precisions_ if tied else model.precisions_ * np.eye(8)
    np.testing.assert_allclose(precision @ whole, np.eye(8), atol=1e-8)
    factor = np.atleast_2d(model.precisions_cholesky_)
    np.testing.assert_allclose(factor @ factor.T, np.atleast_2d(model.precisions_))
    np.testing.assert_array_equal(factor, np.triu(factor))
    assert model.converged_
    assert model.n_iter_ == len(model.lower_bounds_) < 50
    assert model.lower_bound_ == model.lower_bounds_[-1] >= model.lower_bounds_[0]
    assert abs(model.lower_bound_ - model.score(rows)) < 1e-4
    once = GaussianMixture(6, covariance_type=kind, max_iter=1, random_state=0).fit(rows)
    assert (once.n_iter_, once.converged_) == (1, False)


UNITS = 10.0 ** default_rng(5).uniform(-4, 4, 8)


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.quick_cases("False")
def test_tied__does_not_depend_on_units_and_offsets(skewed):
    rows, _, _ = drawn(4000, 8, 6, 0.5)
    if skewed:
        # no mixture of Gaussians: clusters win
        rows = np.exp(2 * rows)
    plain = GaussianMixture(6, covariance_type="tied", random_state=0).fit(rows)
    moved = GaussianMixture(6, covariance_type="tied", random_state=0).fit(rows * UNITS - 3 * UNITS)
    assert (
        moved.diagnostics_["pilot"]["initialisation"]
        == plain.diagnostics_["pilot"]["initialisation"]
    )
    same = plain.predict(rows) == moved.predict(rows * UNITS - 3 * UNITS)
    assert same.mean() > 0.999
    np.testing.assert_allclose(moved.means_ / UNITS + 3, plain.means_, rtol=1e-4, atol=1e-4)
