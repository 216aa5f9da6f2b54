"""EM iterations on windows of three symbols."""

import numpy as np
import pytest

from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.errors import ParameterError
from bigtensor.models.hidden_markov.expectation_maximisation import (
    triple_expectation_maximisation,
)
from tests.decomposition.markov_models import (
    dirichlet_markov,
    largest_difference,
    sampled_triples,
    table_error,
    triple_table,
)
from tests.statistics.codes.test_triple_posteriors import path_sums


def sample(seed=0, k=3, n=5, rows=400):
    random = np.random.default_rng(seed)
    truth = dirichlet_markov(k, n, random)
    counts = np.rint(sampled_triples(truth, rows, random) * rows)
    codes = np.argwhere(counts > 0)
    return truth, dirichlet_markov(k, n, random), codes, counts[counts > 0]


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_iterations__are_those_of_all_paths(smoothing):
    _, start, codes, weights = sample()
    codes[::7, 1] = -1
    found = triple_expectation_maximisation(
        start, codes, weights, smoothing=smoothing, most=3, tolerance=0.0
    )
    current, likelihoods = start, []
    for _ in range(3):
        *sums, likelihood = path_sums(
            codes, weights, current.window_start, current.transition, current.emission
        )
        rows = [np.atleast_2d(array + smoothing) for array in sums]
        begin, move, show = (row / row.sum(axis=1, keepdims=True) for row in rows)
        current = MarkovParameters(begin[0], move, show)
        likelihoods.append(likelihood / weights.sum())
    np.testing.assert_allclose(found.parameters.window_start, current.window_start, rtol=1e-12)
    np.testing.assert_allclose(found.parameters.transition, current.transition, rtol=1e-12)
    np.testing.assert_allclose(found.parameters.emission, current.emission, rtol=1e-12)
    np.testing.assert_allclose(found.likelihoods, likelihoods, rtol=1e-12)
    assert not found.converged


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_iterations__climb_the_posterior(smoothing):
    _, start, codes, weights = sample(1)
    values, current = [], start
    for _ in range(30):
        found = triple_expectation_maximisation(
            current, codes, weights, smoothing=smoothing, most=1
        )
        logs = 0.0
        if smoothing:
            arrays = (current.window_start, current.transition, current.emission)
            logs = smoothing * sum(np.log(array).sum() for array in arrays)
        values.append(found.likelihoods[0] * weights.sum() + logs)
        current = found.parameters
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0] + 1


def test_iterations__end_when_the_likelihood_has_settled():
    _, start, codes, weights = sample(2)
    found = triple_expectation_maximisation(start, codes, weights, most=500, tolerance=1e-5)
    assert found.converged
    change = np.abs(np.diff(found.likelihoods)) / np.abs(found.likelihoods[:-1])
    assert change[-1] <= 1e-5 < change[:-1].min()


def test_iterations__the_truth_of_a_population_stays():
    truth = dirichlet_markov(3, 4, np.random.default_rng(3))
    table = triple_table(truth)
    codes = np.argwhere(table > 0)
    found = triple_expectation_maximisation(truth, codes, table.ravel(), most=5, tolerance=0.0)
    assert largest_difference(found.parameters, truth) < 1e-12


def test_iterations__bring_the_model_nearer():
    truth, _, codes, weights = sample(5, rows=100_000)
    random = np.random.default_rng(1)
    start = MarkovParameters(
        truth.window_start,
        truth.transition + 0.2 * random.random(truth.transition.shape),
        truth.emission + 0.2 * random.random(truth.emission.shape),
    ).clipped()
    found = triple_expectation_maximisation(start, codes, weights, most=200, tolerance=1e-9)
    assert table_error(found.parameters, truth) < 0.05 < table_error(start, truth)


@pytest.mark.parametrize(
    ("codes", "weights", "message"),
    [
        (np.zeros((4, 2), int), None, r"shape \(m, 3\) .*got \(4, 2\)"),
        (np.full((4, 3), 5), None, "symbols below 5 .*, got 5"),
        (np.zeros((4, 3), int), np.ones(3), r"4 weights .*shape \(3,\)"),
    ],
)
def test_windows__that_do_not_belong_to_the_start_are_refused(codes, weights, message):
    start = sample()[1]
    with pytest.raises(ParameterError, match=message):
        triple_expectation_maximisation(start, codes, weights)


def test_settings__are_not_negative():
    _, start, codes, weights = sample()
    with pytest.raises(ParameterError, match="must not be negative, got -1"):
        triple_expectation_maximisation(start, codes, weights, smoothing=-1)
