"""One tree from several: when components are united, and what the trees have in common."""

import itertools

import numpy as np
import pytest

from bigtensor.decomposition.merging.consensus_tree import CONSENSUS, consensus_tree, joining_counts
from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import ParameterError


def random_tree(k, seed=0):
    """Merge random pairs."""
    random = np.random.default_rng(seed)
    nodes, merges = list(range(k)), []
    for step in range(k - 1):
        first, second = sorted(random.choice(len(nodes), 2, replace=False))
        merges.append(sorted((nodes[first], nodes[second])))
        nodes = [node for i, node in enumerate(nodes) if i not in (first, second)] + [k + step]
    heights = np.sort(random.uniform(size=k - 1))[::-1]
    weights = random.dirichlet(np.ones(k))
    return MergeTree(np.array(merges).reshape(k - 1, 2), heights, weights, "separation")


def random_case(k, leaves, seed=0):
    """Return trees, the shares of their leaves in k components, and weights of these."""
    random = np.random.default_rng(seed)
    trees = [random_tree(count, seed + i) for i, count in enumerate(leaves)]
    shares = [random.dirichlet(np.full(count, 0.3), k) for count in leaves]
    return trees, shares, random.dirichlet(np.ones(k))


def equal(trees, k):
    """Reliability of trees that tell all components apart."""
    return [np.ones(k)] * len(trees)


def same_partition(first, second):
    pairs = np.unique(np.stack([first, second]), axis=1)
    return pairs.shape[1] == len(np.unique(first)) == len(np.unique(second))


