"""Stability of populations, beside a direct count of rows."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.population_stability import (
    ComparedHalf,
    agreement_in_halves,
    stability_in_halves,
)
from bigtensor.decomposition.merging.replicated_trees import Replicate, counted_by_replicates


@dataclass(frozen=True)
class Half:
    trees: tuple[MergeTree, ...]
    labels: np.ndarray


def random_tree(k, seed):
    random = np.random.default_rng(seed)
    top, merges = list(range(k)), []
    for step in range(k - 1):
        pair = sorted(random.choice(len(top), 2, replace=False))
        second, first = top.pop(pair[1]), top.pop(pair[0])
        merges.append(sorted([first, second]))
        top.append(k + step)
    weights = random.dirichlet(np.ones(k))
    return MergeTree(np.array(merges).reshape(k - 1, 2), np.zeros(k - 1), weights, "separation")


def sets_of(tree):
    """The components of every population of a tree, from its cuts."""
    k = tree.n_components
    cuts = [tree.cut(count) for count in range(1, k + 1)]
    return {frozenset(np.flatnonzero(cut == one)) for cut in cuts for one in range(cut.max() + 1)}


def members(tree):
    """The components of every population, in the order of the merges."""
    k = tree.n_components
    found = [{component} for component in range(k)]
    for first, second in tree.merges:
        found.append(found[first] | found[second])
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(4))
def test_stability__is_the_largest_jaccard_index_with_any_population_of_a_half(k, seed):
    random = np.random.default_rng(seed)
    tree, labels = random_tree(k, seed), random.integers(0, k, 60)
    halves = [
        Half(
            tuple(random_tree(other, 10 * seed + number) for number in range(2)),
            np.minimum(labels, other - 1)
            if random.uniform() < 0.5
            else random.integers(0, other, 60),
        )
        for other in (2, 5)
    ]
    compared = [ComparedHalf.of_labels(half, labels, k) for half in halves]
    found = stability_in_halves(tree, compared)
    assert found.shape == (2, 2 * k - 1)
    for half, values in zip(halves, found, strict=True):
        others = [np.isin(half.labels, list(one)) for other in half.trees for one in sets_of(other)]
        for own, value in zip(members(tree), values, strict=True):
            rows = np.isin(labels, list(own))
            if len(own) == k:
                assert value == 1
                continue
            expected = max(
                (rows & other).sum() / max((rows | other).sum(), 1)
                for other in others
                if not other.all()
            )
            assert value == pytest.approx(expected)


@pytest.mark.parametrize("count", [2, 4])
def test_agreement__is_the_mean_over_trees_of_the_largest_jaccard_index(count):
    random = np.random.default_rng(count)
    tree, labels = random_tree(6, 1), random.integers(0, 6, 80)
    half = Half((random_tree(5, 2), random_tree(5, 3)), random.integers(0, 5, 80))
    cut = tree.cut(count)
    (found,) = agreement_in_halves(cut, [ComparedHalf.of_labels(half, labels, 6)])
    for number in range(count):
        rows, largest = cut[labels] == number, []
        for other in half.trees:
            of_rows = other.cut(count)[half.labels]
            sets = [of_rows == one for one in range(count)]
            largest.append(max((rows & one).sum() / (rows | one).sum() for one in sets))
        assert found[number] == pytest.approx(np.mean(largest))


def test_stability__of_all_rows_is_one_and_of_no_row_zero():
    tree = random_tree(4, 0)
    labels = np.array([0, 1, 1, 3])
    half = Half((random_tree(2, 1),), np.array([0, 0, 1, 1]))
    (found,) = stability_in_halves(tree, [ComparedHalf.of_labels(half, labels, 4)])
    assert found[-1] == 1
    assert found[2] == 0


@pytest.mark.parametrize("seed", range(3))
def test_nodes_of__are_the_populations_of_every_cut(seed):
    tree = random_tree(9, seed)
    for count in range(1, 10):
        cut = tree.cut(count)
        for number, node in enumerate(tree.nodes_of(cut)):
            assert members(tree)[node] == set(np.flatnonzero(cut == number))


def test_nodes_of__a_union_that_is_not_in_the_tree_is_minus_one():
    tree = MergeTree(np.array([[0, 1], [2, 3], [4, 5]]), np.zeros(3), np.full(4, 0.25), "levels")
    assert_array_equal(tree.nodes_of(np.array([0, 1, 0, 2])), [-1, 1, 3])


@pytest.mark.parametrize("seed", range(3))
def test_stability__follows_its_components_into_another_order(seed):
    tree = random_tree(6, seed)
    stability = np.random.default_rng(seed).uniform(size=11)
    tree = MergeTree(tree.merges, tree.heights, tree.weights, "levels", stability=stability)
    order = np.random.default_rng(seed + 1).permutation(6)
    moved = tree.reordered(order)
    before = {frozenset(one): value for one, value in zip(members(tree), stability, strict=True)}
    for own, value in zip(members(moved), moved.stability, strict=True):
        assert before[frozenset(order[list(own)])] == value


def test_stability__of_populations_without_a_divided_component_stays():
    tree = random_tree(5, 3)
    stability = np.random.default_rng(0).uniform(size=9)
    stability[-1] = 1.0
    tree = MergeTree(tree.merges, tree.heights, tree.weights, "levels", stability=stability)
    divided = tree.divided(np.array([1, 3]), np.array([0.4, 0.2]))
    before = {frozenset(one): value for one, value in zip(members(tree), stability, strict=True)}
    for own, value in zip(members(divided), divided.stability, strict=True):
        if own == set(range(7)):
            assert value == 1
        elif own & {1, 3, 5, 6}:
            assert np.isnan(value)
        else:
            assert value == before[frozenset(own)]
    assert_allclose(divided.weights.sum(), 1)


@dataclass(frozen=True)
class Sums:
    assigned: np.ndarray
    mass: np.ndarray
    products: None = None


def test_stability__of_populations_that_halves_cannot_judge_is_not_known():
    weights = np.array([0.5, 0.47, 0.03])
    merges = np.array([[1, 2], [0, 3]])
    tree = MergeTree(merges, np.zeros(2), weights, "levels")
    labels = np.random.default_rng(0).choice(3, 2000, p=weights)
    halves = [Replicate((tree, tree), labels, 1000)] * 2
    # 3 per cent of the rows of a half are fewer than 50
    found, count = counted_by_replicates(tree, Sums(np.diag(weights), weights), labels, halves)
    assert_array_equal(np.isnan(found.stability), [False, False, True, False, False])
    assert_allclose(count.stability, 1)
    assert found.automatic_count == count.chosen == 3
