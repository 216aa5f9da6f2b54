from itertools import product

import numpy as np
import pytest

from bigtensor.decomposition.discrete.discrete_core import core_of_table
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters, markov_from_factors
from bigtensor.errors import ParameterError
from tests.decomposition.discrete_tables import table_of
from tests.decomposition.markov_models import (
    dirichlet_markov,
    largest_difference,
    separated_markov,
    triple_table,
)


def paths(parameters, triple):
    """Probability of three symbols, path by path; a negative symbol is any."""
    total = 0.0
    for states in product(range(parameters.n_states), repeat=3):
        path = parameters.window_start[states[0]]
        path *= parameters.transition[states[0], states[1]]
        path *= parameters.transition[states[1], states[2]]
        for state, symbol in zip(states, triple, strict=True):
            path *= parameters.emission[state, symbol] if symbol >= 0 else 1.0
        total += path
    return total


def test_factors__are_the_mixture_given_the_middle_state():
    truth = dirichlet_markov(3, 5, np.random.default_rng(0))
    factors = truth.factors()
    for triple in product(range(5), repeat=3):
        assert table_of(factors)[triple] == pytest.approx(paths(truth, triple), rel=1e-12)
    assert factors.weights.sum() == pytest.approx(1)
    for columns in factors.probabilities:
        np.testing.assert_allclose(columns.sum(axis=0), 1, rtol=1e-12)


def test_factors__of_a_state_that_is_never_reached():
    transition = np.array([[0.4, 0.6, 0.0], [0.5, 0.5, 0.0], [0.3, 0.7, 0.0]])
    truth = MarkovParameters(
        np.array([0.2, 0.3, 0.5]), transition, np.random.default_rng(0).dirichlet(np.ones(4), 3)
    )
    factors = truth.factors()
    assert factors.weights[2] == 0
    np.testing.assert_allclose(factors.probabilities[0].sum(axis=0), 1, rtol=1e-12)
    np.testing.assert_allclose(table_of(factors), triple_table(truth), rtol=1e-12)


def test_triple_probabilities__sum_over_missing_symbols():
    truth = dirichlet_markov(3, 4, np.random.default_rng(1))
    triples = np.array(list(product(range(-1, 4), repeat=3)), dtype=np.int16)
    expected = [paths(truth, triple) for triple in triples]
    np.testing.assert_allclose(truth.triple_probabilities(triples), expected, rtol=1e-12)


def test_by_occupancy__orders_by_the_share_of_the_middle_step():
    truth = dirichlet_markov(5, 6, np.random.default_rng(2))
    found = truth.by_occupancy()
    assert np.all(np.diff(found.occupancy) < 0)
    np.testing.assert_allclose(found.occupancy, truth.factors().by_weight().weights, rtol=1e-12)
    np.testing.assert_allclose(triple_table(found), triple_table(truth), rtol=1e-12)


def test_clipped__is_valid_and_reaches_the_floor():
    random = np.random.default_rng(3)
    signed = MarkovParameters(
        random.normal(size=4), random.normal(size=(4, 4)), random.normal(size=(4, 6))
    )
    assert signed.negative_mass > 1
    found = signed.clipped(0.01)
    for rows in (found.window_start, found.transition, found.emission):
        np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=1e-12)
        assert rows.min() == pytest.approx(0.01)
    assert found.negative_mass == 0
    valid = dirichlet_markov(4, 6, random)
    assert largest_difference(valid.clipped(), valid) < 1e-15


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize(("k", "n"), [(1, 3), (2, 2), (4, 9), (7, 7)])
def test_markov_from_factors__recovers_the_parameters_of_a_population_table(k, n, damping):
    truth = separated_markov(k, n, np.random.default_rng(k))
    core = core_of_table(triple_table(truth), 2 * k, damping=damping, common_scale=True)
    rng = np.random.default_rng(0)
    spectral = spectral_factors(core, k, view=1, rotation="joint", rng=rng)
    assert largest_difference(markov_from_factors(spectral.factors, core), truth) < 1e-8
    # states stay in the order of the components
    found = markov_from_factors(truth.factors(), core)
    np.testing.assert_allclose(found.transition, truth.transition, atol=1e-8)


def test_markov_from_factors__is_valid_for_any_factors():
    random = np.random.default_rng(4)
    truth = dirichlet_markov(4, 6, random)
    core = core_of_table(triple_table(truth), 4, common_scale=True)
    factors = truth.factors()
    for columns in factors.probabilities:
        columns += 0.3 * random.normal(size=columns.shape)
    found = markov_from_factors(factors, core)
    for rows in (found.window_start, found.transition, found.emission):
        assert rows.min() >= 0
        np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=1e-12)


def test_parameters__shapes_belong_together():
    with pytest.raises(ParameterError, match=r"got \(2,\), \(3, 3\) and \(2, 4\)"):
        MarkovParameters(np.ones(2), np.ones((3, 3)), np.ones((2, 4)))
