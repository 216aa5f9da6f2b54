"""The hidden Markov model against simulated truth and recursions over whole sequences."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import linear_sum_assignment

from bigtensor import HiddenMarkovModel, load, merge, simulate
from bigtensor.engine.reduce import run_pass
from bigtensor.errors import (
    ConditioningWarning,
    DataError,
    IdentifiabilityError,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
    PlanError,
    ViewError,
)
from bigtensor.statistics.sequences.chain import BLOCK_ROWS
from tests.statistics.sequences.recursions import Chain, forward_backward, runs


@pytest.fixture(scope="module")
def sequences() -> xr.Dataset:
    """60 sequences of 1,000 steps."""
    return simulate.hidden_markov(60_000, 3, 8, sequences=60, stay=0.6, random_state=1)


@pytest.fixture(scope="module")
def model(sequences: xr.Dataset) -> HiddenMarkovModel:
    return HiddenMarkovModel(3, random_state=0).fit(sequences)


def test_states__are_in_the_order_of_their_shares_in_the_long_run(model: HiddenMarkovModel) -> None:
    # windows start in the rarest state
    fit = replace(
        model._solution(),
        window_start=np.array([0.0, 0.1, 0.9]),
        transition=np.array([[0.98, 0.01, 0.01], [0.1, 0.9, 0.0], [0.2, 0.0, 0.8]]),
    )
    assert (np.diff(fit.finished().occupancy()) < 0).all()


def matched(model: HiddenMarkovModel, truth: xr.Dataset) -> np.ndarray:
    """Return the state of the model for every true state, by emissions."""
    return matched_to(model.emission_.to_numpy(), truth["true_emission"].to_numpy())


def matched_to(emission: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the line of the estimate for every line of the truth."""
    distance = np.abs(truth[:, None] - emission[None]).sum(axis=2)
    return linear_sum_assignment(distance)[1]


def chain_of(model: HiddenMarkovModel) -> Chain:
    return Chain(model.initial_, model.transition_.to_numpy(), model.emission_.to_numpy())


def test_parameters__are_near_the_truth(sequences: xr.Dataset, model: HiddenMarkovModel) -> None:
    order = matched(model, sequences)
    transition = model.transition_.to_numpy()[np.ix_(order, order)]
    assert np.abs(transition - sequences["true_transition"].to_numpy()).max() < 0.06
    emission = model.emission_.to_numpy()[order]
    assert np.abs(emission - sequences["true_emission"].to_numpy()).max() < 0.03
    assert (np.diff(model.occupancy_) <= 1e-12).all()
    np.testing.assert_allclose(model.occupancy_ @ model.transition_.to_numpy(), model.occupancy_)


