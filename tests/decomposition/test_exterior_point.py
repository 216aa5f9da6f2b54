import json

import numpy as np
import pytest

from bigtensor.decomposition.discrete.discrete_core import (
    DiscreteFactors,
    core_of_table,
)
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.decomposition.exterior_point import (
    exterior_point,
    exterior_point_from,
    literal_exterior_point,
)
from bigtensor.decomposition.exterior_point.mixture_objective import MixtureObjective
from bigtensor.errors import IdentifiabilityError, ParameterError
from tests.decomposition.discrete_tables import (
    dirichlet_mixture,
    largest_difference,
    sampled_table,
    separated_mixture,
    table_error,
    table_of,
    unscaled_core,
)
from tests.decomposition.test_factor_residual import numerical_gradient


def sample(seed, k=4, symbols=(6, 8, 7), rows=2000):
    random = np.random.default_rng(seed)
    truth = dirichlet_mixture(k, symbols, random)
    return truth, sampled_table(truth, rows, random)


def estimate(table, k=4, *, damping=0.0, **options):
    options = {"ridge": 0.0, "rng": np.random.default_rng(0)} | options
    return exterior_point(core_of_table(table, 2 * k, damping=damping), k, **options)


@pytest.mark.parametrize("damping", [0.0, 0.7])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_objective__gradient_agrees_with_finite_differences(ridge, damping):
    truth, table = sample(1)
    core = core_of_table(table, 5, damping=damping)
    objective = MixtureObjective(core, sum_penalty=0.4, ridge=ridge)
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
    core = core_of_table(table, 20, damping=0.2)
    factors = DiscreteFactors(truth.weights * 1.1, tuple(u * 0.9 for u in truth.probabilities))
    squares = [scale**2 for scale in core.scales]
    weights = np.einsum("i,j,l->ijl", *[1 / square for square in squares])
    value = 0.5 * np.sum(weights * (table - table_of(factors)) ** 2)
    value += 0.25 / 2 * (3 * 4 * 0.1**2 + 0.1**2)
    for square, marginal, columns in zip(
        squares, core.marginals, factors.probabilities, strict=True
    ):
        value += 0.05 / 2 * np.sum((columns - marginal[:, None]) ** 2 / square[:, None])
    objective = MixtureObjective(core, sum_penalty=0.25, ridge=0.05)
    assert objective.value(objective.point(factors)) == pytest.approx(value, rel=1e-12)
    residual = np.sum(weights * (table - table_of(factors)) ** 2) / np.sum(weights * table**2)
    assert objective.relative_residual(factors) == pytest.approx(np.sqrt(residual), rel=1e-9)


def test_objective__point_and_factors_are_inverse():
    truth, table = sample(3)
    objective = MixtureObjective(core_of_table(table, 8, damping=0.1), sum_penalty=1.0)
    factors = objective.factors(objective.point(truth))
    assert largest_difference(factors, truth) < 1e-14


def test_objective__curvature_bounds_every_block():
    """Second derivatives within the rows of one view, or the weights, are bounded."""
    truth, table = sample(4, k=3, symbols=(4, 5, 4))
    objective = MixtureObjective(core_of_table(table, 6), sum_penalty=0.3, ridge=0.1)
    random = np.random.default_rng(0)
    for _ in range(20):
        point = objective.point(truth)
        point += 0.5 * random.standard_normal(point.shape)
        expansion = objective.expansion(point)
        for rows in (slice(0, 4), slice(4, 9), slice(9, 13), slice(13, 14)):
            move = np.zeros_like(point)
            move[rows] = random.standard_normal(move[rows].shape)
            bound = expansion.value + np.vdot(expansion.gradient, move)
            bound += 0.5 * np.sum(expansion.curvature * move**2)
            assert objective.value(point + move) <= bound + 1e-12


@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize(("k", "symbols"), [(1, (2, 3, 2)), (3, (5, 7, 6)), (6, (6, 12, 9))])
def test_exterior_point__recovers_the_parameters_of_a_population_table(k, symbols, damping):
    truth = separated_mixture(k, symbols, np.random.default_rng(k))
    found = estimate(table_of(truth), k, damping=damping)
    assert largest_difference(found.factors, truth) < 1e-8
    assert found.residual < 1e-7
    assert found.negative_mass < 1e-8
    assert found.diagnostics["converged"]
    # among equals, which differ by rounding errors, the first
    assert found.diagnostics["chosen"] == "view 0, all directions"


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_exterior_point_from__truth_of_a_population_table_stays(damping):
    truth = dirichlet_mixture(5, (8, 10, 9), np.random.default_rng(8))
    core = core_of_table(table_of(truth), 5, damping=damping)
    found = exterior_point_from(core, truth, ridge=0.0)
    np.testing.assert_allclose(found.factors.weights, truth.weights, atol=1e-8)
    for own, true in zip(found.factors.probabilities, truth.probabilities, strict=True):
        np.testing.assert_allclose(own, true, atol=1e-8)
    assert found.diagnostics["converged"]
    assert found.iterations == 3


