import numpy as np
import pytest

from bigtensor.decomposition.discrete.simplex import nearest_distributions, simplex_least_squares
from bigtensor.errors import ParameterError


def assert_stationary(solution, gradient, tolerance):
    """The gradient is least where the solution is positive: the optimum of a convex problem."""
    assert solution.min() >= 0
    assert solution.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(gradient[solution > 0] <= gradient.min() + tolerance)


def test_nearest_distributions__is_known_by_hand():
    found = nearest_distributions(np.array([[0.8], [0.7], [-3.0]]))
    np.testing.assert_allclose(found, [[0.55], [0.45], [0.0]], atol=1e-15)


def test_nearest_distributions__is_optimal_for_every_column():
    columns = np.random.default_rng(0).normal(size=(7, 200))
    found = nearest_distributions(columns)
    for solution, gradient in zip(found.T, (found - columns).T, strict=True):
        assert_stationary(solution, gradient, 1e-12)
    np.testing.assert_allclose(nearest_distributions(found), found, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("rows", "size"), [(12, 5), (3, 5), (40, 1)])
def test_simplex_least_squares__is_optimal_for_every_target(rows, size, scale):
    random = np.random.default_rng(size)
    matrix, targets = scale * random.random((rows, size)), scale * random.normal(size=(rows, 30))
    found = simplex_least_squares(matrix, targets)
    assert found.shape == (size, 30)
    gradients = matrix.T @ (matrix @ found - targets)
    for solution, gradient in zip(found.T, gradients.T, strict=True):
        assert_stationary(solution, gradient, 1e-11 * scale**2)


def test_simplex_least_squares__finds_distributions_of_nearly_collinear_columns():
    random = np.random.default_rng(1)
    matrix = random.dirichlet(np.ones(8), 4).T
    matrix[:, 3] = matrix[:, 2] + 1e-4 * (matrix[:, 3] - matrix[:, 2])
    truth = random.dirichlet(np.ones(4), 20).T
    np.testing.assert_allclose(simplex_least_squares(matrix, matrix @ truth), truth, atol=1e-10)


def test_simplex_least_squares__equal_columns_share():
    matrix = np.ones((4, 3)) / 4
    found = simplex_least_squares(matrix, matrix[:, :1])
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0


def test_simplex_least_squares__shapes_belong_together():
    with pytest.raises(ParameterError, match=r"rows .*, got .*\(3, 2\) and \(4, 1"):
        simplex_least_squares(np.ones((3, 2)), np.ones((4, 1)))
