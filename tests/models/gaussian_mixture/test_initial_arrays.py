"""Tests of arrays that a Gaussian mixture starts from, and of warm starts."""

from __future__ import annotations

import numpy as np
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
    order = np.argsort(-peer.weights_)
    np.testing.assert_allclose(model.means_, peer.means_[order], rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(model.weights_, peer.weights_[order], atol=1e-3)
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
        ({"covariance_type": "tied", "weights_init": [0.2, 0.3, 0.5]}, "means_init"),
    ],
)
def test_arrays_that_do_not_fit__are_named(rows, arrays, named) -> None:
    with pytest.raises(ParameterError, match=named):
        GaussianMixture(K, **arrays).fit(rows)
