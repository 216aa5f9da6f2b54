import numpy as np
import pytest

from bigtensor.decomposition.multiview.subspaces import (
    cross_covariance_subspaces,
    symmetric_subspace,
)
from bigtensor.errors import ParameterError


def pairs_of(means, weights):
    return {
        (a, b): np.einsum("h,ih,jh->ij", weights, means[a], means[b])
        for a in range(3)
        for b in range(3)
        if a != b
    }


@pytest.fixture
def means():
    random = np.random.default_rng(3)
    return [random.standard_normal((size, 2)) for size in (4, 6, 5)]


def test_cross_covariance_subspaces__span_the_component_means(means):
    found = cross_covariance_subspaces(pairs_of(means, [0.3, 0.7]), 2)
    for basis, values, mean in zip(found.bases, found.singular_values, means, strict=True):
        np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
        np.testing.assert_allclose(basis @ basis.T @ mean, mean, atol=1e-12)
        assert values[1] > 0.01
        assert values[2] < 1e-12


def test_cross_covariance_subspaces__singular_values_are_those_of_the_stacked_pairs(means):
    pairs = pairs_of(means, [0.3, 0.7])
    found = cross_covariance_subspaces(pairs, 1)
    # Through the eigenvalues of C C', independently of any singular value decomposition.
    gram = pairs[1, 0] @ pairs[1, 0].T + pairs[1, 2] @ pairs[1, 2].T
    np.testing.assert_allclose(
        found.singular_values[1][:2] ** 2, np.linalg.eigvalsh(gram)[::-1][:2], rtol=1e-10
    )


def test_cross_covariance_subspaces__one_order_of_each_pair_is_enough(means):
    pairs = pairs_of(means, [0.3, 0.7])
    half = {key: pair for key, pair in pairs.items() if key in [(1, 0), (0, 2), (2, 1)]}
    whole, found = cross_covariance_subspaces(pairs, 2), cross_covariance_subspaces(half, 2)
    for basis, expected in zip(found.bases, whole.bases, strict=True):
        np.testing.assert_allclose(basis @ basis.T, expected @ expected.T, atol=1e-12)


def test_cross_covariance_subspaces__small_group_gives_all_of_its_space(means):
    found = cross_covariance_subspaces(pairs_of(means, [0.3, 0.7]), 5)
    assert [basis.shape for basis in found.bases] == [(4, 4), (6, 5), (5, 5)]


def test_cross_covariance_subspaces__missing_pair_is_named(means):
    pairs = pairs_of(means, [0.3, 0.7])
    del pairs[1, 2], pairs[2, 1]
    with pytest.raises(ParameterError, match=r"groups 1 and 2 is missing.*\(0, 1\)"):
        cross_covariance_subspaces(pairs, 2)


def test_cross_covariance_subspaces__contradicting_shapes_are_refused(means):
    pairs = pairs_of(means, [0.3, 0.7])
    pairs[0, 2] = pairs[0, 2][:3]
    with pytest.raises(ParameterError, match=r"group 0 disagree on .*features: 4 and 3"):
        cross_covariance_subspaces(pairs, 2)


def test_cross_covariance_subspaces__no_direction_is_refused(means):
    with pytest.raises(ParameterError, match="n_directions must be at least 1, got 0"):
        cross_covariance_subspaces(pairs_of(means, [0.3, 0.7]), 0)


def test_symmetric_subspace__spans_the_shared_component_means(means):
    shared = [means[1]] * 3
    found = symmetric_subspace(pairs_of(shared, [0.3, 0.7]), 2)
    basis = found.bases[0]
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(basis @ basis.T @ means[1], means[1], atol=1e-12)
    for other in found.bases:
        np.testing.assert_array_equal(other, basis)


def test_symmetric_subspace__averages_the_six_ordered_pairs():
    random = np.random.default_rng(0)
    half = {pair: random.standard_normal((5, 5)) for pair in [(0, 1), (2, 0), (1, 2)]}
    mean = sum(block + block.T for block in half.values()) / 6
    found = symmetric_subspace(half, 3)
    expected = np.linalg.eigvalsh(mean)[::-1]
    np.testing.assert_allclose(
        np.diag(found.bases[0].T @ mean @ found.bases[0]), expected[:3], atol=1e-12
    )
    kept, left = np.maximum(expected[:3], 0), np.sort(np.abs(expected[3:]))[::-1]
    np.testing.assert_allclose(found.singular_values[0], [*kept, *left], atol=1e-12)


def test_symmetric_subspace__a_large_negative_eigenvalue_is_noise():
    mean = np.diag([1.0, -5.0, 0.5])
    found = symmetric_subspace({(0, 1): mean, (0, 2): mean, (1, 2): mean}, 2)
    np.testing.assert_allclose(np.abs(found.bases[0]), [[1, 0], [0, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(found.singular_values[0], [1, 0.5, 5], atol=1e-12)


def test_symmetric_subspace__bad_arguments_are_refused(means):
    with pytest.raises(ParameterError, match="n_directions must be at least 1, got 0"):
        symmetric_subspace(pairs_of([means[0]] * 3, [0.3, 0.7]), 0)
    with pytest.raises(ParameterError, match=r"one map to features for all.*\(4, 6\)"):
        symmetric_subspace(pairs_of(means, [0.3, 0.7]), 2)
