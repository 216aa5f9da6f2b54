"""Gaussian mixtures of rows with missing entries."""

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from bigtensor import GaussianMixture, KernelMixture, TensorTrainDensity, load
from bigtensor.errors import (
    ConditioningWarning,
    DataError,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
)

KINDS = ("full", "diag", "spherical")


def two_groups(seed, n=3000):
    """Return rows of two groups of correlated features, and the groups."""
    rng = default_rng(seed)
    group = rng.integers(0, 2, n)
    mixing = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.3], [0.0, 0.0, 1.0]])
    return rng.normal(size=(n, 3)) @ mixing + 5 * group[:, None] * [1.0, 0, 1], group


def without_some(values, seed, share=0.2):
    holes = values.copy()
    holes[default_rng(seed).random(values.shape) < share] = np.nan
    return holes


@pytest.mark.parametrize("kind", KINDS)
def test_complete_rows__have_the_same_bits_under_every_rule(kind):
    values, _ = two_groups(0, 400)
    fits = [
        GaussianMixture(2, covariance_type=kind, missing=rule, n_init=2).fit(values)
        for rule in ("raise", "marginalise")
    ]
    np.testing.assert_array_equal(fits[0].means_, fits[1].means_)
    np.testing.assert_array_equal(fits[0].covariances_, fits[1].covariances_)


def test_entries_that_are_missing_by_what_is_seen__do_not_move_the_means():
    # the second feature is missing where the first, with which it is correlated, is large
    rng = default_rng(1)
    first = rng.normal(size=4000)
    values = np.stack([first, first + 0.3 * rng.normal(size=4000)], axis=1)
    values[first > 0.5, 1] = np.nan
    model = GaussianMixture(1, missing="marginalise", max_iter=100, tol=1e-9).fit(values)
    np.testing.assert_allclose(model.means_[0], [0, 0], atol=0.06)
    np.testing.assert_allclose(model.covariances_[0], [[1, 1], [1, 1.09]], atol=0.1)
    with pytest.warns(MissingValueWarning):
        omitted = GaussianMixture(1, missing="omit").fit(values)
    assert omitted.means_[0, 1] < -0.4


def test_likelihood__never_falls_and_ends_where_a_direct_search_ends():
    values = without_some(two_groups(3, 600)[0], 3)
    model = GaussianMixture(2, missing="marginalise", max_iter=50, tol=1e-10, reg_covar=1e-9)
    model.fit(values)
    assert model.converged_
    bounds = np.array(model.lower_bounds_)
    assert (np.diff(bounds) > -1e-9).all()

    def likelihood(shift):
        moved = GaussianMixture(
            2,
            missing="marginalise",
            max_iter=1,
            weights_init=model.weights_,
            means_init=model.means_ + shift,
            precisions_init=model.precisions_,
        ).fit(values)
        return moved.lower_bounds_[0]

    best = likelihood(np.zeros((2, 3)))
    for place in np.ndindex(2, 3):
        for step in (-0.02, 0.02):
            shift = np.zeros((2, 3))
            shift[place] = step
            assert likelihood(shift) < best


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_holes__are_clustered_nearly_as_complete_rows(kind):
    values, group = two_groups(4)
    holes = without_some(values, 4)
    model = GaussianMixture(2, covariance_type=kind, missing="marginalise", n_init=3).fit(holes)
    complete = GaussianMixture(2, covariance_type=kind, n_init=3).fit(values)
    assert adjusted_rand_score(group, model.predict(holes)) > 0.8
    assert model.score(values) == pytest.approx(complete.score(values), abs=0.02)


def test_wine_with_holes__is_fitted_better_than_its_few_complete_rows():
    values, kind = load_wine(return_X_y=True)
    holes = without_some(values, 0, share=0.1)
    options = {"covariance_type": "diag", "random_state": 0}
    kept = GaussianMixture(3, missing="marginalise", **options).fit(holes)
    with pytest.warns(MissingValueWarning):
        omitted = GaussianMixture(3, missing="omit", **options).fit(holes)
    assert kept.score(values) > omitted.score(values) + 0.5
    assert adjusted_rand_score(kind, kept.predict(holes)) > 0.75


@pytest.mark.slow  # other rows with holes are quick
def test_features_that_sum_to_another_with_holes__are_fitted():
    # sums of three features, like the mean of three colours, have no noise of their own
    rng = default_rng(0)
    own = rng.normal(size=(900, 8)) + 4 * rng.integers(0, 3, 900)[:, None] * rng.normal(size=8)
    values = np.column_stack([own, own[:, :3].sum(axis=1), own[:, 3:6].sum(axis=1)])
    values /= values.std(axis=0)
    model = GaussianMixture(3, missing="marginalise").fit(without_some(values, 1))
    assert model.score(values) > GaussianMixture(3, reg_covar=1e-3).fit(values).score(values)
    smallest = np.linalg.eigvalsh(model.covariances_).min()
    assert smallest >= 0.9 * model.diagnostics_["pilot"]["reg_covar"]


