"""Conversion to and from hmmlearn, and answers equal to hmmlearn's in any chunking."""

import sys
from pathlib import Path

import dask.array as da
import numpy as np
import pytest

from bigtensor import HiddenMarkovModel, load, simulate
from bigtensor.errors import MissingDependencyError, ParameterError

STEPS = 20_000


def drawn(k: int, symbols: int = 6, seed: int = 3):
    """Return a CategoricalHMM with random probabilities, and rows that it drew."""
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(seed)
    peer = hmm.CategoricalHMM(n_components=k, init_params="")
    peer.n_features = symbols
    peer.startprob_ = rng.dirichlet(np.ones(k))
    peer.transmat_ = rng.dirichlet(np.ones(k), k)
    peer.emissionprob_ = rng.dirichlet(np.ones(symbols), k)
    codes, _ = peer.sample(STEPS, random_state=seed)
    return peer, codes


def path_log_probability(peer, codes: np.ndarray, path: np.ndarray, lengths) -> float:
    """Return the joint log-probability of codes and states."""
    total, first = 0.0, 0
    for length in lengths:
        states, seen = path[first : first + length], codes[first : first + length, 0]
        total += np.log(peer.startprob_[states[0]])
        total += np.log(peer.transmat_[states[:-1], states[1:]]).sum()
        total += np.log(peer.emissionprob_[states, seen]).sum()
        first += length
    return total


def check_answers(model, peer, rows, codes, lengths) -> None:
    expected = peer.score(codes, lengths)
    assert model.score(rows, lengths=lengths) * len(codes) == pytest.approx(expected, rel=1e-8)
    posterior = np.asarray(model.predict_proba(rows, lengths=lengths))
    np.testing.assert_allclose(posterior, peer.predict_proba(codes, lengths), rtol=1e-8)
    path = np.asarray(model.predict(rows, lengths=lengths))
    best, _ = peer.decode(codes, lengths)
    # paths of equal probability are common, and either library takes one of them
    assert path_log_probability(peer, codes, path, lengths) == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("chunk", [None, 20_000, 7_001, 1_000, 97])
def test_one_sequence__has_the_answers_of_hmmlearn_in_any_chunking(
    k: int, chunk: int | None
) -> None:
    peer, codes = drawn(k)
    rows = codes if chunk is None else da.from_array(codes, chunks=(chunk, 1))
    check_answers(HiddenMarkovModel.from_hmmlearn(peer), peer, rows, codes, [STEPS])


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize(
    "lengths", [[1] * STEPS, [2] * (STEPS // 2), [1, 2, 1, 1, 2, 3, STEPS - 12, 2]]
)
def test_short_sequences__have_the_answers_of_hmmlearn(k: int, lengths: list[int]) -> None:
    peer, codes = drawn(k)
    rows = 2_000 if len(lengths) > 1_000 else STEPS
    lengths = lengths[: rows if lengths[0] == lengths[-1] == 1 else rows // 2]
    codes = codes[: sum(lengths)]
    model = HiddenMarkovModel.from_hmmlearn(peer)
    check_answers(model, peer, codes, codes, lengths)
    starts = np.cumsum([0, *lengths])
    scores = model.score_samples(codes, lengths=lengths)
    for at in (0, len(lengths) // 2, len(lengths) - 1):
        expected = peer.score(codes[starts[at] : starts[at + 1]])
        assert scores[at] == pytest.approx(expected, rel=1e-8)


def test_a_round_trip__keeps_every_probability_and_the_order_of_states(tmp_path: Path) -> None:
    peer, codes = drawn(3)
    model = HiddenMarkovModel.from_hmmlearn(peer)
    again = model.to_hmmlearn()
    for name in ("startprob_", "transmat_", "emissionprob_"):
        np.testing.assert_allclose(getattr(again, name), getattr(peer, name), rtol=1e-14)
    assert again.n_features == 6
    assert again.score(codes) == pytest.approx(peer.score(codes), rel=1e-12)
    occupancy = np.bincount(peer.predict(codes), minlength=3) / STEPS
    assert np.abs(model.occupancy_ - occupancy).max() < 0.2
    np.testing.assert_allclose(model.occupancy_ @ peer.transmat_, model.occupancy_, atol=1e-12)
    loaded = load(model.save(tmp_path / "model.zarr"))
    np.testing.assert_array_equal(loaded.predict(codes), model.predict(codes))
    assert "taken over from hmmlearn" in model._repr_html_()


def test_a_fitted_model__answers_as_its_copy_in_hmmlearn() -> None:
    pytest.importorskip("hmmlearn")
    data = simulate.hidden_markov(STEPS, 3, 8, stay=0.6, random_state=1)
    model = HiddenMarkovModel(3, random_state=0).fit(data)
    codes, peer = data["X"].to_numpy(), model.to_hmmlearn()
    assert model.score(data) * STEPS == pytest.approx(peer.score(codes), rel=1e-8)
    np.testing.assert_allclose(model.predict_proba(data), peer.predict_proba(codes), rtol=1e-8)


def test_other_models__are_refused() -> None:
    hmm = pytest.importorskip("hmmlearn.hmm")
    with pytest.raises(ParameterError, match="has no startprob_ and no transmat_"):
        HiddenMarkovModel.from_hmmlearn(hmm.CategoricalHMM(2))
    with pytest.raises(ParameterError, match=r"the GaussianHMM has no .*emissionprob_"):
        HiddenMarkovModel.from_hmmlearn(hmm.GaussianHMM(2))
    peer, _ = drawn(3)
    peer.emissionprob_ = peer.emissionprob_[:2]
    with pytest.raises(ParameterError, match=r"shapes \(3,\), \(3, 3\) and \(2, 6\)"):
        HiddenMarkovModel.from_hmmlearn(peer)
    peer, _ = drawn(3)
    peer.transmat_ = 2 * peer.transmat_
    with pytest.raises(ParameterError, match=r"transmat_ .* that are no probabilities"):
        HiddenMarkovModel.from_hmmlearn(peer)


def test_without_hmmlearn__the_error_says_how_to_install_it(monkeypatch) -> None:
    data = simulate.hidden_markov(5_000, 2, 4, stay=0.6, random_state=1)
    model = HiddenMarkovModel(2, random_state=0).fit(data)
    # None in the table of modules is how Python itself marks a module that cannot be imported
    monkeypatch.setitem(sys.modules, "hmmlearn.hmm", None)
    with pytest.raises(MissingDependencyError, match="pip install hmmlearn"):
        model.to_hmmlearn()
