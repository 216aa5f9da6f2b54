import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigtensor.decomposition.multiview.symmetrisation import (
    multiply_modes,
    symmetrise,
    symmetrise_on_target,
)


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_symmetrise__is_the_mean_over_all_permutations(size, seed):
    tensor = np.random.default_rng(seed).standard_normal((size, size, size))
    orders = ["ijk", "ikj", "jik", "jki", "kij", "kji"]
    expected = sum(np.einsum(f"ijk->{order}", tensor) for order in orders) / 6
    np.testing.assert_allclose(symmetrise(tensor), expected, atol=1e-14)


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_symmetrise__is_a_projection_onto_symmetric_tensors(size, seed):
    once = symmetrise(np.random.default_rng(seed).standard_normal((size, size, size)))
    np.testing.assert_allclose(once, once.transpose(1, 0, 2), atol=1e-14)
    np.testing.assert_allclose(once, once.transpose(2, 1, 0), atol=1e-14)
    np.testing.assert_allclose(symmetrise(once), once, atol=1e-14)


def test_symmetrise__matrix_is_averaged_with_its_transpose():
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(symmetrise(matrix), (matrix + matrix.T) / 2)


def test_multiply_modes__agrees_with_einsum():
    random = np.random.default_rng(0)
    tensor = random.standard_normal((2, 3, 4))
    maps = [random.standard_normal(shape) for shape in [(2, 5), (3, 1), (4, 6)]]
    expected = np.einsum("abc,ai,bj,cl->ijl", tensor, *maps)
    np.testing.assert_allclose(multiply_modes(tensor, *maps), expected, atol=1e-13)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_symmetrise_on_target__gives_the_moments_of_one_view(target):
    random = np.random.default_rng(8)
    means = [random.standard_normal((3, 3)) for _ in range(3)]
    weights = np.array([0.5, 0.3, 0.2])
    pairs = {
        (a, b): means[a] @ np.diag(weights) @ means[b].T
        for a in range(3)
        for b in range(3)
        if a != b
    }
    triple = np.einsum("h,ih,jh,kh->ijk", weights, *means)
    pair, third = symmetrise_on_target(pairs, triple, target)
    mean = means[target]
    np.testing.assert_allclose(pair, mean @ np.diag(weights) @ mean.T, atol=1e-11)
    expected = np.einsum("h,ih,jh,kh->ijk", weights, mean, mean, mean)
    np.testing.assert_allclose(third, expected, atol=1e-11)


def test_symmetrise_on_target__noisy_moments_come_out_symmetric():
    random = np.random.default_rng(9)
    pairs = {(a, b): random.standard_normal((3, 3)) for a, b in [(0, 1), (0, 2), (1, 2)]}
    pairs |= {(b, a): pair.T for (a, b), pair in pairs.items()}
    pair, third = symmetrise_on_target(pairs, random.standard_normal((3, 3, 3)), 1)
    np.testing.assert_array_equal(pair, pair.T)
    np.testing.assert_allclose(third, third.transpose(2, 0, 1), atol=1e-13)
    np.testing.assert_allclose(third, third.transpose(1, 0, 2), atol=1e-13)
