import numpy as np
import pytest
import scipy.linalg

from bigtensor.decomposition.whitening import square_roots, whiten
from bigtensor.errors import IdentifiabilityError, ParameterError


def symmetric(eigenvalues, seed=0):
    size = len(eigenvalues)
    vectors = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    return vectors @ np.diag(eigenvalues) @ vectors.T


def test_whiten__makes_the_pair_moment_the_identity():
    pair = symmetric([3.0, 1.0, 0.5, 0.0, 0.0])
    found = whiten(pair, 3)
    np.testing.assert_allclose(found.matrix.T @ pair @ found.matrix, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found.unwhitening, np.linalg.pinv(found.matrix).T, atol=1e-12)
    np.testing.assert_allclose(found.eigenvalues, [3.0, 1.0, 0.5])
    assert found.n_floored == 0


def test_whiten__keeps_no_large_negative_eigenvalue():
    found = whiten(symmetric([2.0, 1.0, -5.0]), 2)
    np.testing.assert_allclose(found.eigenvalues, [2.0, 1.0])


def test_whiten__floors_small_and_negative_eigenvalues():
    pair = symmetric([2.0, 1e-5, -0.5])
    found = whiten(pair, 3)
    assert found.n_floored == 2
    lengths = np.linalg.norm(found.matrix, axis=0)
    np.testing.assert_allclose(lengths, [2.0**-0.5, 0.002**-0.5, 0.002**-0.5])
    np.testing.assert_allclose(found.unwhitening.T @ found.matrix, np.eye(3), atol=1e-12)


def test_whiten__without_a_positive_eigenvalue_is_refused():
    with pytest.raises(IdentifiabilityError, match=r"no positive eigenvalue \(largest -1\)"):
        whiten(symmetric([-1.0, -2.0]), 1)


@pytest.mark.parametrize("n_components", [0, 3])
def test_whiten__impossible_number_of_components_is_refused(n_components):
    with pytest.raises(ParameterError, match=f"2 features, got {n_components}"):
        whiten(np.eye(2), n_components)


def test_square_roots__agree_with_scipy():
    second = symmetric([4.0, 2.0, 0.1, 1e-4])
    found = square_roots(second)
    np.testing.assert_allclose(found.root, scipy.linalg.sqrtm(second), atol=1e-10)
    np.testing.assert_allclose(found.inverse @ found.root, np.eye(4), atol=1e-10)
    assert found.condition == pytest.approx(4e4, rel=1e-8)


@pytest.mark.parametrize("least", [0.0, 1e-8, -1e-8])
def test_square_roots__leave_directions_of_rounding_out(least):
    second = symmetric([2.0, 1.0, least])
    found = square_roots(second)
    assert found.condition == pytest.approx(2.0)
    assert np.linalg.norm(found.inverse, 2) == pytest.approx(1.0)
    np.testing.assert_allclose(found.inverse, np.linalg.pinv(found.root), atol=1e-9)
    np.testing.assert_allclose(found.root @ found.root, second, atol=2e-8)


def test_square_roots__zero_moment_is_refused():
    with pytest.raises(IdentifiabilityError, match="features of the view are all zero"):
        square_roots(np.zeros((2, 2)))
