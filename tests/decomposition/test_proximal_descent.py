import numpy as np
import pytest

from bigtensor.decomposition.exterior_point.proximal_descent import (
    DescentRule,
    Expansion,
    negative_mass,
    proximal_descent,
)


class Quadratic:
    """``x'Hx / 2 - b'x + 50``, with curvature bounds of any quality."""

    def __init__(self, seed=0, size=12, quality=1.0, rounding=1e-15):
        self.rounding = rounding
        random = np.random.default_rng(seed)
        root = random.standard_normal((size, size))
        self.hessian = root @ root.T + 0.1 * np.eye(size)
        self.linear = random.standard_normal(size) * 3
        self.curvature = quality * np.abs(self.hessian).sum(axis=1)
        self.evaluations = 0

    def value(self, point):
        self.evaluations += 1
        return float(point @ self.hessian @ point / 2 - self.linear @ point + 50.0)

    def expansion(self, point):
        gradient = self.hessian @ point - self.linear
        return Expansion(self.value(point), gradient, self.curvature)


LONG = DescentRule(0.0, tolerance=1e-13, until_feasible=False, most_iterations=20_000)


@pytest.mark.parametrize("quality", [1e-4, 1.0, 5.0])
@pytest.mark.parametrize("momentum", [True, False])
def test_descent__finds_the_minimum_for_bounds_of_any_quality(momentum, quality):
    """Bounds that are too small are doubled, and too large ones cost steps alone."""
    quadratic = Quadratic(quality=quality)
    rule = DescentRule(
        0.0, tolerance=1e-13, until_feasible=False, momentum=momentum, most_iterations=200_000
    )
    end = proximal_descent(quadratic, np.zeros(12), rule)
    minimum = np.linalg.solve(quadratic.hessian, quadratic.linear)
    assert end.value == pytest.approx(quadratic.value(minimum), abs=1e-5)
    assert end.converged


def test_descent__momentum_needs_fewer_steps():
    steps = {}
    for momentum in (True, False):
        rule = DescentRule(
            0.0, tolerance=1e-10, until_feasible=False, momentum=momentum, most_iterations=200_000
        )
        steps[momentum] = proximal_descent(Quadratic(), np.zeros(12), rule).iterations
    assert steps[True] < 0.3 * steps[False], steps


def test_descent__large_penalty_is_exact():
    """The end satisfies the conditions of the problem with nonnegative parameters."""
    quadratic = Quadratic(seed=1)
    rule = DescentRule(100.0, tolerance=1e-14, most_iterations=20_000)
    end = proximal_descent(quadratic, np.full(12, -1.0), rule)
    gradient = quadratic.hessian @ end.point - quadratic.linear
    assert end.negative_mass == 0
    assert 0 < np.count_nonzero(end.point) < 12
    np.testing.assert_allclose(gradient[end.point > 0], 0.0, atol=1e-4)
    assert gradient[end.point == 0].min() > 0


def test_descent__small_penalty_leaves_negative_entries_and_does_not_end():
    quadratic = Quadratic(seed=1)
    minimum = np.linalg.solve(quadratic.hessian, quadratic.linear)
    assert minimum.min() < 0
    unpriced = DescentRule(0.0, most_iterations=500)
    end = proximal_descent(quadratic, np.zeros(12), unpriced)
    assert end.negative_mass == pytest.approx(negative_mass(end.point))
    assert end.negative_mass > 0
    assert not end.converged
    assert end.iterations == 500
    assert proximal_descent(quadratic, np.zeros(12), LONG).converged


def test_descent__never_rises_and_leaves_the_start_alone():
    start = np.random.default_rng(3).standard_normal(12)
    kept = start.copy()
    values = [
        proximal_descent(Quadratic(), start, DescentRule(0.3, most_iterations=steps)).value
        for steps in range(1, 40)
    ]
    assert np.all(np.diff(values) <= 0)
    np.testing.assert_array_equal(start, kept)


def test_descent__ends_after_several_small_steps_in_a_row():
    ends = [
        proximal_descent(
            Quadratic(), np.zeros(12), DescentRule(0.0, until_feasible=False, small_steps=number)
        )
        for number in (1, 3)
    ]
    assert ends[1].iterations >= ends[0].iterations + 2
    assert ends[1].value <= ends[0].value


def test_descent__that_begins_at_the_minimum_stays():
    quadratic = Quadratic()
    minimum = np.linalg.solve(quadratic.hessian, quadratic.linear)
    end = proximal_descent(quadratic, minimum, LONG)
    np.testing.assert_allclose(end.point, minimum, atol=1e-8)
    assert end.iterations == 3


def test_descent__a_rise_after_momentum_is_no_small_step():
    quadratic = Quadratic()
    rule = DescentRule(
        0.0, tolerance=1e-13, small_steps=1, until_feasible=False, most_iterations=20_000
    )
    end = proximal_descent(quadratic, np.zeros(12), rule)
    minimum = np.linalg.solve(quadratic.hessian, quadratic.linear)
    assert end.value == pytest.approx(quadratic.value(minimum), abs=1e-5)


def test_descent__value_and_expansion_may_differ_by_rounding_errors():
    """They need not sum in one order. No step would be short enough for an exact comparison."""
    quadratic = Quadratic(rounding=1e-10)
    exact = quadratic.expansion

    def lower(point):
        assert quadratic.evaluations < 10_000
        expansion = exact(point)
        return Expansion(expansion.value - 1e-10, expansion.gradient, expansion.curvature)

    quadratic.expansion = lower
    minimum = np.linalg.solve(quadratic.hessian, quadratic.linear)
    end = proximal_descent(quadratic, minimum, LONG)
    assert end.iterations == 3
    assert quadratic.evaluations < 20


def test_descent__bounds_that_are_too_large_come_down():
    """With exact bounds of a diagonal function one step would do."""
    quadratic = Quadratic(quality=4.0)
    quadratic.hessian = np.diag(np.linspace(1.0, 5.0, 12))
    quadratic.curvature = 4.0 * np.diag(quadratic.hessian)
    rule = DescentRule(0.0, tolerance=1e-12, until_feasible=False, momentum=False)
    end = proximal_descent(quadratic, np.zeros(12), rule)
    assert end.converged
    assert end.iterations < 20
