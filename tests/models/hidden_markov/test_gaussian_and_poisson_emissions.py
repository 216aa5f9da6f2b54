"""Gaussian and Poisson emissions, criteria and best paths, beside formulas and hmmlearn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import bigtensor
from bigtensor import HiddenMarkovModel, simulate
from bigtensor.data.rows.block import Block
from bigtensor.errors import ConditioningWarning, DataError, ParameterError
from bigtensor.models.hidden_markov.emissions.gaussian_emissions import (
    GaussianEmissions,
    GaussianLaw,
)
from bigtensor.models.hidden_markov.emissions.poisson_emissions import PoissonEmissions, PoissonLaw
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.poisson_densities import PoissonDensities
from bigtensor.statistics.gaussian.own_covariance_densities import Frame

VIEWS = (("a", ("a",)), ("b", ("b",)))
LENGTHS = [400, 600]


def measured(seed: int, rows: int = 1000) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Draw rows of two states with covariances of their own."""
    states = simulate.hidden_markov(rows, 2, 4, stay=0.8, random_state=seed)["label"].to_numpy()
    rng = np.random.default_rng(seed)
    roots = np.array([[[1.0, 0.0], [0.8, 0.5]], [[0.6, 0.0], [-0.5, 1.2]]])
    noise = np.einsum("nij,nj->ni", roots[states], rng.normal(size=(rows, 2)))
    return np.array([[0.0, 1.0], [2.5, -1.0]])[states] + noise, states


def counts(seed: int, rows: int = 1000) -> NDArray[np.float64]:
    """Draw counts of two states."""
    states = simulate.hidden_markov(rows, 2, 4, stay=0.8, random_state=seed)["label"].to_numpy()
    rates = np.array([[1.0, 6.0], [5.0, 2.0]])
    return np.random.default_rng(seed).poisson(rates[states]).astype(np.float64)


def first_of_measured(seed: int) -> NDArray[np.float64]:
    """Draw rows of two states, without the states."""
    return measured(seed)[0]


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_gaussian_law__has_the_moments_of_the_rows(covariance_type: str) -> None:
    values, _ = measured(0)
    frame = Frame(np.array([1.0, -1.0]), np.array([0.5, 2.0]))
    law = GaussianLaw(covariance_type, frame, VIEWS)
    emissions = law.emissions(law.features_of(values).sum(axis=0)[:, None])
    np.testing.assert_allclose(emissions.feature_means()[0], values.mean(axis=0))
    covariance = np.cov(values.T, bias=True)
    expected = covariance if covariance_type == "full" else np.diag(covariance)
    np.testing.assert_allclose(emissions.feature_covariances()[0], expected, rtol=1e-4)
    assert emissions.parameters == (5 if covariance_type == "full" else 4)


def test_poisson_densities__are_those_of_scipy() -> None:
    rows = counts(1, 50)
    rates = np.array([[1.0, 6.0], [5.0, 2.0], [0.5, 0.1]])
    weights = np.array([0.2, 0.3, 0.5])
    block = Block(rows, {"a": slice(0, 1), "b": slice(1, 2)}, 0, len(rows))
    out = np.empty((len(rows), 3))
    PoissonDensities(weights, rates).log_joint(block, out, Workspace())
    expected = stats.poisson.logpmf(rows[:, None], rates).sum(axis=2) + np.log(weights)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_poisson_law__has_the_means_of_the_rows() -> None:
    rows = counts(2)
    law = PoissonLaw(VIEWS)
    emissions = law.emissions(law.features_of(rows).sum(axis=0)[:, None])
    np.testing.assert_allclose(emissions.rates[0], rows.mean(axis=0))
    nothing = law.emissions(np.array([[0.0], [3.0], [2.0]]))
    assert 0 < nothing.rates[0, 0] < 1e-3


@pytest.mark.parametrize("law", ["gaussian", "poisson"])
def test_distances__bound_the_total_variation(law: str) -> None:
    emissions: GaussianEmissions | PoissonEmissions
    if law == "gaussian":
        frame = Frame(np.zeros(1), np.ones(1))
        means, variances = np.array([[0.0], [0.3], [4.0]]), np.ones((3, 1))
        emissions = GaussianEmissions(means, variances, frame, VIEWS[:1])
        total = [2 * stats.norm.cdf(apart / 2) - 1 for apart in (0.3, 4.0)]
    else:
        emissions = PoissonEmissions(np.array([[3.0], [3.5], [12.0]]), VIEWS[:1])
        at = np.arange(60)
        masses = stats.poisson.pmf(at, emissions.rates)
        total = [np.abs(masses[0] - mass).sum() / 2 for mass in masses[1:]]
    assert emissions.distance(0, 0) == pytest.approx(0, abs=1e-7)
    for state, exact in zip((1, 2), total, strict=True):
        assert exact <= emissions.distance(0, state) <= min(1, 1.6 * exact)


