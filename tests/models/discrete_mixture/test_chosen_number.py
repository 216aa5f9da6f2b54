"""Number of components that held-out rows choose, and warnings of a number that is too large."""

import numpy as np
import pandas as pd
import pytest

from bigtensor import DiscreteMixture
from bigtensor.errors import ConditioningWarning, DataError
from bigtensor.models.discrete_mixture import settings, verdict


def answers(rows: int, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw answers of two classes, and weights that compare rows."""
    rng = np.random.default_rng(0)
    of_first = rng.integers(2, size=(rows, 1))
    codes = rng.random((rows, questions)) < np.where(of_first, 0.85, 0.15)
    return codes.astype(int), rng.lognormal(0, 0.5, rows)


def test_number__of_relative_weights_is_the_number_of_classes():
    rows, weight = answers(300, 10)
    model = DiscreteMixture(weights="relative", random_state=0).fit(rows, sample_weight=weight)
    assert len(model.weights_) == 2


def test_number__at_the_limit_of_the_search_is_warned_of(monkeypatch):
    for module in (settings, verdict):
        monkeypatch.setattr(module, "MOST_COUNTED", 2)
    rows, _ = answers(600, 4)
    with pytest.warns(ConditioningWarning, match="weights='relative'"):
        model = DiscreteMixture(random_state=0).fit(rows)
    assert not model.diagnostics_["verdict"]["good"]
    assert DiscreteMixture(2, random_state=0).fit(rows).diagnostics_["verdict"]["good"]


def test_equal_views__are_warned_of():
    table = pd.DataFrame(answers(300, 4)[0], columns=[*"abcd"]).assign(copy=lambda own: own["a"])
    with pytest.warns(ConditioningWarning, match="a and copy"):
        model = DiscreteMixture(2, random_state=0).fit(table)
    assert not model.diagnostics_["verdict"]["good"]


@pytest.mark.parametrize("dtype", [int, float])
def test_codes_of_missing_answers__are_named_in_the_error(dtype):
    rows, _ = answers(300, 4)
    rows[:20, 0] = -9
    with pytest.raises(DataError, match="missing answers, such as -9") as error:
        DiscreteMixture(2).fit(rows.astype(dtype))
    assert "not in memory" not in str(error.value)