def test_literal_exterior_point__truth_of_a_population_table_stays():
    truth = dirichlet_mixture(5, (8, 10, 9), np.random.default_rng(8))
    found = literal_exterior_point(
        unscaled_core(table_of(truth)), truth, sum_penalty=0.2, negative_penalty=0.3
    )
    np.testing.assert_allclose(found.factors.weights, truth.weights, atol=1e-8)
    for own, true in zip(found.factors.probabilities, truth.probabilities, strict=True):
        np.testing.assert_allclose(own, true, atol=1e-8)
    assert found.iterations == 1


def test_exterior_point_from__comes_back_to_the_truth_from_nearby():
    truth = separated_mixture(3, (5, 6, 5), np.random.default_rng(1))
    random = np.random.default_rng(2)
    start = DiscreteFactors(
        truth.weights,
        tuple(u + 0.05 * random.standard_normal(u.shape) for u in truth.probabilities),
    )
    core = core_of_table(table_of(truth), 3)
    found = exterior_point_from(core, start, ridge=0.0, most_iterations=1000)
    assert largest_difference(found.factors, truth) < 1e-4
    # components stay in the order of the start
    np.testing.assert_allclose(found.factors.weights, truth.weights, atol=1e-4)


@pytest.mark.parametrize(("k", "n", "rows"), [(3, 6, 500), (5, 10, 4000), (6, 12, 10**5)])
@pytest.mark.quick_cases("3-6-500")
def test_exterior_point__is_better_than_the_clipped_spectral_solution(k, n, rows):
    ratios = []
    for seed in range(6):
        truth, table = sample(seed, k, (n, n, n), rows)
        core = core_of_table(table, 2 * k)
        rng = np.random.default_rng(seed)
        spectral = min(
            table_error(
                spectral_factors(core, k, view=view, rotation="joint", rng=rng).factors.clipped(),
                truth,
            )
            for view in range(3)
        )
        found = exterior_point(core, k, ridge=0.0, rng=rng)
        ratios.append(table_error(found.factors, truth) / spectral)
    # the best of the three spectral solutions, which only the truth can tell
    assert np.mean(ratios) < 0.85, ratios
    assert np.sum(np.array(ratios) < 1) >= 5, ratios


def test_exterior_point__weighted_residual_is_better_than_the_literal_one():
    errors = []
    for seed in range(4):
        truth, table = sample(seed, 5, (10, 10, 10), 4000)
        rng = np.random.default_rng(seed)
        core = unscaled_core(table)
        start = spectral_factors(core, 5, view=2, rotation="single", rng=rng).factors
        literal = literal_exterior_point(core, start, sum_penalty=0.2, negative_penalty=0.3)
        errors.append([table_error(end.factors, truth) for end in (literal, estimate(table, k=5))])
    literal, weighted = np.mean(errors, axis=0)
    assert weighted < 0.8 * literal, errors


@pytest.mark.parametrize("rows", [100, 10**5])
def test_exterior_point__is_valid_and_in_the_order_of_the_weights(rows):
    truth, table = sample(5, rows=rows)
    found = estimate(table)
    assert np.all(np.diff(found.factors.weights) <= 0)
    for columns in (found.factors.weights, *found.factors.probabilities):
        assert columns.min() >= 0
        np.testing.assert_allclose(columns.sum(axis=0), 1.0, atol=1e-12)
    assert found.residual == min(found.residuals)
    assert table_error(found.factors, truth) < 1.5


