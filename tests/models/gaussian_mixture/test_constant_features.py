"""Constant features have no part in a Gaussian mixture, and a warning names them."""

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_iris, load_wine

from bigtensor import GaussianMixture, load
from bigtensor.errors import ConstantFeatureWarning
from bigtensor.models.gaussian_mixture.declared_parameters import COVARIANCE_TYPES
from tests.parameters import first_quick


def with_constants(rows, number, value=5.0):
    """Return rows with constant columns after the first one."""
    return np.insert(rows, [1] * number, value, axis=1)


def fitted(rows, *arguments, **parameters):
    with pytest.warns(ConstantFeatureWarning) as caught:
        model = GaussianMixture(*arguments, **parameters).fit(rows)
    assert sum(each.category is ConstantFeatureWarning for each in caught) == 1
    return model


# the choice of the number of components takes seconds a kind
CHOSEN = [(kind, "auto", number) for number in (1, 10) for kind in COVARIANCE_TYPES]
QUICK = [("full", "auto", 1), *((kind, 3, 1) for kind in COVARIANCE_TYPES if kind != "full")]


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize(
    ("kind", "n_components", "number"), first_quick([*QUICK, *CHOSEN[1:]], len(QUICK))
)
@pytest.mark.quick_cases("tied-3-1", "diag-3-1", "spherical-3-1", "shared_spherical-3-1")
def test_constant_features__change_no_component(kind, n_components, number):
    rows = load_iris().data
    without = GaussianMixture(n_components, covariance_type=kind).fit(rows)
    wide = with_constants(rows, number)
    model = fitted(wide, n_components, covariance_type=kind)
    np.testing.assert_array_equal(model.predict(wide), without.predict(rows))
    np.testing.assert_allclose(model.means_, without.means_, rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(wide), without.score_samples(rows), rtol=1e-9)


def test_constant_features__are_named():
    rows = load_iris().data
    with pytest.warns(ConstantFeatureWarning, match="'x1', 'x2' .* 150 rows .*views"):
        model = GaussianMixture(3).fit(with_constants(rows, 2))
    assert model.diagnostics_["constant_features"] == {"x1": ["x1"], "x2": ["x2"]}
    assert any("'x1', 'x2'" in said for said in model.diagnostics_["verdict"]["sentences"])
    assert model.views_.names == ("x0", "x3", "x4", "x5")
    assert model.n_features_in_ == 6


def test_constant_features__are_named_in_rounds():
    rows = with_constants(load_iris().data, 2)
    with pytest.warns(ConstantFeatureWarning):
        model = GaussianMixture(2, random_state=0).prepare(rows)
    model.solve(model.accumulate(rows))
    assert any("'x1', 'x2'" in said for said in model.diagnostics_["verdict"]["sentences"])


def test_constant_features__have_no_say_in_the_regularisation():
    values, _ = load_wine(return_X_y=True)
    train, other = np.array_split(default_rng(0).permutation(values), 2)
    without = GaussianMixture(1, random_state=0).fit(train)
    model = fitted(with_constants(train, 1, 0.1), 1, random_state=0)
    chosen = without.diagnostics_["pilot"]["reg_covar"]
    assert model.diagnostics_["pilot"]["reg_covar"] == chosen > 0.01
    scores = model.score_samples(with_constants(other, 1, 0.1))
    np.testing.assert_allclose(scores, without.score_samples(other), rtol=1e-6)


@pytest.mark.parametrize("kind", ["full", "diag"])
@pytest.mark.quick_cases("full")
def test_missing_entries_of_a_constant_feature__do_not_hide_it(kind):
    rows = with_constants(load_iris().data, 1)
    rows[::7, 1] = np.nan
    rows[3, 0] = np.nan
    model = fitted(rows, 3, covariance_type=kind, missing="marginalise")
    assert model.views_.names == ("x0", "x2", "x3", "x4")
    assert np.isfinite(model.score_samples(rows)).all()


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConstantFeatureWarning")
@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_initial_arrays__lose_their_constant_features(kind):
    rows = load_iris().data
    wide = with_constants(rows, 1)
    start = GaussianMixture(3, covariance_type=kind, reg_covar=1e-6).fit(rows)
    precisions = np.asarray(start.precisions_)
    for axis in {"full": (1, 2), "tied": (0, 1), "diag": (1,)}[kind]:
        precisions = np.insert(precisions, 1, 0.0, axis=axis)
    # the constant feature has a precision of its own
    precisions[(..., 1, 1) if kind != "diag" else (..., 1)] = 1.0
    model = GaussianMixture(
        3,
        covariance_type=kind,
        weights_init=start.weights_,
        means_init=with_constants(start.means_, 1),
        precisions_init=precisions,
        max_iter=0,
    ).fit(wide)
    np.testing.assert_allclose(model.means_, start.means_)
    np.testing.assert_allclose(model.covariances_, start.covariances_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConstantFeatureWarning")
@pytest.mark.slow  # a fit that starts anew is quick
def test_warm_start__goes_on_without_the_constant_features():
    rows = with_constants(load_iris().data, 1)
    model = GaussianMixture(3, warm_start=True).fit(rows)
    first = model.lower_bounds_[-1]
    model.fit(rows)
    assert model.diagnostics_["pilot"]["initialisation"] == "given"
    assert model.lower_bounds_[0] >= first - 1e-9
    # a feature that varies now is one that the last fit has no mean for
    rows[:, 1] = default_rng(0).normal(size=len(rows))
    assert model.fit(rows).means_.shape == (3, 5)
    assert model.diagnostics_["pilot"]["initialisation"] != "given"


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConstantFeatureWarning")
@pytest.mark.slow  # a fit without rounds is quick
def test_rounds_and_files__keep_the_other_features(tmp_path):
    rows = with_constants(load_iris().data, 1)
    model = GaussianMixture(3)
    model.prepare(rows)
    model = load(model.save(tmp_path / "prepared.zarr"))
    model.solve(model.accumulate(rows))
    again = load(model.save(tmp_path / "solved.zarr"))
    assert again.views_.names == ("x0", "x2", "x3", "x4")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