def test_row_without_entries__has_the_weights_of_the_components():
    values, _ = two_groups(5)
    model = GaussianMixture(2, missing="marginalise", n_init=2).fit(values)
    empty = np.full((1, 3), np.nan)
    np.testing.assert_allclose(model.predict_proba(empty)[0], model.weights_, rtol=1e-6)
    assert model.score_samples(empty)[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_number_of_components__is_chosen_from_rows_with_holes():
    values, _ = two_groups(6)
    model = GaussianMixture(missing="marginalise", n_init=2, reg_covar=1e-6)
    assert len(model.fit(without_some(values, 6)).weights_) == 2


def test_labelled_rows_with_holes__name_the_components():
    values, group = two_groups(7)
    labels = np.where(np.arange(len(values)) < 200, group.astype(str), "")
    holes = without_some(values, 7)
    # no labelled row of one group has the last feature
    holes[:200, 2] = np.where(group[:200] == 1, np.nan, holes[:200, 2])
    model = GaussianMixture(missing="marginalise", reg_covar=1e-6).fit(holes, labels)
    assert model.classes_.tolist() == ["0", "1"]
    assert np.mean(model.predict(holes) == group) > 0.9


def test_saved_model__sums_over_missing_entries(tmp_path):
    holes = without_some(two_groups(8, 300)[0], 8)
    model = GaussianMixture(2, missing="marginalise", n_init=2, reg_covar=1e-6).fit(holes)
    model.save(tmp_path / "model.zarr")
    np.testing.assert_array_equal(
        load(tmp_path / "model.zarr").predict_proba(holes), model.predict_proba(holes)
    )


def test_errors__name_the_feature_and_the_remedy():
    values, _ = two_groups(9, 300)
    for kind in ("tied", "shared_spherical"):
        with pytest.raises(ParameterError, match="omit"):
            GaussianMixture(2, covariance_type=kind, missing="marginalise").fit(values)
    values[:, 1] = np.nan
    with pytest.raises(DataError, match="has no entry"):
        GaussianMixture(2, missing="marginalise").fit(values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases("diag", "spherical")
def test_rows_with_holes__have_the_samenesses_of_complete_rows(kind):
    holes = without_some(two_groups(10, 600)[0], 10)
    options = {"covariance_type": kind, "missing": "marginalise", "n_init": 2, "reg_covar": 1e-6}
    model = GaussianMixture(2, **options).fit(holes)
    scores = model.score_samples(holes)
    order = [2, 0, 1]
    turned = GaussianMixture(2, **options).fit(holes[:, order])
    np.testing.assert_allclose(turned.score_samples(holes[:, order]), scores, atol=1e-9)
    units = np.full(3, 1e3) if kind == "spherical" else np.array([1e3, 1e-4, 7.0])
    scaled = GaussianMixture(2, **options).fit(holes * units)
    volume = np.where(np.isnan(holes), 0.0, np.log(units)).sum(axis=1)
    np.testing.assert_allclose(scaled.score_samples(holes * units) + volume, scores, atol=1e-9)
    weight = default_rng(10).integers(1, 3, len(holes))
    weighted = GaussianMixture(2, **options).fit(holes, sample_weight=weight.astype(float))
    repeated = GaussianMixture(2, **options).fit(np.repeat(holes, weight, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-9)
    far = holes.copy()
    far[5] = [1e6, np.nan, 0]
    left_out = GaussianMixture(2, **options)
    with pytest.warns(ConditioningWarning, match="row 5"):
        left_out.fit(far)
    others = np.arange(len(holes)) != 5
    shift = np.abs(left_out.score_samples(holes) - scores)[others].mean()
    assert shift < 0.02


@pytest.mark.parametrize("model", [GaussianMixture(3), TensorTrainDensity(missing="raise")])
def test_infinity__is_not_said_to_be_marginalised(model) -> None:
    rows, _ = load_wine(return_X_y=True)
    rows[7, 2] = np.inf
    with pytest.raises(MissingValueError, match=r"if .* NaN .*infinity are left out"):
        model.fit(rows)


def test_missing_entries__are_an_error_that_names_the_rules() -> None:
    rows, _ = load_wine(return_X_y=True)
    holes = rows.copy()
    holes[7, 2] = np.nan
    with pytest.raises(MissingValueError, match=r"row 7.*missing='marginalise'"):
        GaussianMixture(3).fit(holes)
    with pytest.raises(MissingValueError, match=r"missing='omit' to leave them out$"):
        KernelMixture(3).fit(holes)