def test_whole_sequences__are_likelier_after_iterations_along_them(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    triples = HiddenMarkovModel(3, refine="triples", random_state=0).fit(sequences)
    assert triples.diagnostics_["refined"] == "triples"
    assert [entry["name"] for entry in triples.diagnostics_["passes"]] == ["triples"]
    assert model.diagnostics_["refined"] == "sequences"
    likelihoods = model.diagnostics_["mean_log_likelihood"]
    assert (np.diff(likelihoods) > -1e-9).all()
    assert model.score(sequences) > triples.score(sequences)
    # the true parameters explain the rows that they made a little worse than the estimate
    truth = [sequences[f"true_{name}"] for name in ("initial", "transition", "emission")]
    chain = Chain(*(part.to_numpy() for part in truth))
    codes = sequences["X"].to_numpy()[:, 0]
    expected = sum(forward_backward(chain, codes[rows])[2].sum() for rows in runs([1000] * 60))
    assert 0 < model.score(sequences) - expected / 60_000 < 0.002


@pytest.mark.slow  # 60,000 rows
def test_initial_states__of_many_short_sequences_are_near_the_truth() -> None:
    data = simulate.hidden_markov(60_000, 3, 8, sequences=20_000, stay=0.6, random_state=1)
    model = HiddenMarkovModel(3, random_state=0).fit(data)
    order = matched(model, data)
    assert np.abs(model.initial_[order] - data["true_initial"].to_numpy()).max() < 0.04
    assert model.diagnostics_["sequences"] == 20_000


def test_score_samples__has_a_likelihood_for_every_sequence(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    found = model.score_samples(sequences)
    codes = sequences["X"].to_numpy()[:, 0]
    expected = [
        forward_backward(chain_of(model), codes[rows])[2].sum() for rows in runs([1000] * 60)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert found.dims == ("sequence",)
    np.testing.assert_array_equal(found["sequence"], np.arange(60))
    np.testing.assert_array_equal(found["steps"], 1000)
    assert model.score(sequences) == pytest.approx(sum(expected) / 60_000, rel=1e-9)


def test_score_samples__is_planned_for_the_sequences_that_there_are(
    model: HiddenMarkovModel,
) -> None:
    """100,000 sequences take 65 bytes each in every state of the second pass."""
    data = simulate.hidden_markov(200_000, 3, 8, sequences=100_000, random_state=1)
    where = {"scheduler": "threads", "workers": 2}
    with pytest.raises(PlanError, match=r"ends +200,000 rows +state 6\.\d+ MiB"):
        model._ends(data, None, None, memory_limit="540MiB", **where)
    ends, _ = model._ends(data, None, None, memory_limit="640MiB", **where)
    assert ends.rows.tolist() == [2] * 100_000
    kept = sum(array.nbytes for array in (ends.sequence, ends.rows, ends.log_likelihood, ends.last))
    assert 4 * 2**20 < kept < 4.7 * 2**20
    few = data.isel(sample=slice(2_000))
    ends, _ = model._ends(few, None, None, memory_limit="540MiB", **where)
    assert len(ends.rows) == 1_000


def test_predict_next__continues_every_sequence(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    found = model.predict_next(sequences)
    chain = chain_of(model)
    alpha = forward_backward(chain, sequences["X"].to_numpy()[-1000:, 0])[0][-1]
    state = np.exp(alpha - alpha.max())
    expected = state / state.sum() @ chain.transition @ chain.emission
    np.testing.assert_allclose(found[-1], expected, rtol=1e-8)
    assert found.dims == ("sequence", "category")
    np.testing.assert_allclose(found.sum("category"), 1, rtol=1e-10)


def test_predict__finds_the_states_as_well_as_the_truth_does(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    order = matched(model, sequences)
    state = sequences["label"].to_numpy()
    path = np.mean(model.predict(sequences).to_numpy() == order[state])
    smoothed = np.mean(model.predict_proba(sequences).to_numpy().argmax(axis=1) == order[state])
    # the best guess row by row is right more often than the best path
    assert smoothed >= path > 0.6


def test_sample__has_the_occupancy_and_the_symbols_of_the_model(model: HiddenMarkovModel) -> None:
    codes, state = model.sample(100_000, random_state=5)
    assert codes.shape == (100_000, 1)
    share = np.bincount(state, minlength=3) / len(state)
    np.testing.assert_allclose(share, model.occupancy_, atol=0.02)
    symbols = np.bincount(codes[:, 0], minlength=8) / len(codes)
    expected = model.occupancy_ @ model.emission_.to_numpy()
    np.testing.assert_allclose(symbols, expected, atol=0.01)
    again, _ = model.sample(100_000, random_state=5)
    np.testing.assert_array_equal(codes, again)


def test_a_saved_model__answers_the_same(
    sequences: xr.Dataset, model: HiddenMarkovModel, tmp_path: Path
) -> None:
    loaded = load(model.save(tmp_path / "model.zarr"))
    np.testing.assert_array_equal(loaded.predict(sequences), model.predict(sequences))
    np.testing.assert_array_equal(loaded.score_samples(sequences), model.score_samples(sequences))


def test_names_of_symbols__in_another_order_change_nothing(
    sequences: xr.Dataset, model: HiddenMarkovModel
) -> None:
    order = np.random.default_rng(3).permutation(8)
    few = sequences.isel(sample=slice(10_000))
    renamed = few.copy(deep=True)
    renamed["X"].values = np.argsort(order)[few["X"].to_numpy()].astype(np.int8)
    renamed["X"].attrs["categories"] = {"symbol": [str(code) for code in order]}
    np.testing.assert_array_equal(model.predict(renamed), model.predict(few))
    first, other = (HiddenMarkovModel(3, random_state=0).fit(rows) for rows in (few, renamed))
    assert other.score(renamed) == pytest.approx(first.score(few), abs=1e-5)


def test_sites__that_keep_their_sequences_fit_one_model(sequences: xr.Dataset) -> None:
    sites = [sequences.isel(sample=slice(0, 25_000)), sequences.isel(sample=slice(25_000, None))]
    prepared = HiddenMarkovModel(3, random_state=0).prepare(sites[0], rows=60_000)
    solved = prepared.solve(merge([prepared.accumulate(site) for site in sites]))
    at_once = HiddenMarkovModel(3, refine="triples", random_state=0).fit(sequences)
    np.testing.assert_allclose(solved.emission_, at_once.emission_, rtol=1e-10)
    np.testing.assert_allclose(solved.initial_, at_once.initial_, rtol=1e-8)


def test_rounds__refuse_iterations_along_sequences(sequences: xr.Dataset) -> None:
    with pytest.raises(ParameterError, match="counts triples of rows alone"):
        HiddenMarkovModel(3, refine="sequences").prepare(sequences)


def test_missing_steps__are_refused_left_out_or_summed_over() -> None:
    data = simulate.hidden_markov(20_000, 2, 6, stay=0.7, missing=0.1, random_state=2)
    with pytest.raises(MissingValueError, match="marginalise"):
        HiddenMarkovModel(2).fit(data)
    with pytest.warns(MissingValueWarning):
        left_out = HiddenMarkovModel(2, missing="omit", random_state=0).fit(data)
    summed = HiddenMarkovModel(2, missing="marginalise", random_state=0).fit(data)
    for model in (left_out, summed):
        order = matched(model, data)
        emission = model.emission_.to_numpy()[order]
        assert np.abs(emission - data["true_emission"].to_numpy()).max() < 0.03
    answers = summed.predict(data).to_numpy()
    assert (answers >= 0).all()


def test_one_state__has_the_frequencies_of_the_symbols(sequences: xr.Dataset) -> None:
    model = HiddenMarkovModel(1, random_state=0).fit(sequences)
    counts = np.bincount(sequences["X"].to_numpy()[:, 0], minlength=8)
    np.testing.assert_allclose(model.emission_[0], counts / counts.sum(), atol=1e-3)
    assert (model.predict(sequences) == 0).all()


def test_bad_input__is_refused_with_a_remedy(sequences: xr.Dataset) -> None:
    with pytest.raises(IdentifiabilityError, match=r"n_components=9 states.* has 8"):
        HiddenMarkovModel(9).fit(sequences)
    with pytest.raises(ParameterError, match="n_components is 0"):
        HiddenMarkovModel(0).fit(sequences)
    with pytest.raises(ParameterError, match="refine is 'both'"):
        HiddenMarkovModel(2, refine="both").fit(sequences)
    pairs = simulate.discrete_mixture(500, 2, n_categories=3, views=2)
    with pytest.raises(ViewError, match="one categorical feature a step"):
        HiddenMarkovModel(2).fit(pairs)
    many = simulate.hidden_markov(500, 2, 300)
    with pytest.raises(ParameterError, match="at most 160"):
        HiddenMarkovModel(2).fit(many)
    short = simulate.hidden_markov(500, 2, 4, sequences=250)
    with pytest.raises(DataError, match="no sequence has three consecutive rows"):
        HiddenMarkovModel(2).fit(short)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_rare_categories__take_no_state_from_frequent_ones(seed: int) -> None:
    """Runs of a rare letter are a cluster of triples of their own, as in real sequences of DNA."""
    data = simulate.hidden_markov(100_000, 2, 4, stay=0.8, concentration=0.7, random_state=seed)
    codes = data["X"].to_numpy().copy()
    for first in np.random.default_rng(0).integers(0, 99_000, 8):
        codes[first : first + 4] = 4
    named = {"categories": {"symbol": [*"ACGTN"]}}
    rare = xr.Dataset({"X": (data["X"].dims, codes, named)}, {"feature": ["symbol"]})
    model = HiddenMarkovModel(2, random_state=0).fit(rare)
    order = matched_to(model.emission_.to_numpy()[:, :4], data["true_emission"].to_numpy())
    emission = model.emission_.to_numpy()[order, :4]
    assert np.abs(emission - data["true_emission"].to_numpy()).max() < 0.03


def test_few_steps__are_a_warning() -> None:
    data = simulate.hidden_markov(120, 2, 6, random_state=3)
    with pytest.warns(ConditioningWarning, match="triples .* 13 free parameters"):
        HiddenMarkovModel(2, random_state=0).fit(data)


@pytest.mark.parametrize("rows", [2_000, BLOCK_ROWS + 2_000])
@pytest.mark.quick_cases("2000")
def test_messages__are_asked_for_again_only_where_a_sequence_goes_on(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def recorded(samples: Any, pass_: Any, *args: Any, **kwargs: Any) -> Any:
        names.append(pass_.name.split()[0])
        return run_pass(samples, pass_, *args, **kwargs)

    monkeypatch.setattr("bigtensor.models.contract.run.run_pass", recorded)
    data = simulate.hidden_markov(rows, 2, 6, stay=0.6, random_state=3)
    HiddenMarkovModel(2, random_state=0).fit(data)
    several_blocks = rows > BLOCK_ROWS
    assert names.count("expectation") > 5
    assert (names.count("messages") == names.count("expectation")) is several_blocks
