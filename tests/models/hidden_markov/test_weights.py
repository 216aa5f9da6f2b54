"""Occupancy of the states by subject, and weights of sequences."""

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from bigtensor import HiddenMarkovModel, simulate
from bigtensor.cli import main
from bigtensor.data.rows.block import Block
from bigtensor.errors import ConditioningWarning, DataError, ParameterError
from bigtensor.statistics.codes.triple_counts import TripleCounts
from bigtensor.statistics.in_memory import sum_in_memory
from tests.parameters import first_quick

SUBJECTS = 5


@pytest.fixture(scope="module")
def sequences() -> xr.Dataset:
    """40 sequences of 250 steps, by subject; rows 0 to 99 have none."""
    data = simulate.hidden_markov(10_000, 2, 6, sequences=40, stay=0.7, random_state=2)
    subject = data["sequence"].to_numpy() % SUBJECTS
    subject[:100] = -1
    return data.assign(subject=("sample", subject, {"categories": [*"abcde"]}))


@pytest.fixture(scope="module")
def model(sequences: xr.Dataset) -> HiddenMarkovModel:
    return HiddenMarkovModel(2, random_state=0).fit(sequences)


def test_weights_by__is_the_mean_of_smoothing_probabilities(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    found = model.weights_by(sequences, "subject")
    probability = model.predict_proba(sequences).to_numpy()
    subject = sequences["subject"].to_numpy()
    expected = [probability[subject == code].mean(axis=0) for code in range(SUBJECTS)]
    assert found["weight"].dims == ("subject", "state")
    np.testing.assert_allclose(found["weight"], expected, rtol=1e-10)
    np.testing.assert_array_equal(found["subject"], [*"abcde"])
    np.testing.assert_array_equal(found["rows"], [1900, 2000, 2000, 2000, 2000])
    assert found.attrs["rows_without"] == 100
    assert "standard_error" not in found


def test_weights_by__tells_subjects_apart(model: HiddenMarkovModel, sequences: xr.Dataset) -> None:
    """Rows are grouped by their true state, which no sequence shows alone."""
    truth = sequences["label"].to_numpy()
    codes = sequences["X"].to_numpy()
    order = np.argsort(truth, kind="stable")
    apart = xr.Dataset(
        {
            "X": (("sample", "feature"), codes[order], sequences["X"].attrs),
            "sequence": ("sample", truth[order]),
        },
        {"feature": sequences["feature"]},
    )
    found = model.weights_by(apart, truth[order])["weight"].to_numpy()
    assert np.abs(found[0] - found[1]).max() > 0.5


@pytest.mark.parametrize("chunk", [1000, 777])
def test_weights_by__is_the_same_in_any_chunking(
    sequences: xr.Dataset, model: HiddenMarkovModel, chunk: int
) -> None:
    expected = model.weights_by(sequences, "subject")["weight"]
    found = model.weights_by(sequences.chunk(sample=chunk), "subject")["weight"]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_weights_by__counts_sample_weights_and_leaves_out_groups_without(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    weight = np.random.default_rng(0).random(10_000)
    subject = sequences["subject"].to_numpy()
    weight[subject == 1] = 0
    found = model.weights_by(sequences.assign(weight=("sample", weight)), "subject")
    probability = model.predict_proba(sequences).to_numpy()
    chosen = subject == 3
    expected = np.average(probability[chosen], axis=0, weights=weight[chosen])
    np.testing.assert_array_equal(found["subject"], [*"acde"])
    np.testing.assert_allclose(found["weight"].sel(subject="d"), expected, rtol=1e-10)
    assert model.weights_by(sequences, "subject", sample_weight=weight).equals(found)


def test_weights_by__finds_categories_by_name(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    order = np.random.default_rng(3).permutation(6)
    renamed = sequences.copy(deep=True)
    renamed["X"].values = np.argsort(order)[sequences["X"].to_numpy()].astype(np.int8)
    renamed["X"].attrs["categories"] = {"symbol": [str(code) for code in order]}
    expected = model.weights_by(sequences, "subject")["weight"]
    np.testing.assert_allclose(model.weights_by(renamed, "subject")["weight"], expected)


def test_weights_by__refuses_unusable_groups(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    with pytest.raises(ParameterError, match="not merged; leave out level"):
        model.weights_by(sequences, "subject", level="component")
    with pytest.raises(ParameterError, match="a name within the table"):
        model.weights_by(sequences.rename(subject="rows"), "rows")
    with pytest.raises(DataError, match="no row with a group"):
        model.weights_by(sequences.assign(weight=("sample", np.zeros(10_000))), "subject")
    with pytest.raises(NotFittedError):
        HiddenMarkovModel(2).weights_by(sequences, "subject")


def test_predict__writes_the_occupancy_of_subjects(
    sequences: xr.Dataset, model: HiddenMarkovModel, tmp_path: Path
) -> None:
    data, fitted = tmp_path / "steps.zarr", tmp_path / "chain.zarr"
    simulate.write_hidden_markov(data, 10_000, 2, 6, sequences=40, stay=0.7, random_state=2)
    model.save(fitted)
    arguments = ["predict", fitted, data, "--out", tmp_path / "states.zarr", "--by", "sequence"]
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    with (tmp_path / "states_by_sequence.csv").open() as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["sequence", "rows", "state_0", "state_1"]
    expected = model.weights_by(sequences, "sequence")["weight"].to_numpy()
    np.testing.assert_allclose([[*map(float, line[2:])] for line in lines[1:]], expected, rtol=1e-8)
    assert "shares of 2 states by sequence" in done.output
    assert f"{expected[0, 0]:.2%}" in done.output


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=8))
def test_counts__of_weighted_sequences_are_those_of_repeated_ones(
    drawn: list[tuple[int, int]],
) -> None:
    lengths, weight = (np.array(column) for column in zip(*drawn, strict=True))
    codes = np.random.default_rng(1).integers(-1, 3, lengths.sum()).astype(np.int8)
    weighted = _block(codes, lengths, np.repeat(weight, lengths).astype(float))
    repeated = np.repeat(np.arange(len(lengths)), weight)
    ends = np.cumsum(lengths)
    rows = [np.arange(ends[s] - lengths[s], ends[s]) for s in repeated]
    found = sum_in_memory(TripleCounts(3), weighted)
    if not rows:
        assert not len(found.weight)
        return
    expected = sum_in_memory(
        TripleCounts(3), _block(codes[np.concatenate(rows)], lengths[repeated], None)
    )
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_array_equal(found.weight, expected.weight)
    np.testing.assert_array_equal(found.first_pairs, expected.first_pairs)


def _block(codes: np.ndarray, lengths: np.ndarray, weight: np.ndarray | None) -> Block:
    ids = np.repeat(np.arange(len(lengths)), lengths)
    return Block(codes[:, None], {"s": slice(0, 1)}, 0, len(codes), weight, ids)


@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
def test_fit__of_weighted_sequences_is_the_fit_of_repeated_ones(seed: int) -> None:
    weight = np.random.default_rng(seed).integers(0, 4, 40)
    data = simulate.hidden_markov(10_000, 2, 6, sequences=40, stay=0.7, random_state=2)
    repeated = np.repeat(np.arange(40), weight)
    rows = (250 * repeated[:, None] + np.arange(250)).ravel()
    again = data.isel(sample=rows)
    again["sequence"] = ("sample", np.repeat(np.arange(len(repeated)), 250))
    model = HiddenMarkovModel(2, max_iter=5, random_state=0)
    expected = model.fit(again)
    arrays = [expected.initial_, expected.transition_.to_numpy(), expected.emission_.to_numpy()]
    found = model.fit(data, sample_weight=np.repeat(weight, 250))
    for ours, theirs in zip(
        (found.initial_, found.transition_, found.emission_), arrays, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.slow  # a law of weights of zero is quick
def test_fit__of_sequences_without_weight_ends_with_the_same_iteration() -> None:
    data = simulate.hidden_markov(2_000, 2, 4, sequences=40, stay=0.6, random_state=4)
    weight = np.where(np.arange(40) % 4 < 1, 0.0, 2.0)
    repeated = np.repeat(np.arange(40), weight.astype(int))
    again = data.isel(sample=(50 * repeated[:, None] + np.arange(50)).ravel())
    again["sequence"] = ("sample", np.repeat(np.arange(len(repeated)), 50))
    model = HiddenMarkovModel(2, max_iter=60, random_state=0)
    n_iter = model.fit(again).n_iter_
    # the rule counts nats of all rows together, which are not those of the rows in the data
    assert model.fit(data, sample_weight=np.repeat(weight, 50)).n_iter_ == n_iter < 60


def test_steps_of_a_rare_state__are_those_that_weights_stand_for() -> None:
    random = np.random.default_rng(0)
    state = np.zeros(3_000, int)
    for start in (500, 1_500, 2_500):
        state[start : start + 25] = 1
    codes = np.where(state == 1, 2, random.integers(0, 2, 3_000))[:, None]
    model = HiddenMarkovModel(2, random_state=0)
    with pytest.warns(ConditioningWarning, match="fewer than 100 steps"):
        model.fit(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConditioningWarning)
        model.fit(codes, sample_weight=np.full(3_000, 2.0))


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.parametrize("emissions", ["gaussian", "poisson"])
@pytest.mark.quick_cases("poisson")
def test_weights__count_as_copies_of_sequences_whose_states_overlap(emissions: str) -> None:
    """Images are sequences of rows of pixels, in which no number of states is right."""
    steps = load_digits().data[:60].reshape(480, 8)[:, 1:7]
    sequence = np.repeat(np.arange(60), 8)
    count = np.random.default_rng(0).integers(1, 4, 60)
    copies = np.concatenate(
        [np.flatnonzero(sequence == each) for each in np.repeat(np.arange(60), count)]
    )
    model = HiddenMarkovModel(5, emissions=emissions, random_state=0)
    weighted = clone(model).fit(steps, sequence=sequence, sample_weight=count[sequence])
    repeated = clone(model).fit(steps[copies], sequence=np.arange(len(copies)) // 8)
    expected = repeated.predict_proba(steps, sequence=sequence)
    found = weighted.predict_proba(steps, sequence=sequence)
    np.testing.assert_allclose(found, expected, atol=1e-8)
