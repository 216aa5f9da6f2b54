"""Rows that are left out: what they tell of initial states, and how they are counted."""

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from bigtensor import HiddenMarkovModel
from bigtensor.errors import MissingValueWarning, SequenceWarning

NIGHTS, STEPS = 12, 150


def drawn(emissions: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return nights that all begin in one of two states, of which it shows the least values."""
    rng = np.random.default_rng(0)
    states = np.zeros((NIGHTS, STEPS), np.int64)
    for step in range(1, STEPS):
        moved = rng.random(NIGHTS) < 0.05
        states[:, step] = np.where(moved, 1 - states[:, step - 1], states[:, step - 1])
    states = states.reshape(-1)
    if emissions in ("categorical", "poisson"):
        values = rng.poisson(np.array([1.0, 12.0])[states]).clip(
            max=12 if emissions[0] == "p" else 5
        )
    else:
        values = np.array([0.0, 5.0])[states] + rng.normal(size=len(states))
    return values[:, None].astype(float), np.repeat(np.arange(NIGHTS), STEPS)


def omitted(emissions: str, values: NDArray[np.float64], ids: object) -> HiddenMarkovModel:
    """Return a fit that leaves rows out."""
    model = HiddenMarkovModel(2, emissions=emissions, missing="omit", random_state=0)
    return model.fit(values, sequence=ids)


def first_state(model: HiddenMarkovModel, values: NDArray[np.float64], ids: object) -> int:
    """Return the state of the least value."""
    return int(model.predict(values, sequence=ids)[np.nanargmin(values)])


@pytest.mark.filterwarnings("ignore::bigtensor.errors.MissingValueWarning")
@pytest.mark.parametrize("emissions", ["categorical", "gaussian", "poisson"])
@pytest.mark.quick_cases("gaussian")
def test_rows_after_a_gap__do_not_count_as_first_rows_of_sequences(emissions: str) -> None:
    values, ids = drawn(emissions)
    values[np.random.default_rng(1).random(len(values)) < 0.1] = np.nan
    model = omitted(emissions, values, ids)
    begins = first_state(model, values, ids)
    assert model.initial_[begins] > 0.85
    # rows after a gap are in any state
    assert model.window_start_[begins] < 0.7


@pytest.mark.filterwarnings("ignore::bigtensor.errors.MissingValueWarning")
@pytest.mark.parametrize("emissions", ["categorical", "gaussian"])
@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.quick_cases("0-gaussian", "-1-categorical")
def test_first_rows_that_are_left__count_though_rows_at_ends_of_sequences_are_left_out(
    emissions: str, place: int
) -> None:
    values, ids = drawn(emissions)
    values[np.arange(NIGHTS) * STEPS + place % STEPS] = np.nan
    model = omitted(emissions, values, ids)
    # occupancies are .5, and a state changes in a twentieth of the steps
    assert model.initial_[first_state(model, values, ids)] > 0.65


@pytest.mark.filterwarnings("ignore::bigtensor.errors.MissingValueWarning")
@pytest.mark.parametrize("emissions", ["categorical", "gaussian", "poisson"])
@pytest.mark.quick_cases("gaussian")
def test_one_gap__tells_nothing_of_the_states_after_gaps(emissions: str) -> None:
    values, ids = drawn(emissions)
    values[200] = np.nan
    one_gap = omitted(emissions, values, ids)
    assert one_gap.window_start_.min() > 0.25


@pytest.mark.parametrize("emissions", ["categorical", "gaussian", "kernel"])
@pytest.mark.quick_cases("gaussian", "kernel")
def test_sequences__are_those_of_the_ids_though_rows_are_left_out(emissions: str) -> None:
    values, ids = drawn(emissions)
    first = np.arange(0, len(values), STEPS)
    values[first[:7]] = np.nan
    values[first[7:] + 1] = np.nan
    values[first[0] + 5] = np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = omitted(emissions, values, ids)
    assert model.diagnostics_["sequences"] == NIGHTS
    assert model.diagnostics_["sequences_of_one_row"] == 0
    assert not [found for found in caught if issubclass(found.category, SequenceWarning)]
    missing = [found for found in caught if issubclass(found.category, MissingValueWarning)]
    assert len(missing) == 1
    assert "at 6 places" in str(missing[0].message)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.MissingValueWarning")
def test_a_sequence_of_which_one_row_is_left__is_counted() -> None:
    values, ids = drawn("gaussian")
    values[STEPS + 1 : 2 * STEPS] = np.nan
    values[3 * STEPS : 4 * STEPS] = np.nan
    model = omitted("gaussian", values, ids)
    assert model.diagnostics_["sequences"] == NIGHTS - 1
    assert model.diagnostics_["sequences_of_one_row"] == 1
