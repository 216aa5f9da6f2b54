from itertools import permutations

import numpy as np
import pytest

from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.errors import DataError, ParameterError


def sample_moments(features):
    """Moments by their definition, one row after the other."""
    lifted = [np.hstack([np.ones((len(y), 1)), y]) for y in features]
    count = len(lifted[0])
    triple = sum(np.einsum("a,b,c->abc", *[y[i] for y in lifted]) for i in range(count)) / count
    return AugmentedMoments(triple, tuple(y.T @ y / count for y in lifted), count)


@pytest.fixture
def features():
    random = np.random.default_rng(0)
    return [random.standard_normal((20, size)) for size in (2, 3, 4)]


def test_augmented_moments__holds_first_and_pair_moments(features):
    moments = sample_moments(features)
    for group in range(3):
        np.testing.assert_allclose(moments.first(group), features[group].mean(axis=0), atol=1e-14)
    for (a, b), pair in moments.pairs().items():
        np.testing.assert_allclose(pair, features[a].T @ features[b] / 20, atol=1e-14)
    assert len(moments.pairs()) == 6


def test_augmented_moments__projection_is_that_of_the_features(features):
    random = np.random.default_rng(1)
    bases = [random.standard_normal((size, 2)) for size in (2, 3, 4)]
    projected = sample_moments(features).project(bases)
    direct = sample_moments([y @ basis for y, basis in zip(features, bases, strict=True)])
    np.testing.assert_allclose(projected.triple, direct.triple, atol=1e-13)
    for found, expected in zip(projected.seconds, direct.seconds, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)
    assert projected.count == 20


def test_augmented_moments__wrong_shapes_are_refused(features):
    moments = sample_moments(features)
    with pytest.raises(ParameterError, match=r"shapes \[\(3, 3\), \(4, 4\), \(5, 5\)\] are needed"):
        AugmentedMoments(moments.triple, moments.seconds[::-1], 20)


def test_augmented_moments__values_that_are_not_finite_are_refused(features):
    features[1][3, 0] = np.inf
    with np.errstate(invalid="ignore"), pytest.raises(DataError, match="not finite: look for"):
        sample_moments(features)


def test_augmented_moments__no_rows_are_refused(features):
    moments = sample_moments(features)
    with pytest.raises(DataError, match="got 0 rows"):
        AugmentedMoments(moments.triple, moments.seconds, 0)


def test_augmented_moments__symmetrised_are_those_of_all_orders_of_the_groups():
    random = np.random.default_rng(2)
    features = [random.standard_normal((15, 3)) for _ in range(3)]
    found = sample_moments(features).symmetrised()
    orders = [sample_moments([features[g] for g in order]) for order in permutations(range(3))]
    np.testing.assert_allclose(found.triple, sum(m.triple for m in orders) / 6, atol=1e-14)
    for group, second in enumerate(found.seconds):
        expected = sum(m.seconds[group] for m in orders) / 6
        np.testing.assert_allclose(second, expected, atol=1e-14)
    assert found.count == 15


def test_augmented_moments__groups_of_different_sizes_have_no_symmetric_moments(features):
    with pytest.raises(ParameterError, match="groups of 2, 3, 4 features"):
        sample_moments(features).symmetrised()
