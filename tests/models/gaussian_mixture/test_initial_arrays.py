"""Tests of arrays that a Gaussian mixture starts from, and of warm starts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture as Peer

from bigtensor import GaussianMixture, load
from bigtensor.errors import ParameterError

K, D = 3, 4
KINDS = ["full", "tied", "diag", "spherical"]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(K, D))
    drawn = means[rng.integers(0, K, 900)] + rng.normal(size=(900, D))
    # in order of their content, features are others than in that of the columns
    return (drawn * [1, 10, 0.1, 3])[:, ::-1]


@pytest.mark.parametrize("kind", KINDS)
def test_given_parameters__are_where_iterations_start(rows: np.ndarray, kind: str) -> None:
    peer = Peer(K, covariance_type=kind, max_iter=300, tol=1e-7, random_state=0).fit(rows)
    model = GaussianMixture(
        covariance_type=kind,
        reg_covar=1e-9,
        weights_init=peer.weights_,
        means_init=peer.means_,
        precisions_init=peer.precisions_,
    ).fit(rows)
    np.testing.assert_allclose(model.means_, peer.means_, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(model.weights_, peer.weights_, atol=1e-3)
    assert model.diagnostics_["pilot"]["initialisation"] == "given"
    assert model.lower_bounds_[0] == pytest.approx(peer.score(rows), abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_means__are_enough(rows: np.ndarray, kind: str) -> None:
    start = rows[:K]
    model = GaussianMixture(K, covariance_type=kind, means_init=start.tolist()).fit(rows)
    assert model.means_.shape == (K, D)
    assert clone(model).get_params()["means_init"] == start.tolist()


def test_warm_start__goes_on_where_the_last_fit_ended(rows: np.ndarray) -> None:
    settings = {"max_iter": 1, "tol": 1e-9, "n_init": 1, "reg_covar": 1e-6}
    model = GaussianMixture(K, warm_start=True, **settings).fit(rows)
    first, means = model.lower_bound_, model.means_.copy()
    model.fit(rows)
    assert model.diagnostics_["pilot"]["initialisation"] == "given"
    assert model.lower_bound_ > first - 1e-12
    cold = GaussianMixture(K, **settings).fit(rows)
    np.testing.assert_array_equal(cold.means_, means)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases("tied", "diag", "spherical")
def test_warm_start__finds_features_by_name(rows: np.ndarray, kind: str) -> None:
    table = pd.DataFrame(rows, columns=list("abcdefgh")[:D])
    reversed_columns = table[table.columns[::-1]]
    model = GaussianMixture(K, covariance_type=kind, warm_start=True, random_state=0).fit(table)
    first = model.score(table)
    model.fit(reversed_columns)
    assert model.diagnostics_["pilot"]["initialisation"] == "given"
    # iterations raise the penalised likelihood, and not this one
    assert model.score(reversed_columns) > first - 1e-3
    two_views = {"p": list(table.columns[2:]), "q": list(table.columns[:2])}
    model.set_params(views=two_views, max_iter=1).fit(table)
    assert model.diagnostics_["pilot"]["initialisation"] == "given"
    assert model.score(table) > first - 1e-3


@pytest.mark.slow  # a warm start of one model is quick
def test_warm_start__of_another_model_starts_anew(rows: np.ndarray) -> None:
    model = GaussianMixture(K, warm_start=True, random_state=0).fit(rows)
    for changed in ({"n_components": K - 1}, {"covariance_type": "diag"}, {"reg_covar": 0.2}):
        model.set_params(**changed).fit(rows)
        cold = clone(model).set_params(warm_start=False).fit(rows)
        np.testing.assert_array_equal(model.means_, cold.means_)
    model.fit(rows[:, :2])
    assert model.means_.shape == (K - 1, 2)


def test_model_with_arrays__is_saved(rows: np.ndarray, tmp_path) -> None:
    model = GaussianMixture(K, means_init=rows[:K]).fit(rows)
    again = load(model.save(tmp_path / "model.zarr"))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_allclose(again.means_init, rows[:K])


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"weights_init": [0.5, 0.5, 0.5]}, "weights_init"),
        ({"means_init": np.zeros((2, D))}, "means_init"),
        ({"precisions_init": -np.ones((K, D, D))}, "precisions_init"),
        ({"means_init": np.zeros((K, D)), "views": {"a": [0, 1, 2, 3]}}, "views"),
    ],
)
def test_arrays_that_do_not_fit__are_named(rows, arrays, named) -> None:
    with pytest.raises(ParameterError, match=named):
        GaussianMixture(K, **arrays).fit(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_components__are_in_the_order_of_given_means(rows: np.ndarray, kind: str) -> None:
    means = GaussianMixture(K, covariance_type=kind).fit(rows).means_
    for order in ([0, 1, 2], [2, 0, 1]):
        model = GaussianMixture(K, covariance_type=kind, means_init=means[order]).fit(rows)
        np.testing.assert_allclose(model.means_, means[order], rtol=0.05, atol=0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_no_iteration__returns_what_is_given(rows: np.ndarray, kind: str) -> None:
    means = rows[:K] + 1
    model = GaussianMixture(K, covariance_type=kind, means_init=means, max_iter=0).fit(rows)
    np.testing.assert_allclose(model.means_, means)
    assert (model.n_iter_, model.converged_, model.lower_bound_) == (0, False, -np.inf)
    assert "No EM iteration" in " ".join(model.diagnostics_["verdict"]["sentences"])


@pytest.mark.parametrize("kind", ["tied", "shared_spherical"])
def test_weights_alone__stand_in_for_those_of_clusters(rows: np.ndarray, kind: str) -> None:
    weights = [0.2, 0.3, 0.5]
    model = GaussianMixture(K, covariance_type=kind, weights_init=weights, max_iter=0).fit(rows)
    np.testing.assert_allclose(np.sort(model.weights_), weights)


def test_warm_starts_of_one_iteration__converge(rows: np.ndarray) -> None:
    model = GaussianMixture(K, warm_start=True, max_iter=1, tol=1e-4).fit(rows)
    bounds = [model.lower_bound_]
    while not model.converged_:
        assert len(bounds) < 50
        bounds.append(model.fit(rows).lower_bound_)
    # the regularised M step is not that of the likelihood
    assert (np.diff(bounds) > -1e-5).all()


@pytest.mark.slow  # attributes beside those of scikit-learn are quick
def test_no_regularisation__is_that_of_scikit_learn(rows: np.ndarray) -> None:
    for kind in ("full", "diag", "spherical"):
        ours = GaussianMixture(K, covariance_type=kind, reg_covar=0, max_iter=300, tol=1e-9)
        peer = Peer(K, covariance_type=kind, reg_covar=0, n_init=10, max_iter=300, tol=1e-9)
        assert ours.fit(rows).score(rows) == pytest.approx(peer.fit(rows).score(rows), abs=1e-6)


def test_components_that_collapse__are_an_error_without_regularisation() -> None:
    two_values = np.repeat([[0.0, 0.0], [1.0, 1.0]], 50, axis=0)
    for kind in ("full", "diag", "spherical"):
        with pytest.raises(ParameterError, match="reg_covar"):
            GaussianMixture(2, covariance_type=kind, reg_covar=0).fit(two_values)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical", "tied", "shared_spherical"])
@pytest.mark.quick_cases("diag", "spherical", "tied", "shared_spherical")
def test_moments__are_an_initialisation_of_every_type(kind: str) -> None:
    rng = np.random.default_rng(5)
    means = 4 * rng.normal(size=(6, 8))
    label = rng.integers(0, 6, 4000)
    X = means[label] + rng.normal(size=(4000, 8))
    model = GaussianMixture(6, covariance_type=kind, init="moments").fit(X)
    assert model.diagnostics_["pilot"]["initialisation"] == "moments"
    clusters = GaussianMixture(6, covariance_type=kind, init="kmeans").fit(X)
    assert clusters.diagnostics_["pilot"]["initialisation"] != "moments"
    assert model.score(X) == pytest.approx(clusters.score(X), abs=0.01)


def test_moments_that_determine_too_few_components__are_refused(rows: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="init='kmeans'"):
        GaussianMixture(10, covariance_type="tied", init="moments").fit(rows)
