"""The number of populations: cuts into stable and separate populations."""

import numpy as np
import pytest
from scipy.stats import sem

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.population_count import (
    RARE_SEPARATE_BELOW,
    SEPARATE_BELOW,
    SEPARATE_BELOW_ALONE,
    choose_population_count,
    finest_separate_cut,
)


def tree_of(merges):
    k = len(merges) + 1
    heights = np.linspace(0.9, 0.1, k - 1)
    return MergeTree(np.array(merges).reshape(k - 1, 2), heights, np.full(k, 1 / k), "separation")


# three pairs, of which the first two are nearer to each other
TREE = tree_of([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])


def assigned(within, between=0.0, pairs=3):
    """Return sums of equal components, of which pairs are taken for each other."""
    k = 2 * pairs
    square = np.full((k, k), between)
    for first in range(0, k, 2):
        square[first, first + 1] = square[first + 1, first] = within
    np.fill_diagonal(square, 0.0)
    np.fill_diagonal(square, 1 - square.sum(axis=1))
    return square


def stability(of_nodes, halves=1):
    """Return the same stability of every population of a tree in every half."""
    return np.tile(np.asarray(of_nodes, float), (halves, 1))


ALL = np.ones(11)
# the pairs are stable, their members are not
PAIRS = np.r_[np.full(6, 0.55), np.ones(5)]


@pytest.mark.parametrize("halves", [2, 8])
def test_choice__is_the_finest_cut_into_stable_populations(halves):
    found = choose_population_count(TREE, assigned(0.05), stability(PAIRS, halves), most=30)
    assert found.chosen == 3
    assert found.as_good == []
    assert found.counts == [2, 3, 4, 5, 6]
    # of four populations, two are single components with a third of the rows
    np.testing.assert_allclose(found.stability, [1, 1, 0.85, 0.7, 0.55])
    shares = np.array([0, 0, 1, 2, 3]) / 3
    expected = (1 - shares + shares * 0.55**5) * np.log([2, 3, 4, 5, 6])
    np.testing.assert_allclose(found.score, expected)
    np.testing.assert_allclose(found.misclassification, [0, 0, 0.05, 0.05, 0.05], atol=1e-12)


@pytest.mark.parametrize(("share", "chosen"), [(0.44, 5), (0.01, 6)])
def test_choice__populations_count_by_their_rows(share, chosen):
    # the last cut divides the first pair, whose members are not stable
    weights = np.r_[share, share, np.full(4, (1 - 2 * share) / 4)]
    tree = MergeTree(TREE.merges, TREE.heights, weights, "separation")
    of_nodes = np.r_[0.2, 0.2, np.ones(9)]
    found = choose_population_count(tree, assigned(0.05), stability(of_nodes, 2), 30)
    assert found.chosen == chosen


def test_choice__the_information_counts_where_all_are_stable():
    found = choose_population_count(TREE, assigned(0.05), stability(ALL, 2), 30)
    np.testing.assert_allclose(found.stability, 1)
    assert found.chosen == 6
    assert found.as_good == []


@pytest.mark.parametrize(
    ("within", "chosen"), [(SEPARATE_BELOW - 0.001, 6), (SEPARATE_BELOW + 0.001, 3)]
)
def test_choice__stops_at_the_first_cut_that_is_not_separate(within, chosen):
    found = choose_population_count(TREE, assigned(within), stability(ALL, 2), 30)
    assert found.chosen == chosen
    assert max(found.misclassification) == pytest.approx(within)


def test_choice__is_one_where_the_first_cut_is_not_separate():
    found = choose_population_count(TREE, assigned(0.02, between=0.15), stability(ALL, 2), 30)
    assert found.misclassification[0] > SEPARATE_BELOW
    assert found.chosen == 1
    assert found.as_good == []


@pytest.mark.parametrize(
    ("unresolved", "within", "chosen"),
    [
        (0.0, 0.04, 3),  # halves that do not have a population are believed
        (0.05, 0.04, 4),  # except where they cannot know: the first pair has a light member
        (0.05, RARE_SEPARATE_BELOW + 0.01, 3),  # and it is separate
    ],
)
def test_choice__goes_on_to_rare_populations_that_halves_cannot_judge(unresolved, within, chosen):
    weights = np.array([0.3, 0.01, 0.17, 0.17, 0.175, 0.175])
    # the pair with the light component is the first to be split
    merges = np.array([[4, 5], [2, 3], [0, 1], [6, 7], [8, 9]])
    tree = MergeTree(merges, TREE.heights, weights, "separation")
    found = choose_population_count(tree, assigned(within), stability(PAIRS, 2), 30, unresolved)
    assert found.chosen == chosen
    assert chosen not in found.as_good


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.1])
def test_choice__is_the_coarsest_of_cuts_within_a_standard_error_of_the_best(spread):
    random, coarser = np.random.default_rng(0), 0
    for centre in np.linspace(0.86, 0.96, 40):
        of_halves = stability(np.r_[np.full(6, centre), np.ones(5)], 8)
        of_halves[:, :6] += spread * random.uniform(-0.4, 0.4, (8, 6))
        found = choose_population_count(TREE, assigned(0.05), of_halves, 30)
        scores = (
            np.array(
                [
                    [half[TREE.nodes_of(TREE.cut(k))[TREE.cut(k)]] ** 5 for half in of_halves]
                    for k in found.counts
                ]
            ).mean(axis=2)
            * np.log(found.counts)[:, None]
        )
        np.testing.assert_allclose(found.score, scores.mean(axis=1), rtol=1e-9)
        best = np.argmax(scores.mean(axis=1))
        behind = scores[best] - scores
        error = sem(behind, axis=1)
        expected = 2 + np.flatnonzero(behind.mean(axis=1) <= error)
        assert found.chosen == expected[0]
        assert found.as_good == expected[1:].tolist()
        coarser += found.chosen < 2 + best
    # with halves that are as good as each other, chance decides nothing
    assert (coarser == 0) == (spread == 0)


@pytest.mark.parametrize("most", [1, 2, 4, 30])
def test_choice__considers_no_more_than_asked_for(most):
    found = choose_population_count(TREE, assigned(0.0), stability(ALL, 2), most)
    assert found.counts == list(range(2, min(most, 6) + 1))
    assert (found.chosen == 1) == (most == 1)


@pytest.mark.parametrize(
    ("within", "between", "most", "expected"),
    [
        (SEPARATE_BELOW_ALONE - 0.001, 0.0, 30, 6),
        (SEPARATE_BELOW_ALONE + 0.001, 0.0, 30, 3),
        (SEPARATE_BELOW_ALONE + 0.001, 0.0, 2, 2),
        (SEPARATE_BELOW_ALONE - 0.001, 0.0, 4, 4),
        (0.0, 0.15, 30, 1),
        (0.0, 0.0, 1, 1),
    ],
)
def test_finest_separate_cut(within, between, most, expected):
    assert finest_separate_cut(TREE, assigned(within, between), most) == expected


def test_finest_separate_cut__of_one_component_is_one():
    assert finest_separate_cut(tree_of([]), np.ones((1, 1)), 30) == 1
