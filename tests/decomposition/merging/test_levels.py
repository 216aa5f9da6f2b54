"""Levels of features, against all divisions of the component means in two."""

import numpy as np
import pytest

from bigtensor.decomposition.merging.component_merging import LEVELS, SEPARATION, merge_components
from bigtensor.decomposition.merging.levels import places_in_levels, two_levels
from tests.decomposition.merging.test_component_merging import Sums


def best_division(means, mass):
    """Return both levels and the share of variance between them, of the best of all divisions."""
    best = (0.0, 0.0, -1.0)
    centre = np.average(means, weights=mass)
    variance = np.average((means - centre) ** 2, weights=mass)
    for division in range(1, 2 ** (len(means) - 1)):
        high = (division >> np.arange(len(means))) % 2 == 1
        levels = [np.average(means[side], weights=mass[side]) for side in (~high, high)]
        shares = [mass[side].sum() / mass.sum() for side in (~high, high)]
        share = np.average((np.array(levels) - centre) ** 2, weights=shares) / variance
        best = max(best, (*sorted(levels), share), key=lambda found: found[2])
    return best


@pytest.mark.parametrize("seed", range(5))
def test_two_levels__are_those_of_the_best_of_all_divisions(seed):
    random = np.random.default_rng(seed)
    means, mass = random.normal(100, 5, 9), random.uniform(0.1, 3, 9)
    np.testing.assert_allclose(two_levels(means, mass), best_division(means, mass), rtol=1e-9)


def test_two_levels__of_two_values_hold_all_variance():
    means, mass = np.array([3.0, 7, 3, 7]), np.array([1.0, 2, 3, 4])
    np.testing.assert_allclose(two_levels(means, mass), [3, 7, 1])


@pytest.mark.parametrize("means", [np.full(5, 2.5), np.array([4.0])])
def test_places__are_zero_where_all_components_are_the_same(means):
    np.testing.assert_array_equal(places_in_levels(means[:, None], np.ones(len(means))), 0)


def distances(places):
    return np.linalg.norm(places[:, None] - places[None], 6, axis=2)


@pytest.mark.parametrize("factor", [1e-6, 7.0, -3.0])
def test_places__do_not_depend_on_units_and_zero_points(factor):
    random = np.random.default_rng(0)
    means, mass = random.normal(size=(20, 4)), random.uniform(1, 2, 20)
    changed = means.copy()
    changed[:, 2] = 5 + factor * changed[:, 2]
    expected = distances(places_in_levels(means, mass))
    np.testing.assert_allclose(distances(places_in_levels(changed, 10 * mass)), expected, rtol=1e-6)


def test_places__the_order_of_the_features_changes_no_bit_of_distances():
    random = np.random.default_rng(0)
    means, mass = random.normal(size=(30, 12)), random.uniform(1, 2, 30)
    shuffled = means[:, random.permutation(12)]
    np.testing.assert_array_equal(places_in_levels(shuffled, mass), places_in_levels(means, mass))


def test_places__of_one_far_light_component_do_not_move_the_others_together():
    means = np.array([0.0, 0.1, 1.0, 1.1, 1e3])
    mass = np.array([10.0, 10, 10, 10, 1e-6])
    near, far = (places_in_levels(means[:n, None], mass[:n]) for n in (4, 5))
    share = two_levels(means, mass)[2] / two_levels(means[:4], mass[:4])[2]
    np.testing.assert_allclose(far[:4], near * share**2, atol=1e-3)
    assert far[4, 0] <= 1.25


def gradient_with_a_rare_population():
    """Two halves of one broad population, another large one, and a rare one apart from all."""
    mass = np.array([4000.0, 4000, 1900, 30])
    taken = np.zeros((4, 4))
    taken[0, 1] = taken[1, 0] = 0.2
    taken[1, 2] = taken[2, 1] = 0.02
    np.fill_diagonal(taken, 1 - taken.sum(axis=1))
    square = mass[:, None] * taken
    return Sums(square, (square + square.T) / 2)


def test_levels__halves_of_one_population_are_merged_before_a_rare_one():
    means = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1]])
    tree = merge_components(gradient_with_a_rare_population(), criterion=LEVELS, means=means)
    np.testing.assert_array_equal(tree.merges[0], [0, 1])


def test_levels__two_that_are_high_and_low_alike_are_merged_before_two_that_are_not():
    # both pairs share as many rows, and the pair with different levels is lighter
    square = np.diag([3000.0, 3000, 1000, 1000])
    square[0, 1] = square[1, 0] = 3000 * 0.05
    square[2, 3] = square[3, 2] = 1000 * 0.05
    sums = Sums(square, square)
    means = np.array([[0.0, 5], [0.2, 5], [3, 0], [0, 0.1]])
    assert merge_components(sums, criterion=SEPARATION).merges[0].tolist() == [2, 3]
    tree = merge_components(sums, criterion=LEVELS, means=means)
    np.testing.assert_array_equal(tree.merges[0], [0, 1])


def height_of_a_rare_pair(rows):
    """Return the criterion of two rare populations that take one per cent for each other."""
    mass = np.array([5000.0, 5000, rows, rows])
    taken = np.eye(4)
    taken[2:, 2:] = [[0.99, 0.01], [0.01, 0.99]]
    square = mass[:, None] * taken
    means = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    tree = merge_components(Sums(square, square), criterion=LEVELS, means=means)
    return tree.heights[tree.merges.tolist().index([2, 3])]


def test_levels__rarer_than_one_in_two_thousand_is_no_cheaper_to_merge():
    # two of eight rows have a common weight of 4e-4
    assert height_of_a_rare_pair(8) == pytest.approx(height_of_a_rare_pair(2), rel=0.01)
    assert height_of_a_rare_pair(80) < 0.9 * height_of_a_rare_pair(20)
