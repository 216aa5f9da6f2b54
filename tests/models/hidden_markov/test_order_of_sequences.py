"""Order of sequences, weights of zero, and names of categories: one choice of states."""

from functools import cache

import numpy as np
import pytest

from bigtensor import HiddenMarkovModel
from tests.parameters import first_quick

STATES, SYMBOLS = 4, 8


def sequences(seed: int) -> list[np.ndarray]:
    """Return sequences of 20 to 200 symbols: three of them hardly tell four states apart."""
    rng = np.random.default_rng(seed)
    transition = 0.4 * rng.dirichlet(np.full(STATES, 0.5), STATES) + 0.6 * np.eye(STATES)
    emission = rng.dirichlet(np.full(SYMBOLS, 0.3), STATES)
    drawn = []
    for rows in rng.integers(20, 200, 30):
        state, codes = int(rng.integers(STATES)), np.empty((rows, 1), np.int8)
        for row in range(rows):
            state = rng.choice(STATES, p=transition[state])
            codes[row] = rng.choice(SYMBOLS, p=emission[state])
        drawn.append(codes)
    return drawn


@cache
def fit_to(seed: int) -> HiddenMarkovModel:
    """Return the model of the sequences of a seed."""
    return fit(sequences(seed))


def fit(rows: list[np.ndarray], **options) -> HiddenMarkovModel:
    model = HiddenMarkovModel("auto", refine="triples", random_state=0)
    return model.fit(np.concatenate(rows), lengths=[len(own) for own in rows], **options)


def scores(model: HiddenMarkovModel) -> list[float]:
    return [*model.diagnostics_["state_choice"]["held_out_log_likelihood"].values()]


@pytest.mark.parametrize("seed", first_quick([0, 1]))
@pytest.mark.slow  # a law of a short fit is quick
def test_order_of_sequences__changes_nothing(seed: int) -> None:
    drawn = sequences(seed)
    first = fit_to(seed)
    other = fit([drawn[place] for place in np.random.default_rng(5).permutation(len(drawn))])
    assert scores(other) == pytest.approx(scores(first), rel=1e-6)
    np.testing.assert_allclose(other.transition_, first.transition_, rtol=1e-6)
    np.testing.assert_allclose(other.emission_, first.emission_, rtol=1e-6)


@pytest.mark.slow  # 15,000 rows, and every number of states
def test_short_sequences__that_are_equal_show_their_states() -> None:
    # 58 distinct ones: if equal ones were held out together, no other would be like them
    rng = np.random.default_rng(0)
    state = np.empty((5_000, 3), int)
    state[:, 0] = rng.integers(2, size=5_000)
    for step in (1, 2):
        moves = rng.random(5_000) < 0.05
        state[:, step] = np.where(moves, 1 - state[:, step - 1], state[:, step - 1])
    emission = np.array([[0.9, 0.04, 0.03, 0.03], [0.03, 0.9, 0.04, 0.03]]).cumsum(axis=1)
    codes = (emission[state] < rng.random((5_000, 3, 1))).sum(axis=2).clip(0, 3).astype(np.int8)
    for rows in (codes, rng.permutation(codes)):
        assert len(fit(list(rows[:, :, None])).transition_) == 2


@pytest.mark.slow  # a law of a short fit is quick
def test_sequences_of_weight_zero__are_no_data() -> None:
    drawn = sequences(0)
    weight = np.repeat([1.0, 0.0], [sum(map(len, drawn)), len(drawn[0])])
    other = fit([*drawn, drawn[0][::-1]], sample_weight=weight)
    assert scores(other) == pytest.approx(scores(fit_to(0)), rel=1e-6)


@pytest.mark.slow  # names of symbols are quick in tests of the model
def test_codes_of_categories__are_names() -> None:
    names = np.random.default_rng(2).permutation(SYMBOLS).astype(np.int8)
    other = fit([names[own] for own in sequences(0)])
    assert scores(other) == pytest.approx(scores(fit_to(0)), rel=1e-6)
