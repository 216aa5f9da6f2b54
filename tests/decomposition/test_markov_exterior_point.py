import json

import numpy as np
import pytest

from bigtensor.decomposition.discrete.discrete_core import core_of_table
from bigtensor.decomposition.discrete.hidden_markov import MarkovParameters
from bigtensor.decomposition.exterior_point import (
    markov_exterior_point,
    markov_exterior_point_from,
)
from bigtensor.decomposition.exterior_point.markov_objective import MarkovObjective
from bigtensor.errors import IdentifiabilityError, ParameterError
from tests.decomposition.markov_models import (
    dirichlet_markov,
    largest_difference,
    sampled_triples,
    separated_markov,
    table_error,
    triple_table,
)
from tests.decomposition.test_factor_residual import numerical_gradient


def sample(seed, k=4, n=8, rows=2000):
    random = np.random.default_rng(seed)
    truth = dirichlet_markov(k, n, random)
    return truth, sampled_triples(truth, rows, random)


def estimate(table, k=4, *, damping=0.0, **options):
    options = {"ridge": 0.0, "rng": np.random.default_rng(0)} | options
    core = core_of_table(table, 2 * k, damping=damping, common_scale=True)
    return markov_exterior_point(core, k, **options)


@pytest.mark.parametrize("damping", [0.0, 0.7])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_objective__gradient_agrees_with_finite_differences(ridge, damping):
    truth, table = sample(1)
    core = core_of_table(table, 5, damping=damping, common_scale=True)
    objective = MarkovObjective(core, 4, sum_penalty=0.4, ridge=ridge)
    point = objective.point(truth)
    point += 0.3 * np.random.default_rng(2).standard_normal(point.shape)
    expansion = objective.expansion(point)
    assert expansion.value == pytest.approx(objective.value(point), rel=1e-13)
    expected = numerical_gradient(objective.value, point)
    np.testing.assert_allclose(
        expansion.gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max()
    )


def test_objective__is_the_residual_plus_penalties():
    truth, table = sample(3)
    core = core_of_table(table, 20, damping=0.2, common_scale=True)
    marginal = sum(table.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))) / 3
    square = marginal + 0.2 / 8
    weights = np.einsum("i,j,l->ijl", 1 / square, 1 / square, 1 / square)
    moved = MarkovParameters(truth.window_start * 1.1, truth.transition * 0.8, truth.emission * 0.9)
    residual = np.sum(weights * (table - triple_table(moved)) ** 2)
    value = residual / 2 + 0.25 / 2 * (4 * 0.1**2 + 4 * 0.2**2 + 0.1**2)
    value += 0.05 / 2 * np.sum((moved.emission - marginal) ** 2 / square)
    value += 0.05 / 2 * np.sum((moved.transition - 1 / 4) ** 2)
    objective = MarkovObjective(core, 4, sum_penalty=0.25, ridge=0.05)
    assert objective.value(objective.point(moved)) == pytest.approx(value, rel=1e-12)
    relative = np.sqrt(residual / np.sum(weights * table**2))
    assert objective.relative_residual(moved) == pytest.approx(relative, rel=1e-9)


def test_objective__point_and_parameters_are_inverse():
    truth, table = sample(3)
    objective = MarkovObjective(core_of_table(table, 8, common_scale=True), 4, sum_penalty=1.0)
    found = objective.parameters(objective.point(truth))
    assert largest_difference(found, truth) < 1e-14


def test_objective__curvature_bounds_every_block_near_an_exact_fit():
    """Without a residual the second derivatives are those of Gauss and Newton."""
    random = np.random.default_rng(4)
    for _ in range(5):
        truth = dirichlet_markov(3, 5, random)
        core = core_of_table(triple_table(truth), 6, common_scale=True)
        objective = MarkovObjective(core, 3, sum_penalty=0.3, ridge=0.1)
        point = objective.point(truth)
        expansion = objective.expansion(point)
        for rows in (slice(0, 5), slice(5, 8), slice(8, 9)):
            for _ in range(20):
                move = np.zeros_like(point)
                move[rows] = 1e-4 * random.standard_normal(move[rows].shape)
                rise = objective.value(point + move) - expansion.value
                rise -= np.vdot(expansion.gradient, move)
                assert rise <= 0.501 * np.sum(expansion.curvature * move**2)


