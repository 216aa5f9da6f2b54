"""Verdicts on rows in which no state follows another."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from bigtensor import HiddenMarkovModel
from bigtensor.errors import BigtensorWarning, ConditioningWarning


@pytest.mark.parametrize("emissions", ["categorical", "gaussian", "poisson", "kernel"])
@pytest.mark.quick_cases("poisson", "kernel")
def test_independent_rows_of_three_clusters__are_worth_a_warning(emissions):
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 3, size=900)
    centres = 8.0 * np.eye(3)[clusters][:, :2]
    rows = {
        "categorical": (2 * clusters + rng.integers(0, 2, size=900))[:, None],
        "poisson": rng.poisson(1 + centres),
    }.get(emissions, centres + rng.normal(size=(900, 2)))
    model = HiddenMarkovModel(3, emissions=emissions, random_state=0)
    with pytest.warns(ConditioningWarning, match="more than chance explains"):
        model.fit(rows)
    assert not model.diagnostics_["verdict"]["good"]
    assert model.diagnostics_["gain_of_order"] < 10


@pytest.mark.parametrize(
    ("emissions", "seed"), [("categorical", 4), ("gaussian", 1), ("poisson", 1), ("kernel", 1)]
)
@pytest.mark.quick_cases("categorical-4", "kernel-1")
def test_independent_rows_of_one_cluster__are_advised_a_mixture(emissions: str, seed: int) -> None:
    """The states of these rows have the same emissions, although the features vary."""
    rng = np.random.default_rng(seed)
    rows = {
        "categorical": lambda: rng.integers(0, 4, size=(2000, 1)),
        "poisson": lambda: rng.poisson(4.0, size=(2000, 2)),
    }.get(emissions, lambda: rng.normal(size=(2000, 2)))()
    model = HiddenMarkovModel(2, emissions=emissions, random_state=0)
    with pytest.warns(ConditioningWarning, match="mixture model"):
        model.fit(rows)
    assert len(model.diagnostics_["verdict"]["sentences"]) == 1


@pytest.mark.parametrize("rows", [500, 2000])
def test_states_that_overlap_and_stay__are_a_good_verdict(rows):
    rng = np.random.default_rng(rows)
    changes = rng.random(rows) < 0.1
    states = np.cumsum(changes) % 2
    values = 1.5 * states[:, None] + rng.normal(size=(rows, 1))
    model = HiddenMarkovModel(2, emissions="gaussian", random_state=0).fit(values)
    assert model.diagnostics_["verdict"]["good"]


def test_steps_that_are_left_out__do_not_count_for_the_order():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 2, size=(600, 1, 1)) * 3.0 + rng.normal(size=(600, 3, 1))
    sequence = np.repeat(np.arange(600), 3)
    gone = np.full((1800, 1), np.nan)
    values = np.vstack([rows.reshape(1800, 1), gone])
    model = HiddenMarkovModel(2, emissions="gaussian", missing="omit", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtensorWarning)
        fitted = model.fit(values, sequence=np.concatenate([sequence, 600 + sequence]))
        alone = clone(model).fit(values[:1800], sequence=sequence)
    gains = [each.diagnostics_["gain_of_order"] for each in (fitted, alone)]
    assert gains[0] == pytest.approx(gains[1], rel=1e-3)
