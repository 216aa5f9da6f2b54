"""Sequences of the simulator against the chain that they are drawn from."""

import numpy as np
import pytest
import xarray as xr

from bigtensor import simulate
from bigtensor.data.simulate import hidden_markov, write_hidden_markov
from bigtensor.errors import ParameterError


@pytest.fixture(scope="module")
def drawn() -> xr.Dataset:
    return hidden_markov(300_000, 3, 5, sequences=4, stay=0.3, missing=0.02, random_state=1)


def test_simulate__has_it_as_a_public_name() -> None:
    assert simulate.hidden_markov is hidden_markov


def test_rows__follow_the_true_probabilities(drawn: xr.Dataset) -> None:
    state, sequence = drawn["label"].to_numpy(), drawn["sequence"].to_numpy()
    inside = sequence[1:] == sequence[:-1]
    moves, shows = np.zeros((3, 3)), np.zeros((3, 5))
    np.add.at(moves, (state[:-1][inside], state[1:][inside]), 1)
    code = drawn["X"].to_numpy()[:, 0]
    known = code >= 0
    np.add.at(shows, (state[known], code[known]), 1)
    for counts, truth in ((moves, "true_transition"), (shows, "true_emission")):
        expected = drawn[truth].to_numpy()
        total = counts.sum(axis=1, keepdims=True)
        error = np.sqrt(expected * (1 - expected) / total)
        assert np.abs(counts / total - expected).max() < 5 * error.max()
    assert np.mean(~known) == pytest.approx(0.02, abs=0.002)
    assert (np.diag(drawn["true_transition"]) >= 0.3).all()


def test_first_states__follow_the_initial_probabilities() -> None:
    drawn = hidden_markov(20_000, 3, 5, sequences=20_000, random_state=3)
    share = np.bincount(drawn["label"], minlength=3) / 20_000
    assert np.abs(share - drawn["true_initial"].to_numpy()).max() < 0.02


def test_sequences__have_one_length_but_for_the_last(drawn: xr.Dataset) -> None:
    assert np.bincount(hidden_markov(10, 2, sequences=4)["sequence"]).tolist() == [3, 3, 3, 1]
    assert np.bincount(drawn["sequence"]).tolist() == [75_000] * 4


def test_states__are_in_the_order_of_their_shares(drawn: xr.Dataset) -> None:
    share = np.linalg.matrix_power(drawn["true_transition"].to_numpy(), 1000)[0]
    assert (np.diff(share) <= 0).all()


def test_write__stores_what_memory_holds(tmp_path) -> None:
    path = tmp_path / "sequences.zarr"
    write_hidden_markov(path, 70_000, 3, 5, sequences=2, missing=0.1, random_state=4)
    stored = xr.open_zarr(path, consolidated=False).load()
    whole = hidden_markov(70_000, 3, 5, sequences=2, missing=0.1, random_state=4)
    for name in ("X", "sequence", "label", "true_initial", "true_transition", "true_emission"):
        np.testing.assert_array_equal(stored[name], whole[name])
    assert stored["X"].attrs["categories"] == {"symbol": [str(code) for code in range(5)]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 0}, "rows must be an integer of at least 1"),
        ({"n_symbols": 1}, "n_symbols must be .* at least 2"),
        ({"n_symbols": 10**6}, "n_symbols must be at most"),
        ({"sequences": 101}, "sequences must be .* rows 100"),
        ({"concentration": 0.0}, "concentration must be a positive number"),
        ({"stay": 1.0}, "stay must be from 0 to less than 1"),
        ({"missing": -0.1}, "missing must be from 0 to less than 1"),
    ],
)
def test_hidden_markov__names_the_parameter_that_is_wrong(change, message) -> None:
    with pytest.raises(ParameterError, match=message):
        hidden_markov(**{"rows": 100, "n_components": 2, **change})