def test_objective__needs_one_scale_for_all_views():
    _, table = sample(0)
    core = core_of_table(table, 4)
    with pytest.raises(ParameterError, match="make the core with a common scale"):
        MarkovObjective(core, 4, sum_penalty=1.0)
    with pytest.raises(ParameterError, match="positive sum_penalty"):
        MarkovObjective(core_of_table(table, 4, common_scale=True), 4, sum_penalty=0.0)


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize(("k", "n"), [(1, 3), (2, 2), (4, 9), (6, 12)])
def test_markov_exterior_point__recovers_the_parameters_of_a_population_table(k, n, damping):
    truth = separated_markov(k, n, np.random.default_rng(k))
    found = estimate(triple_table(truth), k, damping=damping)
    assert largest_difference(found.parameters, truth) < 1e-8
    assert found.residual < 1e-7
    assert found.diagnostics["converged"]
    assert np.all(np.diff(found.parameters.occupancy) <= 1e-12)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_markov_exterior_point_from__truth_of_a_population_table_stays(damping):
    truth = dirichlet_markov(5, 10, np.random.default_rng(8))
    core = core_of_table(triple_table(truth), 5, damping=damping, common_scale=True)
    found = markov_exterior_point_from(core, truth, ridge=0.0)
    np.testing.assert_allclose(found.parameters.window_start, truth.window_start, atol=1e-8)
    np.testing.assert_allclose(found.parameters.transition, truth.transition, atol=1e-8)
    np.testing.assert_allclose(found.parameters.emission, truth.emission, atol=1e-8)
    assert found.diagnostics["converged"]
    assert found.iterations == 3


def test_markov_exterior_point__symbols_may_change_places():
    _, table = sample(7)
    order = np.random.default_rng(1).permutation(8)
    found, moved = estimate(table), estimate(table[np.ix_(order, order, order)])
    back = MarkovParameters(
        moved.parameters.window_start,
        moved.parameters.transition,
        moved.parameters.emission[:, np.argsort(order)],
    )
    assert largest_difference(back, found.parameters) < 1e-7


def test_markov_exterior_point__symbol_without_rows_has_probability_zero():
    _, table = sample(8)
    wider = np.zeros((9, 9, 9))
    wider[:8, :8, :8] = table
    found, known = estimate(wider), estimate(table)
    np.testing.assert_array_equal(found.parameters.emission[:, 8], 0.0)
    shortened = MarkovParameters(
        found.parameters.window_start,
        found.parameters.transition,
        found.parameters.emission[:, :8],
    )
    assert largest_difference(shortened, known.parameters) < 1e-7


@pytest.mark.parametrize(("k", "n", "rows"), [(3, 6, 500), (5, 10, 4000), (6, 12, 10**5)])
@pytest.mark.quick_cases("3-6-500")
def test_markov_exterior_point__is_better_than_the_mapped_mixture(k, n, rows):
    ratios = []
    for seed in range(6):
        truth, table = sample(seed, k, n, rows)
        mapped = estimate(table, k, most_iterations=1)
        ratios.append(
            table_error(estimate(table, k).parameters, truth)
            / table_error(mapped.parameters, truth)
        )
    assert np.mean(ratios) < 0.97, ratios


@pytest.mark.parametrize("rows", [100, 10**5])
def test_markov_exterior_point__is_valid(rows):
    truth, table = sample(5, rows=rows)
    found = estimate(table)
    parameters = found.parameters
    for distributions in (parameters.window_start, parameters.transition, parameters.emission):
        assert distributions.min() >= 0
        np.testing.assert_allclose(distributions.sum(axis=-1), 1.0, atol=1e-12)
    assert np.all(np.diff(parameters.occupancy) <= 0)
    assert table_error(parameters, truth) < 1.5


def test_markov_exterior_point__large_ridge_gives_states_that_do_not_differ():
    _, table = sample(9)
    found = estimate(table, ridge=1e6).parameters
    marginal = sum(table.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))) / 3
    np.testing.assert_allclose(found.emission, np.tile(marginal, (4, 1)), atol=1e-4)
    np.testing.assert_allclose(found.transition, 1 / 4, atol=1e-4)


def test_markov_exterior_point__diagnostics_tell_of_every_descent():
    _, table = sample(10)
    found = estimate(table, starts=3)
    read = json.loads(json.dumps(found.diagnostics))
    assert list(read["descents"]) == list(read["candidates"])[:3]
    assert [figures["residual"] for figures in read["descents"].values()] == found.residuals
    chosen = read["descents"][read["chosen"]]
    assert chosen["residual"] == found.residual <= min(found.residuals) * (1 + 1e-4)
    assert chosen["iterations"] == found.iterations
    # the hidden Markov model is a mixture with fewer parameters
    assert chosen["mixture_residual"] < found.residual < chosen["mapped_residual"]
    assert (read["sum_penalty"], read["negative_penalty"], read["ridge"]) == (0.25, 0.3, 0.0)
    assert read["directions"] == [4, 4, 4]


def test_markov_exterior_point__arguments_out_of_range_are_refused():
    _, table = sample(0)
    with pytest.raises(IdentifiabilityError, match="at most 8 components, but 9 were asked"):
        estimate(table, 9)
    with pytest.raises(ParameterError, match="starts must be at least 1, got 0"):
        estimate(table, starts=0)
    with pytest.raises(ParameterError, match=r"most_iterations must .*, got 0"):
        estimate(table, most_iterations=0)
