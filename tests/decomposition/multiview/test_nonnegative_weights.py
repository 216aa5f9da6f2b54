import numpy as np
import pytest
from scipy.optimize import lsq_linear

from bigtensor.decomposition.multiview.nonnegative_weights import nonnegative_weights
from bigtensor.errors import IdentifiabilityError, ParameterError


def test_nonnegative_weights__recovers_exact_weights():
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(4))
    means = [random.standard_normal((size, 4)) for size in (5, 4, 7)]
    found = nonnegative_weights([mean @ weights for mean in means], means)
    np.testing.assert_allclose(found, weights, atol=1e-12)


def test_nonnegative_weights__agrees_with_bounded_least_squares():
    random = np.random.default_rng(1)
    means = [random.standard_normal((6, 3)) for _ in range(3)]
    moments = [mean @ [0.2, 0.3, 0.5] + 0.3 * random.standard_normal(6) for mean in means]
    norms = [np.linalg.norm(moment) for moment in moments]
    matrix = np.vstack([m / s for m, s in zip(means, norms, strict=True)] + [np.full((1, 3), 10.0)])
    right = np.concatenate([m / s for m, s in zip(moments, norms, strict=True)] + [[10.0]])
    expected = lsq_linear(matrix, right, bounds=(0, np.inf), tol=1e-14).x
    found = nonnegative_weights(moments, means)
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-8)


def test_nonnegative_weights__an_absent_component_keeps_the_floor():
    means = [np.eye(4), np.eye(4)]
    moment = np.array([0.5, 0.3, 0.2, -0.4])
    found = nonnegative_weights([moment, moment], means)
    assert found[3] == pytest.approx(1e-3 / 4, rel=1e-3)
    assert found.sum() == pytest.approx(1.0, abs=1e-15)


def test_nonnegative_weights__view_of_mean_zero_is_allowed():
    means = [np.eye(2), np.array([[1.0, -1.0]])]
    found = nonnegative_weights([np.array([0.5, 0.5]), np.array([0.0])], means)
    np.testing.assert_allclose(found, [0.5, 0.5])


def test_nonnegative_weights__impossible_means_are_refused():
    with pytest.raises(IdentifiabilityError, match="no positive combination"):
        nonnegative_weights([np.array([1.0])], [np.array([[-1000.0, -2000.0]])])


def test_nonnegative_weights__shapes_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match=r"shape \(3, 2\) are needed, got \(2, 2\)"):
        nonnegative_weights([np.ones(3)], [np.eye(2)])
    with pytest.raises(ParameterError, match="got 1 and 0"):
        nonnegative_weights([np.ones(3)], [])
