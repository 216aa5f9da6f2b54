import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtensor.decomposition.multiview.symmetrisation import symmetrise
from bigtensor.decomposition.tensor_power import tensor_power
from bigtensor.errors import ParameterError
from tests.decomposition.test_joint_diagonalisation import orthogonal_tensor


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_tensor_power__recovers_orthogonal_components(size, seed):
    tensor, values, _ = orthogonal_tensor(size, seed)
    found = tensor_power(tensor)
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-10)
    rebuilt = np.einsum("h,ih,jh,kh->ijk", found.eigenvalues, *[found.vectors] * 3)
    np.testing.assert_allclose(rebuilt, tensor, atol=1e-10)
    assert found.diagnostics["converged"]


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(4)), st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4))
def test_tensor_power__follows_permuted_and_flipped_axes(order, signs):
    tensor, values, vectors = orthogonal_tensor(4, 23)
    turn = np.eye(4)[order] * signs
    found = tensor_power(np.einsum("abc,ia,jb,kc->ijk", tensor, turn, turn, turn))
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-10)
    np.testing.assert_allclose(found.vectors, turn @ vectors, atol=1e-10)


def test_tensor_power__same_seed_gives_the_same_bits():
    tensor = orthogonal_tensor(5, 1)[0] + 0.1
    first, second = (tensor_power(tensor, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.eigenvalues, second.eigenvalues)


def test_tensor_power__first_component_has_the_largest_value_of_a_noisy_tensor():
    random = np.random.default_rng(4)
    tensor = orthogonal_tensor(4, 2)[0] + 0.1 * symmetrise(random.standard_normal((4, 4, 4)))
    found = tensor_power(tensor)
    directions = random.standard_normal((4, 20000))
    directions /= np.linalg.norm(directions, axis=0)
    values = np.einsum("ijk,in,jn,kn->n", tensor, directions, directions, directions, optimize=True)
    assert found.eigenvalues[0] >= values.max()


def test_tensor_power__zero_tensor_gives_zero_eigenvalues():
    found = tensor_power(np.zeros((3, 3, 3)))
    np.testing.assert_array_equal(found.eigenvalues, np.zeros(3))
    assert np.isfinite(found.vectors).all()


def test_tensor_power__reports_that_it_did_not_settle():
    tensor = orthogonal_tensor(6, 5)[0]
    assert not tensor_power(tensor, n_starts=1, n_steps=1).diagnostics["converged"]


@pytest.mark.parametrize(("starts", "steps"), [(0, 10), (10, 0)])
def test_tensor_power__no_start_or_no_step_is_refused(starts, steps):
    with pytest.raises(ParameterError, match=f"positive, got {starts} and {steps}"):
        tensor_power(np.zeros((2, 2, 2)), n_starts=starts, n_steps=steps)


def test_tensor_power__other_shapes_are_refused():
    with pytest.raises(ParameterError, match=r"\(k, k, k\) is needed, got \(4, 4\)"):
        tensor_power(np.zeros((4, 4)))
