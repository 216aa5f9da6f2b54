import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.decomposition.joint_diagonalisation import joint_diagonalisation
from bigtensor.decomposition.multiview.symmetrisation import symmetrise
from bigtensor.decomposition.tensor_power import tensor_power
from bigtensor.errors import ParameterError
from tests.reference.exact_kernel_mixture import one_by_one_jacobi


def orthogonal_tensor(size, seed):
    random = np.random.default_rng(seed)
    vectors = np.linalg.qr(random.standard_normal((size, size)))[0]
    values = np.sort(random.uniform(1.0, 5.0, size))[::-1]
    return np.einsum("h,ih,jh,kh->ijk", values, vectors, vectors, vectors), values, vectors


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_joint_diagonalisation__recovers_orthogonal_components(size, seed):
    tensor, values, _ = orthogonal_tensor(size, seed)
    found = joint_diagonalisation(tensor)
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-10)
    rebuilt = np.einsum("h,ih,jh,kh->ijk", found.eigenvalues, *[found.vectors] * 3)
    np.testing.assert_allclose(rebuilt, tensor, atol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(size), atol=1e-12)
    assert found.diagnostics["converged"]


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_joint_diagonalisation__agrees_with_the_power_method(size, seed):
    tensor, _, _ = orthogonal_tensor(size, seed)
    jacobi, power = joint_diagonalisation(tensor), tensor_power(tensor, random_state=seed % 100)
    np.testing.assert_allclose(jacobi.eigenvalues, power.eigenvalues, atol=1e-10)
    # Eigenvalues that nearly tie may swap: compare the components, not their order.
    agreement = np.abs(jacobi.vectors.T @ power.vectors).max(axis=0)
    np.testing.assert_allclose(agreement, 1.0, atol=1e-10)
    matched = np.abs(jacobi.vectors.T @ power.vectors).argmax(axis=0)
    np.testing.assert_allclose(jacobi.vectors[:, matched], power.vectors, atol=1e-10)


@settings(deadline=None)
@given(st.permutations(range(5)), st.lists(st.sampled_from([-1.0, 1.0]), min_size=5, max_size=5))
def test_joint_diagonalisation__follows_permuted_and_flipped_axes(order, signs):
    tensor, values, vectors = orthogonal_tensor(5, 17)
    turn = np.eye(5)[order] * signs
    found = joint_diagonalisation(np.einsum("abc,ia,jb,kc->ijk", tensor, turn, turn, turn))
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-10)
    np.testing.assert_allclose(found.vectors, turn @ vectors, atol=1e-10)


def test_joint_diagonalisation__negated_tensor_negates_the_vectors():
    tensor, values, vectors = orthogonal_tensor(4, 3)
    found = joint_diagonalisation(-tensor)
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-12)
    np.testing.assert_allclose(found.vectors, -vectors, atol=1e-12)


def test_joint_diagonalisation__noisy_optimum_is_that_of_one_rotation_at_a_time():
    tensor, _, _ = orthogonal_tensor(5, 4)
    noise = 0.05 * symmetrise(np.random.default_rng(1).standard_normal((5, 5, 5)))
    found = joint_diagonalisation(tensor + noise, tolerance=1e-12)
    values, _ = one_by_one_jacobi(tensor + noise)
    np.testing.assert_allclose(found.eigenvalues, np.sort(values)[::-1], atol=1e-10)


def test_joint_diagonalisation__from_vectors_nearby_is_the_same_in_fewer_sweeps():
    tensor = orthogonal_tensor(12, 5)[0]
    noisy = tensor + 0.02 * symmetrise(np.random.default_rng(6).standard_normal(tensor.shape))
    cold = joint_diagonalisation(noisy)
    warm = joint_diagonalisation(noisy, start=joint_diagonalisation(tensor).vectors)
    np.testing.assert_allclose(warm.eigenvalues, cold.eigenvalues, atol=1e-8)
    np.testing.assert_allclose(warm.vectors, cold.vectors, atol=1e-8)
    assert warm.diagnostics["iterations"] < cold.diagnostics["iterations"]


def test_joint_diagonalisation__leaves_the_saddle_at_45_degrees():
    # Equal diagonals and a nonzero off-diagonal in every slice: (e1 + e2)^3 - (e1 - e2)^3, up to
    # scale, where the half-angle form of the rotation stands still.
    plus, minus = np.array([1.0, 1.0]) / np.sqrt(2), np.array([1.0, -1.0]) / np.sqrt(2)
    tensor = sum(np.einsum("i,j,k->ijk", v, v, v) for v in (plus, minus))
    found = joint_diagonalisation(tensor)
    np.testing.assert_allclose(found.eigenvalues, [1.0, 1.0], atol=1e-12)


def test_joint_diagonalisation__zero_tensor_settles_at_once():
    found = joint_diagonalisation(np.zeros((3, 3, 3)))
    np.testing.assert_array_equal(found.eigenvalues, np.zeros(3))
    assert found.diagnostics["iterations"] == 1


def test_joint_diagonalisation__reports_that_it_did_not_settle():
    tensor = symmetrise(np.random.default_rng(2).standard_normal((6, 6, 6)))
    found = joint_diagonalisation(tensor, max_sweeps=1)
    assert not found.diagnostics["converged"]
    assert found.diagnostics["residual"] > 0.1


def test_joint_diagonalisation__other_shapes_are_refused():
    with pytest.raises(ParameterError, match=r"\(k, k, k\) is needed, got \(2, 2, 3\)"):
        joint_diagonalisation(np.zeros((2, 2, 3)))
