"""The choice between features in units of their spread and features as they are."""

import numpy as np
import pytest

from bigtensor import KernelMixture

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
def test_units_that_are_settled__are_not_compared(parameters, units):
    X = ring()
    model = KernelMixture(**{**POPULATIONS, **parameters}).fit(X)
    assert model.diagnostics_["units"] == units
    assert "units_likelihood" not in model.diagnostics_


def test_rows_in_another_unit__have_the_same_choice_and_the_same_labels():
    X = ring()
    first, second = (KernelMixture(**POPULATIONS).fit(factor * X) for factor in (1.0, 2.0**10))
    np.testing.assert_array_equal(second.predict(2.0**10 * X), first.predict(X))
    ours, theirs = (model.diagnostics_["units_likelihood"] for model in (first, second))
    assert theirs["common"] - theirs["own"] == pytest.approx(ours["common"] - ours["own"])