@pytest.mark.parametrize("views", [(1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_exterior_point__views_may_change_places(views):
    _, table = sample(6)
    found, moved = estimate(table), estimate(np.ascontiguousarray(table.transpose(views)))
    back = tuple(moved.factors.probabilities[views.index(t)] for t in range(3))
    assert largest_difference(DiscreteFactors(moved.factors.weights, back), found.factors) < 1e-7
    assert moved.iterations == found.iterations


def test_exterior_point__symbols_may_change_places():
    _, table = sample(7)
    orders = [np.random.default_rng(1).permutation(n) for n in table.shape]
    found, moved = estimate(table), estimate(table[np.ix_(*orders)])
    back = tuple(
        columns[np.argsort(order)]
        for columns, order in zip(moved.factors.probabilities, orders, strict=True)
    )
    assert largest_difference(DiscreteFactors(moved.factors.weights, back), found.factors) < 1e-7


def test_exterior_point__symbol_without_rows_has_probability_zero():
    _, table = sample(8)
    wider = np.zeros((7, 8, 7))
    wider[:6] = table
    found, known = estimate(wider), estimate(table)
    np.testing.assert_array_equal(found.factors.probabilities[0][6], 0.0)
    shortened = DiscreteFactors(
        found.factors.weights,
        (found.factors.probabilities[0][:6], *found.factors.probabilities[1:]),
    )
    assert largest_difference(shortened, known.factors) < 1e-7


def test_exterior_point__rows_without_a_common_symbol():
    """Each row is a direction of its own, and the first directions of two views need not meet."""
    random = np.random.default_rng(0)
    sizes = set()
    for _ in range(30):
        table = np.zeros((6, 5, 4))
        for cell in zip(*(random.permutation(n)[:2] for n in table.shape), strict=True):
            table[cell] = 0.5
        found = estimate(table, 1)
        # one component of two rows cannot be more than independent views
        np.testing.assert_allclose(table_of(found.factors).sum(), 1.0, atol=1e-12)
        sizes.add(tuple(found.diagnostics["directions"]))
    assert sizes == {(1, 1, 1), (2, 2, 2)}


@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_exterior_point__large_ridge_gives_the_marginals(damping):
    _, table = sample(9)
    found = estimate(table, damping=damping, ridge=1e6)
    marginals = table.sum(axis=(1, 2)), table.sum(axis=(0, 2)), table.sum(axis=(0, 1))
    for columns, marginal in zip(found.factors.probabilities, marginals, strict=True):
        np.testing.assert_allclose(columns, np.tile(marginal[:, None], 4), atol=1e-4)


def test_exterior_point__ridge_helps_dense_components_at_few_rows():
    errors = []
    for seed in range(5):
        truth, table = sample(seed, 5, (10, 10, 10), 300)
        ends = estimate(table, k=5), estimate(table, k=5, ridge=2 * 10 / 300)
        errors.append([table_error(end.factors, truth) for end in ends])
    without, with_ridge = np.mean(errors, axis=0)
    assert with_ridge < 0.95 * without, errors


def test_exterior_point__diagnostics_tell_of_every_candidate_and_descent():
    _, table = sample(10)
    found = estimate(table, starts=3)
    read = json.loads(json.dumps(found.diagnostics))
    names = {f"view {t}, {size}" for t in range(3) for size in ("all directions", "k directions")}
    assert set(read["candidates"]) == names
    # the best candidates first
    residuals = [figures["residual"] for figures in read["candidates"].values()]
    assert residuals == sorted(residuals)
    assert list(read["descents"]) == list(read["candidates"])[:3]
    assert [figures["residual"] for figures in read["descents"].values()] == found.residuals
    chosen = read["descents"][read["chosen"]]
    assert chosen["residual"] == found.residual
    assert chosen["iterations"] == found.iterations
    assert chosen["negative_mass"] == found.negative_mass
    assert read["discarded"] == {}
    assert (read["sum_penalty"], read["negative_penalty"], read["ridge"]) == (0.25, 0.3, 0.0)
    assert read["directions"] == [4, 4, 4]
    np.testing.assert_allclose(read["subspace_defects"], 0.0, atol=0.05)


def test_exterior_point__a_descent_that_is_cut_short_has_not_converged():
    _, table = sample(11)
    found = estimate(table, most_iterations=2)
    assert found.iterations == 2
    assert not found.diagnostics["converged"]


def test_exterior_point__more_descents_never_raise_the_residual():
    for seed in range(5):
        _, table = sample(seed, rows=300)
        one, six = estimate(table, starts=1), estimate(table, starts=6)
        assert len(six.residuals) == 6
        assert six.residual <= one.residual * (1 + 1e-4)


@pytest.mark.parametrize("k", [5, 6])
def test_exterior_point__more_components_than_symbols_are_refused(k):
    _, table = sample(0, 3, (4, 6, 5))
    with pytest.raises(IdentifiabilityError, match=f"at most 4 components, but {k} were asked"):
        estimate(table, k)


def test_exterior_point__more_components_than_the_rank_are_refused():
    table = table_of(separated_mixture(2, (4, 5, 6), np.random.default_rng(0)))
    with pytest.raises(IdentifiabilityError, match="rank 2"):
        estimate(table, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"starts": 0}, "starts must be at least 1, got 0"),
        ({"most_iterations": 0}, "most_iterations must .*, got 0"),
        ({"ridge": -1.0}, r"ridge .*, got 0\.25 and -1\.0"),
        ({"ridge": np.nan}, "and nan"),
    ],
)
def test_exterior_point__numbers_out_of_range_are_refused(options, message):
    _, table = sample(0)
    with pytest.raises(ParameterError, match=message):
        estimate(table, **options)
