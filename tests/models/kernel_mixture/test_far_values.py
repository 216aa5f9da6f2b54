"""Rows in a far tail of a feature do not set its scale, and are told of."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture

# the farthest row of a tail may be left out as outlying
pytestmark = pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")


def groups_with_tail(share, seed=0, rows=3000):
    """Rows of twelve groups in six features, of which some have far values in four of them."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 12, rows)
    X = 3.5 * rng.integers(0, 3, (12, 6))[label] + rng.normal(size=(rows, 6))
    far = np.zeros(rows, bool)
    for feature in range(4):
        chosen = rng.uniform(size=rows) < share
        X[chosen, feature] -= rng.exponential(100, chosen.sum())
        far |= chosen
    return X, label, far


def notes_on_far_values(model):
    return [note for note in map(str, model.diagnostics_["notes"]) if "far beyond" in note]


@pytest.mark.slow  # three data sets; a tail that is told of is quick
def test_a_tail__hides_no_population():
    """The mean index was 0.99, and 0.94 with the tail in the sample.

    On processors with AVX-512 it is 0.964: last bits decide between two numbers of populations.
    """
    indices = []
    for seed in range(3):
        X, label, far = groups_with_tail(0.009, seed)
        model = KernelMixture(n_populations="auto", units="common", random_state=0).fit(X)
        indices.append(adjusted_rand_score(label[~far], model.predict(X[~far])))
    assert np.mean(indices) > 0.955


def test_a_tail__is_told_of_with_its_features():
    X, _, far = groups_with_tail(0.008)
    model = KernelMixture(n_populations=12, units="common", random_state=0).fit(X)
    (note,) = notes_on_far_values(model)
    share = float(note.split(" %")[0]) / 100
    # the nearest of the far values are within the range or near it
    assert 0.5 * far.mean() < share <= far.mean()
    assert all(name in note for name in model.views_.feature_names[:4])
    assert not any(name in note for name in model.views_.feature_names[4:])
    assert notes_on_far_values(KernelMixture(3, units="common", random_state=0).fit(X[~far])) == []


def test_rows_of_a_tail__have_labels_and_probabilities():
    X, _, far = groups_with_tail(0.008)
    model = KernelMixture(n_populations=12, units="common", random_state=0).fit(X)
    probability = model.predict_proba(X[far])
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("parameters", [{"n_populations": 12}, {"n_populations": "auto"}, {}])
@pytest.mark.quick_cases("parameters0")
def test_a_tail__is_left_out_where_units_are_chosen_too(parameters):
    X, label, far = groups_with_tail(0.004)
    model = KernelMixture(random_state=0, **parameters).fit(X)
    assert adjusted_rand_score(label[~far], model.predict(X[~far])) > 0.6
