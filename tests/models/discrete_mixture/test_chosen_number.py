"""Number of components that held-out rows choose, and warnings of a number that is too large."""

import numpy as np
import pandas as pd
import pytest

from bigtensor import DiscreteMixture
from bigtensor.data.rows.block import Block
from bigtensor.errors import ConditioningWarning, DataError
from bigtensor.models.discrete_mixture import choice, settings, verdict


def answers(rows: int, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw answers of two classes, and weights that compare rows."""
    rng = np.random.default_rng(0)
    of_first = rng.integers(2, size=(rows, 1))
    codes = rng.random((rows, questions)) < np.where(of_first, 0.85, 0.15)
    return codes.astype(int), rng.lognormal(0, 0.5, rows)


def thinned(weight: np.ndarray, seed: int) -> np.ndarray:
    """Return the weights that are held out of rows with such weights."""
    rows = Block(np.zeros((len(weight), 1), np.int64), {"a": slice(0, 1)}, 0, len(weight), weight)
    return choice._thinned(rows, np.random.default_rng(seed))


def test_number__of_relative_weights_is_the_number_of_classes():
    rows, weight = answers(300, 10)
    model = DiscreteMixture(weights="relative", random_state=0).fit(rows, sample_weight=weight)
    assert len(model.weights_) == 2


def test_thinned__holds_out_whole_units_of_equal_weight():
    weight = np.concatenate([np.repeat([0.0, 0.3, 1.0, 1.4, 3.3], 20_000), [1e6]])
    held = thinned(weight, seed=0)
    assert ((held >= 0) & (held <= weight)).all()
    # a row of one unit is held out or not, and never both
    assert {*held[weight == 0.3].tolist()} == {0.0, 0.3}
    assert {*held[weight == 1.4].tolist()} == {0.0, 1.4}
    assert len({*held[weight == 3.3].tolist()}) == 4
    assert held[-1] / 1e6 == pytest.approx(choice.HELD_OUT, abs=0.01)
    assert held.sum() / weight.sum() == pytest.approx(choice.HELD_OUT, rel=0.02)


def test_thinned__has_as_many_units_for_a_sum_in_another_order():
    weight = np.array([2.5, np.sum(np.full(25, 0.1)), np.nextafter(2.5, 0)])
    held = [thinned(np.full(3, one), seed=1) for one in weight]
    np.testing.assert_allclose(held[1], held[0])
    np.testing.assert_allclose(held[2], held[0])


def test_equal_views__of_a_rare_category_are_no_fault():
    rows, _ = answers(300, 4)
    mutations = np.zeros((300, 3), int)
    mutations[7] = 1
    model = DiscreteMixture(2, random_state=0).fit(np.column_stack([rows, mutations]))
    assert model.diagnostics_["equal_views"] == []


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
