"""The choice between features in units of their spread and features as they are."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture
from bigtensor.models.kernel_mixture.choices.held_out_densities import spread_rounded

pytestmark = [
    pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning"),
    pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning"),
]

POPULATIONS = {"n_components": 30, "n_populations": 3, "pilot_rows": 3000, "random_state": 0}


def ring(rows=3000, seed=0):
    """Two wide features on a ring, which takes many components, and six narrow ones of noise."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, rows)
    wide = 4 * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.column_stack([wide, np.zeros((rows, 6))]) + 0.3 * rng.normal(size=(rows, 8))


@pytest.mark.slow  # features of different units are quick
def test_features_on_one_scale__are_compared_as_they_are():
    X = ring()
    model = KernelMixture(**POPULATIONS).fit(X)
    chosen = model.diagnostics_["units_likelihood"]
    assert model.diagnostics_["units"] == "common"
    assert chosen["common"] - chosen["own"] > chosen["standard_error"]
    assert any("held-out rows are then more likely" in str(n) for n in model.diagnostics_["notes"])


def test_features_of_different_units__are_compared_by_their_spread():
    X = ring()
    # noise in a unit that makes it by far the widest
    X[:, 7] *= 1000
    model = KernelMixture(**POPULATIONS).fit(X)
    chosen = model.diagnostics_["units_likelihood"]
    assert model.diagnostics_["units"] == "own"
    assert chosen["common"] <= chosen["own"] + chosen["standard_error"]
    assert any("compared by their spread, because" in str(n) for n in model.diagnostics_["notes"])


@pytest.mark.parametrize(
    ("parameters", "units"),
    [
        ({"units": "own"}, "own"),
        ({"units": "common"}, "common"),
        # of several features in a view, likelihoods are not compared
        ({"views": {"a": [0, 1], "b": [2, 3], "c": [4, 5, 6, 7]}}, "own"),
        # components alone are what the first parameters say
        ({"n_components": 3, "n_populations": None, "merging": None}, "own"),
    ],
)
@pytest.mark.quick_cases("parameters1-common", "parameters2-own")
def test_units_that_are_settled__are_not_compared(parameters, units):
    X = ring()
    model = KernelMixture(**{**POPULATIONS, **parameters}).fit(X)
    assert model.diagnostics_["units"] == units
    assert "units_likelihood" not in model.diagnostics_


@pytest.mark.slow  # tests of units have smaller fits
def test_rows_in_another_unit__have_the_same_choice_and_the_same_labels():
    X = ring()
    first, second = (KernelMixture(**POPULATIONS).fit(factor * X) for factor in (1.0, 2.0**10))
    np.testing.assert_array_equal(second.predict(2.0**10 * X), first.predict(X))
    ours, theirs = (model.diagnostics_["units_likelihood"] for model in (first, second))
    assert theirs["common"] - theirs["own"] == pytest.approx(ours["common"] - ours["own"])


@pytest.mark.slow  # the rounding itself is quick
def test_rounded_features__have_the_units_of_the_others():
    """Components on single whole numbers would make rows likely that are compared by spread."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 3000)
    X = np.column_stack([6 * label, 0.2 * rng.normal(size=3000), np.zeros(3000)])
    X += rng.normal(size=X.shape)
    for values in (X, np.round(X)):
        model = KernelMixture(n_populations=2, random_state=0).fit(values)
        assert model.diagnostics_["units"] == "common"
        assert adjusted_rand_score(label, model.predict(values)) > 0.95


@pytest.mark.parametrize("step", [1.0, 0.25])
def test_spread_rounded__fills_the_step_and_moves_no_value_farther(step):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2)) * 3
    X[:, 0] = step * np.round(X[:, 0] / step)
    X[5, 1] = np.nan
    spread = spread_rounded(X, 0)
    moved = spread - X
    assert np.abs(moved[:, 0]).max() <= step / 2
    assert moved[:, 0].std() == pytest.approx(step / np.sqrt(12), rel=0.05)
    # measured values lie so close that they hardly move
    assert np.nanmax(np.abs(moved[:, 1])) < 1e-4
    np.testing.assert_array_equal(np.isnan(spread), np.isnan(X))
    # codes of categories are no measurements
    np.testing.assert_array_equal(spread_rounded(X, 0, ignored=(0,))[:, 0], X[:, 0])
    # errors of arithmetic are no steps
    noisy = X[:, :1] + 1e-15 * rng.normal(size=(4000, 1))
    assert (spread_rounded(noisy, 0) - noisy).std() > step / 4
    constant = np.ones((10, 1))
    np.testing.assert_array_equal(spread_rounded(constant, 0), constant)


def test_categories_beside_measured_features__are_left_as_they_are():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 1500)
    measured = 4 * label[:, None] + rng.normal(size=(1500, 3))
    codes = np.where(rng.uniform(size=1500) < 0.8, label, rng.integers(0, 3, 1500))
    X = np.column_stack([measured, codes])
    model = KernelMixture(6, n_populations=2, kernel={"x3": "delta"}, random_state=0).fit(X)
    assert "units_likelihood" in model.diagnostics_
    assert adjusted_rand_score(label, model.predict(X)) > 0.7
