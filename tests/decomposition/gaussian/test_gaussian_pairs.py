import numpy as np
import pytest
from numpy.random import default_rng
from scipy.integrate import quad
from scipy.stats import norm

from bigtensor.decomposition.gaussian.gaussian_pairs import merge_indistinct, pair_divergence


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("distance", [0.1, 1.0, 3.0, 6.0])
def test_pair_divergence__is_the_integral(share, distance):
    first, second = (1 - share) * distance, -share * distance

    def integrand(x):
        mixture = share * norm.pdf(x, first) + (1 - share) * norm.pdf(x, second)
        return mixture * (np.log(mixture) - norm.logpdf(x))

    expected = quad(integrand, -12, 12, limit=200)[0]
    found = pair_divergence(np.array([share]), np.array([distance]))[0]
    assert found == pytest.approx(expected, rel=2e-3, abs=1e-9)


def test_merge_indistinct__joins_halves_of_a_component_and_keeps_the_others():
    points = np.array([[0.0, 0], [0.3, 0], [5, 0], [0, 7], [0, 7.4], [0.1, 7.2]])
    weights = np.array([0.2, 0.1, 0.3, 0.2, 0.1, 0.1])
    found = merge_indistinct(weights, points, 1000)
    assert found.members.tolist() == [0, 0, 1, 2, 2, 2]
    np.testing.assert_allclose(found.weights, [0.3, 0.3, 0.4])
    np.testing.assert_allclose(found.points, [[0.1, 0], [5, 0], [0.025, 7.15]])


def test_merge_indistinct__of_more_rows_keeps_nearer_pairs():
    weights, points = np.array([0.5, 0.5]), np.array([[0.0, 0], [1.5, 0]])
    assert len(merge_indistinct(weights, points, 60).weights) == 1
    assert len(merge_indistinct(weights, points, 600).weights) == 2
    wide = np.hstack([points, np.zeros((2, 30))])
    assert len(merge_indistinct(weights, wide, 600).weights) == 1


def test_merge_indistinct__leaves_distinct_components_as_they_are():
    points, weights = 9 * default_rng(0).normal(size=(40, 8)), np.full(40, 1 / 40)
    found = merge_indistinct(weights, points, 10_000)
    np.testing.assert_array_equal(found.points, points)
    np.testing.assert_array_equal(found.members, np.arange(40))
    assert merge_indistinct(weights[:1], points[:1], 5).members.tolist() == [0]