@pytest.mark.parametrize("k", [1, 2, 3, 8, 25])
def test_joining_counts__are_the_largest_cut_that_keeps_two_together(k):
    tree = random_tree(k, seed=k)
    expected = np.ones((k, k))
    for a, b in itertools.permutations(range(k), 2):
        together = [n for n in range(1, k + 1) if tree.cut(n)[a] == tree.cut(n)[b]]
        expected[a, b] = (max(together) - 1) / (k - 1)
    np.testing.assert_allclose(joining_counts(tree), expected, rtol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_consensus_tree__of_one_tree_is_this_tree(k):
    tree = random_tree(k, seed=k)
    found = consensus_tree([tree], [np.eye(k)], tree.weights, [np.ones(k)])
    assert found.criterion == CONSENSUS
    np.testing.assert_allclose(found.weights, tree.weights, rtol=1e-12)
    for count in range(1, k + 1):
        np.testing.assert_array_equal(found.cut(count), tree.cut(count))
    # k - 1 populations are the most in which the first pair is one, and so on
    np.testing.assert_allclose(found.heights, np.arange(k - 2, -1, -1) / max(k - 1, 1), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_consensus_tree__heights_never_rise(seed):
    trees, shares, weights = random_case(20, [20, 9, 31], seed)
    heights = consensus_tree(trees, shares, weights, equal(trees, 20)).heights
    assert (np.diff(heights) <= 0).all()
    assert heights.min() >= 0
    assert heights.max() <= 1


def test_consensus_tree__of_trees_with_one_leaf_has_equal_heights():
    trees, shares, weights = random_case(6, [1, 1])
    tree = consensus_tree(trees, shares, weights, equal(trees, 6))
    np.testing.assert_allclose(tree.heights, 1.0, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_consensus_tree__the_order_of_the_components_changes_their_numbers_only(seed):
    trees, shares, weights = random_case(15, [12, 17, 8], seed)
    order = np.random.default_rng(seed + 50).permutation(15)
    reliability = list(np.random.default_rng(seed).uniform(0.1, 1, (3, 15)))
    tree = consensus_tree(trees, shares, weights, reliability)
    shuffled = consensus_tree(
        trees,
        [share[order] for share in shares],
        weights[order],
        [known[order] for known in reliability],
    )
    np.testing.assert_allclose(shuffled.heights, tree.heights, rtol=1e-10)
    for count in range(1, 16):
        np.testing.assert_array_equal(shuffled.cut(count), tree.cut(count)[order])


def test_consensus_tree__the_order_of_the_leaves_changes_nothing():
    trees, shares, weights = random_case(10, [14], seed=3)
    order = np.random.default_rng(5).permutation(14)
    number = np.concatenate([np.argsort(order), np.arange(14, 27)])
    merges = np.sort(number[trees[0].merges], axis=1)
    shuffled = MergeTree(merges, trees[0].heights, trees[0].weights[order], "separation")
    expected = consensus_tree(trees, shares, weights, equal(trees, 10))
    found = consensus_tree([shuffled], [shares[0][:, order]], weights, equal(trees, 10))
    np.testing.assert_array_equal(found.merges, expected.merges)
    np.testing.assert_allclose(found.heights, expected.heights, rtol=1e-12)


@pytest.mark.parametrize("odd", range(3))
def test_consensus_tree__two_trees_that_agree_outvote_a_third(odd):
    weights = np.full(4, 0.25)
    heights = np.array([0.9, 0.8, 0.1])
    common = MergeTree(np.array([[0, 1], [2, 3], [4, 5]]), heights, weights, "separation")
    other = MergeTree(np.array([[0, 2], [1, 3], [4, 5]]), heights, weights, "separation")
    trees = [other if place == odd else common for place in range(3)]
    tree = consensus_tree(trees, [np.eye(4)] * 3, weights, equal(trees, 4))
    for count in range(1, 5):
        assert same_partition(tree.cut(count), common.cut(count))


def test_consensus_tree__a_tree_that_does_not_resolve_a_component_has_no_say_in_it():
    # the second tree has one leaf for the light component 2 and the heavy component 1
    weights = np.array([0.4, 0.35, 0.001, 0.249])
    first = MergeTree(
        np.array([[0, 1], [3, 4], [2, 5]]), np.array([0.5, 0.3, 0.1]), weights, "separation"
    )
    leaves = np.array([0.4, 0.351, 0.249])
    second = MergeTree(np.array([[0, 1], [2, 3]]), np.array([0.5, 0.1]), leaves, "separation")
    shares = [np.eye(4), np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])]
    apart, together = [0, 0, 1, 0], [0, 0, 0, 1]
    for light, expected in ((0.0, apart), (0.1, apart), (1.0, together)):
        known = [np.ones(4), np.array([1, 1, light, 1])]
        tree = consensus_tree([first, second], shares, weights, known)
        assert same_partition(tree.cut(2), np.array(expected)), light


def test_consensus_tree__averages_over_rows_and_not_over_components():
    # a heavy component decides with what its light companion is merged
    trees = [
        MergeTree(np.array([[0, 1], [3, 4], [2, 5]]), np.zeros(3), np.full(4, 0.25), "separation")
    ]
    similarity = joining_counts(trees[0])
    weights = np.array([0.7, 0.1, 0.1, 0.1])
    shares = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0.6, 0.4, 0]])
    tree = consensus_tree(trees, [shares], weights, equal(trees, 4))
    of_components = shares @ similarity @ shares.T
    np.testing.assert_array_equal(tree.merges[0], [0, 1])
    joined = (0.7 * of_components[0] + 0.1 * of_components[1]) / 0.8
    np.testing.assert_allclose(tree.heights[1], max(joined[3], joined[2], of_components[2, 3]))


@pytest.mark.parametrize(
    ("leaves", "shapes"),
    [([], []), ([3], []), ([3], [(4, 2)]), ([3], [(5, 3)]), ([3, 2], [(4, 3)])],
)
def test_consensus_tree__says_what_does_not_belong_together(leaves, shapes):
    trees = [random_tree(count) for count in leaves]
    with pytest.raises(ParameterError, match=f"for {len(trees)} trees and 4 components"):
        consensus_tree(
            trees, [np.ones(shape) for shape in shapes], np.full(4, 0.25), equal(trees, 4)
        )
