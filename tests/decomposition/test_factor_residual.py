import numpy as np
import pytest

from bigtensor.decomposition.exterior_point.factor_residual import FactorResidual
from bigtensor.decomposition.exterior_point.proximal_descent import (
    DescentRule,
    Expansion,
    proximal_descent,
)


def numerical_gradient(function, point, step=1e-5):
    gradient = np.empty_like(point)
    for index in np.ndindex(point.shape):
        moved = point.copy()
        moved[index] += step
        above = function(moved)
        moved[index] -= 2 * step
        gradient[index] = (above - function(moved)) / (2 * step)
    return gradient


def problem(seed, symbols=(5, 4, 6), directions=(3, 4, 2), k=3):
    random = np.random.default_rng(seed)
    bases = tuple(
        np.linalg.qr(random.standard_normal((n, r)))[0]
        for n, r in zip(symbols, directions, strict=True)
    )
    factors = tuple(random.standard_normal((n, k)) for n in symbols)
    return FactorResidual(random.standard_normal(directions), bases), factors


def test_value__is_half_the_squared_distance_of_the_whole_tensors():
    random = np.random.default_rng(0)
    residual, factors = problem(0)
    core = random.standard_normal((3, 4, 2))
    residual = FactorResidual(core, residual.bases)
    difference = np.einsum("abc,ia,jb,lc->ijl", core, *residual.bases)
    difference -= np.einsum("ir,jr,lr->ijl", *factors)
    expected = np.sum(difference**2) / 2
    assert residual.value(factors) == pytest.approx(expected, rel=1e-12)
    assert residual.gradients(factors).value == pytest.approx(expected, rel=1e-12)
    relative = np.sqrt(2 * expected) / np.linalg.norm(core)
    assert residual.relative(factors) == pytest.approx(relative, rel=1e-12)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_gradients__agree_with_finite_differences(mode):
    residual, factors = problem(1)

    def value(factor):
        return residual.value((*factors[:mode], factor, *factors[mode + 1 :]))

    expected = numerical_gradient(value, factors[mode])
    found = residual.gradients(factors)
    np.testing.assert_allclose(
        found.gradients[mode], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max()
    )
    np.testing.assert_allclose(found.grams[mode], factors[mode].T @ factors[mode])


class MarkovTriples:
    """Hidden Markov model of triples, with emissions, transitions and start as one matrix."""

    rounding = 1e-15

    def __init__(self, table, k):
        self.n, self.k = len(table), k
        self.residual = FactorResidual(table, (np.eye(self.n),) * 3)

    def split(self, point):
        return point[: self.n], point[self.n : -1], point[-1]

    def factors(self, point):
        emissions, transitions, start = self.split(point)
        return (emissions * start) @ transitions.T, emissions, emissions @ transitions

    def value(self, point):
        return self.residual.value(self.factors(point))

    def expansion(self, point):
        emissions, transitions, start = self.split(point)
        found = self.residual.gradients(self.factors(point))
        first, second, third = found.gradients
        gradient = np.vstack(
            [
                (first @ transitions) * start + second + third @ transitions.T,
                first.T @ emissions * start + emissions.T @ third,
                np.sum(emissions * (first @ transitions), axis=0),
            ]
        )
        return Expansion(found.value, gradient, np.full((1, 1), 0.5))


def markov_problem(seed, n=5, k=2):
    random = np.random.default_rng(seed)
    columns = [random.dirichlet(np.ones(size), k).T for size in (n, k)]
    truth = np.vstack([*columns, random.dirichlet(np.ones(k))])
    empty = MarkovTriples(np.zeros((n, n, n)), k)
    table = np.einsum("ir,jr,lr->ijl", *empty.factors(truth))
    return MarkovTriples(table, k), truth, random


def test_gradients__other_parameters_follow_by_the_chain_rule():
    markov, truth, random = markov_problem(0)
    point = truth + 0.2 * random.standard_normal(truth.shape)
    expected = numerical_gradient(markov.value, point)
    found = markov.expansion(point).gradient
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_descent__serves_a_model_with_other_parameters():
    markov, truth, random = markov_problem(1)
    start = truth + 0.05 * random.standard_normal(truth.shape)
    rule = DescentRule(0.3, tolerance=1e-9, most_iterations=1000)
    end = proximal_descent(markov, start, rule)
    assert end.value < 1e-6 * markov.value(start)
    assert end.negative_mass == 0
