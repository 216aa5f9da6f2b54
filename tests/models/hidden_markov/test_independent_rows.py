"""Verdicts on rows in which no state follows another."""

import numpy as np
import pytest

from bigtensor import HiddenMarkovModel
from bigtensor.errors import ConditioningWarning


@pytest.mark.parametrize("emissions", ["categorical", "gaussian", "poisson", "kernel"])
def test_independent_rows_of_three_clusters__are_worth_a_warning(emissions):
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 3, size=900)
    centres = 8.0 * np.eye(3)[clusters][:, :2]
    rows = {
        "categorical": (2 * clusters + rng.integers(0, 2, size=900))[:, None],
        "poisson": rng.poisson(1 + centres),
    }.get(emissions, centres + rng.normal(size=(900, 2)))
    model = HiddenMarkovModel(3, emissions=emissions, random_state=0)
    with pytest.warns(ConditioningWarning, match="no state tells the next one"):
        model.fit(rows)
    assert not model.diagnostics_["verdict"]["good"]
    assert model.diagnostics_["gain_of_order"] < 10


@pytest.mark.parametrize("rows", [500, 2000])
def test_states_that_overlap_and_stay__are_a_good_verdict(rows):
    rng = np.random.default_rng(rows)
    changes = rng.random(rows) < 0.1
    states = np.cumsum(changes) % 2
    values = 1.5 * states[:, None] + rng.normal(size=(rows, 1))
    model = HiddenMarkovModel(2, emissions="gaussian", random_state=0).fit(values)
    assert model.diagnostics_["verdict"]["good"]