@pytest.mark.parametrize("emissions", ["full", "diag", "poisson"])
def test_fits__are_as_likely_as_those_of_hmmlearn(emissions: str) -> None:
    hmm = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed")
    values = counts(3) if emissions == "poisson" else measured(3)[0]
    kind = "poisson" if emissions == "poisson" else "gaussian"
    covariance_type = "full" if kind == "poisson" else emissions
    model = HiddenMarkovModel(
        2, emissions=kind, covariance_type=covariance_type, ridge=None, random_state=0
    ).fit(values, lengths=LENGTHS)
    if kind == "poisson":
        peers = [hmm.PoissonHMM(2, n_iter=100, random_state=seed) for seed in range(3)]
        values = values.astype(np.int64)
    else:
        peers = [hmm.GaussianHMM(2, emissions, n_iter=100, random_state=seed) for seed in range(3)]
    best = max(peer.fit(values, LENGTHS).score(values, LENGTHS) for peer in peers)
    assert model.score(values, lengths=LENGTHS) > best / len(values) - 2e-3
    # its answers for the parameters of this model
    peer = peers[0]
    peer.startprob_, peer.transmat_ = model.initial_, model.transition_.to_numpy()
    if kind == "poisson":
        peer.lambdas_ = model.means_.to_numpy()
    else:
        peer.means_, peer.covars_ = model.means_.to_numpy(), model.covariances_.to_numpy()
    likelihood = peer.score(values, LENGTHS)
    assert model.score_samples(values, lengths=LENGTHS).sum() == pytest.approx(likelihood)
    probability, path = model.decode(values, lengths=LENGTHS)
    expected, expected_path = peer.decode(values, LENGTHS)
    assert probability == pytest.approx(expected, rel=1e-9)
    assert np.mean(path == expected_path) > 0.999
    assert model.bic(values, lengths=LENGTHS) == pytest.approx(
        np.log(len(values)) * model.solution_.parameters - 2 * likelihood
    )


def test_decode__is_the_best_of_all_paths() -> None:
    steps = simulate.hidden_markov(2000, 2, 4, stay=0.9, random_state=5)["X"].to_numpy()
    model = HiddenMarkovModel(2, max_iter=2, random_state=0).fit(steps)
    short = steps[:7]
    probability, path = model.decode(short)
    emission = model.emission_.to_numpy()[:, short[:, 0]]
    transition = model.transition_.to_numpy()
    every = [
        np.log(model.initial_[states[0]])
        + sum(np.log(emission[state, step]) for step, state in enumerate(states))
        + sum(np.log(transition[a, b]) for a, b in itertools.pairwise(states))
        for states in itertools.product(range(2), repeat=7)
    ]
    assert probability == pytest.approx(max(every))
    assert tuple(path) == list(itertools.product(range(2), repeat=7))[int(np.argmax(every))]


def test_criteria__count_parameters_and_steps() -> None:
    steps = simulate.hidden_markov(400, 2, 4, stay=0.6, random_state=6)["X"].to_numpy()
    model = HiddenMarkovModel(2, max_iter=2, random_state=0).fit(steps)
    likelihood = model.score(steps) * 400
    # start, transitions and emissions
    assert model.aic(steps) == pytest.approx(2 * (1 + 2 + 6) - 2 * likelihood)
    assert model.bic(steps) == pytest.approx(np.log(400) * 9 - 2 * likelihood)
    kernel = HiddenMarkovModel(2, emissions="kernel", max_iter=1, random_state=0)
    kernel.fit(measured(6, 300)[0])
    with pytest.raises(ParameterError, match="score"):
        kernel.bic(measured(6, 300)[0])


@pytest.mark.parametrize("emissions", ["gaussian", "poisson"])
@pytest.mark.quick_cases("poisson")
def test_advice_on_few_steps__names_no_categories(emissions: str) -> None:
    model = HiddenMarkovModel(2, emissions=emissions, random_state=0)
    for rows, fault in ((60, "triples"), (170, "steps")):
        with pytest.warns(ConditioningWarning, match=fault) as warned:
            model.fit(counts(4, rows))
        assert not any("categories" in str(warning.message) for warning in warned)


