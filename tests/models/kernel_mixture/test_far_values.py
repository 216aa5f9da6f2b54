"""Far values of a tail do not set the scale of their feature, and are told of."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from bigtensor import KernelMixture

# the farthest row of a tail may be left out as outlying
pytestmark = pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")


def groups_with_tail(share, seed=0, rows=6000):
    """Rows of six groups in four features, of which some have a far value in the first one."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 6, rows)
    X = 4 * rng.integers(0, 3, (6, 4))[label] + rng.normal(size=(rows, 4))
    far = rng.uniform(size=rows) < share
    X[far, 0] -= rng.exponential(60, far.sum())
    return X, label, far


def notes_on_far_values(model):
    return [note for note in map(str, model.diagnostics_["notes"]) if "far beyond" in note]


@pytest.mark.parametrize("seed", range(3))
def test_a_tail__hides_no_population(seed):
    X, label, far = groups_with_tail(0.008, seed)
    parameters = {"n_populations": 6, "units": "common", "random_state": 0}
    without, beside = (
        adjusted_rand_score(label[~far], model.predict(X[~far]))
        for model in (
            KernelMixture(**parameters).fit(X[~far]),
            KernelMixture(**parameters).fit(X),
        )
    )
    assert beside > without - 0.1


def test_a_tail__is_told_of_with_its_features():
    X, _, far = groups_with_tail(0.008)
    model = KernelMixture(n_populations=6, units="common", random_state=0).fit(X)
    (note,) = notes_on_far_values(model)
    named, share = note.split("its feature: ")[1].split(")")[0].split(" (")
    assert named == model.views_.feature_names[0]
    # the nearest of the far values are within one length of the range
    assert 0.3 * far.mean() < float(share.split()[0]) / 100 <= far.mean()
    assert notes_on_far_values(KernelMixture(3, random_state=0).fit(X[~far])) == []


def test_rows_of_a_tail__have_labels_and_probabilities():
    X, _, far = groups_with_tail(0.008)
    model = KernelMixture(n_populations=6, units="common", random_state=0).fit(X)
    probability = model.predict_proba(X[far])
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-5)
