"""Bad input of kernel component analysis, and data that do not support it."""

import numpy as np
import pytest

from bigtensor import KernelICA
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
)
from bigtensor.models.sources.kernel_ica.settings import without_effect
from tests.models.sources.ica.problems import problem


@pytest.fixture(scope="module")
def rows():
    return problem("laplace", 4, 4, 2_000, seed=1)[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components is 0; .* at least 1"),
        ({"n_components": None}, "n_components is needed: "),
        ({"kernel": "rbf"}, "kernel is 'rbf'; .* gaussian, laplace"),
        ({"bandwidth": -1.0}, "bandwidth is -1.0; .* positive"),
        ({"n_landmarks": 1}, "n_landmarks is 1"),
        ({"max_iter": 0}, "max_iter is 0"),
        (
            {"n_components": 5, "kernel": "linear"},
            "n_components=5 .*4 f.*kernel='gaussian'",
        ),
        (
            {"n_components": 30, "n_landmarks": 20},
            "n_components=30 exceeds the 20 landmarks.*n_landmarks",
        ),
    ],
)
def test_parameters__out_of_range_are_errors(rows, settings, message):
    with pytest.raises(ParameterError, match=message):
        KernelICA(**{"n_components": 2, **settings}).fit(rows)


def test_parameters_of_a_kernel__have_no_effect_on_the_linear_one():
    told = without_effect(KernelICA(2, kernel="linear", bandwidth=2.0))
    assert "bandwidth has no effect" in str(told)
    assert "n_landmarks has no" in str(without_effect(KernelICA(2, kernel="linear", n_landmarks=9)))
    assert without_effect(KernelICA(2, bandwidth=2.0)) is None


def test_bad_rows__are_errors(rows):
    with pytest.raises(DataError, match="3 rows, fewer than the 4 "):
        KernelICA(4).fit(rows[:3])
    with pytest.raises(DataError, match="all features are constant"):
        KernelICA(2).fit(np.full((100, 3), 7.0))
    bad = rows.copy()
    bad[7, 2] = np.nan
    with pytest.raises(MissingValueError, match="row 7"):
        KernelICA(4).fit(bad)


@pytest.mark.slow
def test_rows_with_missing_values__are_left_out(rows):
    bad = rows.copy()
    bad[7, 2] = np.nan
    model = KernelICA(3, missing="omit", random_state=0)
    with pytest.warns(MissingValueWarning, match="row 7, feature 'x2'"):
        answered = model.fit_transform(bad)
    assert np.isnan(answered[7]).all()
    without = np.delete(bad, 7, axis=0)
    alone = KernelICA(3, random_state=0).fit(without).transform(without)
    assert np.abs(np.delete(answered, 7, axis=0) - alone).max() < 0.05


def test_more_sources_than_distinct_rows__are_returned_as_fewer():
    few = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 50, axis=0)
    with pytest.warns(ConditioningWarning, match="vary along 3 axes only.*n_components=3"):
        found = KernelICA(6, random_state=0).fit(few)
    assert found.transform(few).shape == (200, 3)


@pytest.mark.slow
def test_constant_features_and_outliers__have_no_part(rows):
    wide = np.insert(rows, 2, 5.0, axis=1)
    wide[11, 0] = 1e6
    with (
        pytest.warns(ConstantFeatureWarning, match="Feature 'x2' has one value only"),
        pytest.warns(ConditioningWarning, match="row lies far from all others"),
    ):
        found = KernelICA(3, random_state=0).fit(wide)
    assert found.bandwidth_ == pytest.approx(2.0)
    assert not found.correlations_[:, 2].any()
    kept = np.arange(len(rows)) != 11
    alone = KernelICA(3, random_state=0).fit(rows[kept]).transform(rows[kept])
    answered = found.transform(wide)
    assert np.isfinite(answered).all()
    assert np.abs(answered[kept] - alone).max() < 0.02
    changed = wide.copy()
    changed[:, 2] = 9.0
    assert np.array_equal(found.transform(changed), answered)


def test_narrow_kernels__are_told(rows):
    with pytest.warns(ConditioningWarning, match=r"sources explain .* % .*bandwidth"):
        KernelICA(2, bandwidth=0.05, random_state=0).fit(rows)


def test_wide_kernels__are_linear_analysis(rows):
    wide = KernelICA(4, bandwidth=200.0, random_state=0).fit(rows.astype("f8"))
    linear = KernelICA(4, kernel="linear", random_state=0).fit(rows.astype("f8"))
    one, other = wide.transform(rows), linear.transform(rows)
    agreement = np.abs(np.corrcoef(one.T, other.T)[:4, 4:]).max(axis=1)
    assert agreement.min() > 0.999


def test_weights__leave_rows_out(rows):
    noise = np.random.default_rng(0).uniform(-2, 2, rows.shape).astype("f4")
    weight = np.repeat([1.0, 0.0], len(rows))
    both = np.concatenate([rows, noise])
    found = (
        KernelICA(4, kernel="linear", random_state=0)
        .fit(both, sample_weight=weight)
        .transform(rows)
    )
    alone = KernelICA(4, kernel="linear", random_state=0).fit(rows).transform(rows)
    agreement = np.abs(np.corrcoef(found.T, alone.T)[:4, 4:]).max(axis=1)
    assert agreement.min() > 0.999