@pytest.mark.parametrize(
    ("emissions", "draw"), [("gaussian", first_of_measured), ("poisson", counts)]
)
@pytest.mark.parametrize("far", [1e3, 1e6])
@pytest.mark.quick_cases("1000.0-gaussian-first_of_measured", "1000000.0-poisson-counts")
def test_an_outlying_step__is_named_and_takes_no_state(emissions: str, draw, far: float) -> None:
    rows = draw(5)
    model = HiddenMarkovModel(2, emissions=emissions, random_state=0).fit(rows)
    labels = np.asarray(model.predict(rows))
    rows[500, 0] = far
    with pytest.warns(ConditioningWarning, match="row 500"):
        model = HiddenMarkovModel(2, emissions=emissions, random_state=0).fit(rows)
    assert model.diagnostics_["outlying_rows"] == 1
    assert np.delete(np.asarray(model.predict(rows)) == labels, 500).mean() > 0.98


def test_saved_gaussian_model__answers_with_the_same_bits(tmp_path) -> None:
    values, states = measured(3)
    model = HiddenMarkovModel(2, emissions="gaussian", random_state=0).fit(values)
    assert (
        max(np.mean(model.predict(values) == states), np.mean(model.predict(values) != states))
        > 0.9
    )
    model.save(tmp_path / "model.zarr")
    loaded = bigtensor.load(tmp_path / "model.zarr")
    np.testing.assert_array_equal(loaded.predict_proba(values), model.predict_proba(values))
    drawn, _ = loaded.sample(4000, random_state=1)
    np.testing.assert_allclose(drawn.mean(axis=0), values.mean(axis=0), atol=0.3)


def test_poisson__refuses_what_is_no_count() -> None:
    with pytest.raises(DataError, match="poisson"):
        HiddenMarkovModel(2, emissions="poisson").fit(measured(8, 200)[0])


@pytest.mark.parametrize(
    ("emissions", "value"), [("gaussian", 1.0), ("gaussian", 1e17), ("poisson", 2), ("poisson", 0)]
)
@pytest.mark.quick_cases("gaussian-1e+17", "poisson-0")
def test_constant_feature__changes_no_state(emissions: str, value: float) -> None:
    rng = np.random.default_rng(0)
    state = np.arange(400) // 50 % 2
    rows = rng.poisson(2 + 7 * state)[:, None].astype(np.float64)
    beside = np.column_stack([rows, np.full(400, value)])
    states = [
        np.asarray(HiddenMarkovModel(2, emissions=emissions, random_state=0).fit(X).predict(X))
        for X in (rows, beside)
    ]
    assert np.mean(states[0] == states[1]) > 0.98


def test_large_weights__need_no_more_memory() -> None:
    rows = np.random.default_rng(0).normal(size=(600, 2))
    model = HiddenMarkovModel(2, emissions="gaussian", random_state=0)
    model.fit(rows, sample_weight=np.full(600, 1e12))
    assert np.isfinite(model.score(rows))


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize("emissions", ["gaussian", "poisson"])
def test_equal_rows__tell_no_states_apart(emissions):
    """States of equal emissions differ in transitions that no row has a part in."""
    model = HiddenMarkovModel(2, emissions=emissions, random_state=0).fit(np.full((600, 1), 3))
    verdict = model.diagnostics_["verdict"]
    assert not verdict["good"]
    assert "2 states have the same emissions" in verdict["sentences"][0]


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_report_and_info__show_standard_deviations_of_states(covariance_type: str) -> None:
    rng = np.random.default_rng(0)
    state = (rng.random(600) < 0.03).cumsum() % 2
    rows = rng.normal(size=(600, 2)) * np.array([[0.5, 10.0], [2.0, 20.0]])[state]
    model = HiddenMarkovModel(
        2, emissions="gaussian", covariance_type=covariance_type, random_state=0
    ).fit(rows)
    covariances = model.covariances_.to_numpy()
    variances = covariances if covariance_type == "diag" else covariances.diagonal(0, 1, 2)
    report = model.description.report(model, None)
    (section,) = [one for one in report.sections if one.name == "emissions"]
    (table,) = section.blocks
    for feature, line in enumerate(table.rows):
        for cell, mean, variance in zip(
            line[1:], model.means_[:, feature], variances[:, feature], strict=True
        ):
            assert float(cell.text) == pytest.approx(float(mean), rel=1e-3)
            assert float(cell.below.removeprefix("sd ")) == pytest.approx(variance**0.5, rel=1e-3)
    facts = model.description.facts(model)
    np.testing.assert_allclose(
        np.transpose([*facts["standard_deviations"].values()]), np.sqrt(variances)
    )
    table = model.description.table(facts)
    names = [*facts["means"]]
    assert [*table.head[3:]] == [f"{word} of {name}" for name in names for word in ("mean", "sd")]
    assert "in the long run" in table.head[1]
