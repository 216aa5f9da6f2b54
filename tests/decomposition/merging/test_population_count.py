"""The number of populations: cuts that halves of the rows reproduce and that are separate."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import sem

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.population_count import (
    RARE_SEPARATE_BELOW,
    SEPARATE_BELOW,
    STABILITY_DROP,
    WHOLLY_STABLE,
    choose_population_count,
    finest_separate_cut,
)
from bigtensor.decomposition.merging.population_stability import ComparedHalf


def tree_of(merges):
    k = len(merges) + 1
    heights = np.linspace(0.9, 0.1, k - 1)
    merges = np.array(merges).reshape(k - 1, 2)
    stability = np.full(2 * k - 1, 0.9)
    return MergeTree(merges, heights, np.full(k, 1 / k), "separation", stability=stability)


# three pairs, of which the first two are nearer to each other
TREE = tree_of([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]])
# the same three pairs, united in another order inside and outside of them
OTHER = tree_of([[4, 5], [0, 1], [2, 3], [6, 8], [7, 9]])


def assigned(within, between=0.0, pairs=3):
    """Return sums of equal components, of which pairs are taken for each other."""
    k = 2 * pairs
    square = np.full((k, k), between)
    for first in range(0, k, 2):
        square[first, first + 1] = square[first + 1, first] = within
    np.fill_diagonal(square, 0.0)
    np.fill_diagonal(square, 1 - square.sum(axis=1))
    return square


def components(rows=6000, seed=0):
    return np.random.default_rng(seed).integers(0, 6, rows)


def swapped_in_pairs(labels, share=0.5, seed=1):
    """Take some rows for the other component of their pair."""
    wrong = np.random.default_rng(seed).uniform(size=len(labels)) < share
    return np.where(wrong, labels ^ 1, labels)


@dataclass(frozen=True)
class Half:
    trees: tuple[MergeTree, ...]
    labels: np.ndarray


def compared(labels, *halves):
    """Compare components of all rows with halves, each of a tree and labels."""
    return [ComparedHalf.of_labels(Half((tree,), other), labels, 6) for tree, other in halves]


def jaccard(first, second):
    """The largest Jaccard index of every population with any of other labels."""
    return np.array(
        [
            max(
                ((first == one) & (second == other)).sum()
                / ((first == one) | (second == other)).sum()
                for other in np.unique(second)
            )
            for one in range(first.max() + 1)
        ]
    )


@pytest.mark.parametrize("splits", [1, 2])
def test_choice__is_the_finest_cut_that_halves_agree_on(splits):
    first = components()
    # the halves know the pairs, but split these differently
    second = swapped_in_pairs(first)
    halves = compared(first, *[(TREE, second)] * (2 * splits))
    found = choose_population_count(TREE, assigned(0.05), halves, most=30)
    assert found.chosen == 3
    assert found.as_good == []
    assert found.counts == [2, 3, 4, 5, 6]
    np.testing.assert_allclose(found.agreement[:2], 1.0)
    weights = np.bincount(TREE.cut(4), TREE.weights)
    index = jaccard(TREE.cut(4)[first], TREE.cut(4)[second])
    assert found.agreement[2] == pytest.approx(weights @ index)
    assert found.agreement[2] < 0.9
    assert found.score[2] == pytest.approx(weights @ index**2 * np.log(4))
    np.testing.assert_allclose(found.misclassification, [0, 0, 0.05, 0.05, 0.05], atol=1e-12)


def test_choice__halves_are_cut_by_their_own_trees():
    first = components()
    found = choose_population_count(
        TREE, assigned(0.05), compared(first, *[(OTHER, first)] * 2), 30
    )
    # both know the three pairs, and unite other two of them; all six components are the same
    np.testing.assert_allclose([found.agreement[1], found.agreement[4]], 1.0)
    assert found.agreement[0] < 0.6
    assert found.chosen == 6


def test_choice__trees_of_a_half_count_the_same():
    first = components()
    both = [ComparedHalf.of_labels(Half((TREE, OTHER), first), first, 6)] * 2
    found = choose_population_count(TREE, assigned(0.05), both, 30)
    alone = choose_population_count(TREE, assigned(0.05), compared(first, (OTHER, first)) * 2, 30)
    np.testing.assert_allclose(2 * np.array(found.agreement), 1 + np.array(alone.agreement))


def test_choice__the_information_counts_where_halves_agree():
    first = components()
    found = choose_population_count(TREE, assigned(0.05), compared(first, *[(TREE, first)] * 2), 30)
    np.testing.assert_allclose(found.agreement, 1)
    assert found.chosen == 6
    assert found.as_good == []


@pytest.mark.parametrize(("share", "chosen"), [(0.44, 5), (0.01, 6)])
def test_choice__populations_count_by_their_rows(share, chosen):
    # the last cut divides the first pair, which the halves do otherwise
    weights = np.r_[share, share, np.full(4, (1 - 2 * share) / 4)]
    tree = replace(TREE, weights=weights)
    first = components()
    second = np.where(first < 2, swapped_in_pairs(first), first)
    halves = compared(first, *[(TREE, second)] * 2)
    assert choose_population_count(tree, assigned(0.05), halves, 30).chosen == chosen


@pytest.mark.parametrize(
    ("within", "chosen"), [(SEPARATE_BELOW - 0.001, 6), (SEPARATE_BELOW + 0.001, 3)]
)
def test_choice__stops_at_the_first_cut_that_is_not_separate(within, chosen):
    first = components()
    halves = compared(first, *[(TREE, first)] * 2)
    found = choose_population_count(TREE, assigned(within), halves, 30)
    assert found.chosen == chosen
    assert max(found.misclassification) == pytest.approx(within)


def test_choice__is_one_where_the_first_cut_is_not_separate():
    first = components()
    halves = compared(first, *[(TREE, first)] * 2)
    found = choose_population_count(TREE, assigned(0.02, between=0.15), halves, 30)
    assert found.misclassification[0] > SEPARATE_BELOW
    assert found.chosen == 1
    assert found.as_good == []


@pytest.mark.parametrize(
    ("unresolved", "within", "chosen"),
    [
        (0.0, 0.04, 3),  # halves that do not agree are believed
        (0.05, 0.04, 4),  # except where they cannot know: the first pair has a light member
        (0.05, RARE_SEPARATE_BELOW + 0.01, 3),  # and it is separate
    ],
)
def test_choice__goes_on_to_rare_populations_that_halves_cannot_judge(unresolved, within, chosen):
    weights = np.array([0.3, 0.01, 0.17, 0.17, 0.175, 0.175])
    # the pair with the light component is the first to be split
    merges = np.array([[4, 5], [2, 3], [0, 1], [6, 7], [8, 9]])
    tree = replace(TREE, merges=merges, weights=weights)
    first = components()
    halves = compared(first, *[(TREE, swapped_in_pairs(first))] * 2)
    found = choose_population_count(tree, assigned(within), halves, 30, unresolved)
    assert found.chosen == chosen
    assert chosen not in found.as_good


@pytest.mark.parametrize("spread", [0.0, 0.05])
@pytest.mark.quick_cases("0.05")
def test_choice__is_the_coarsest_of_cuts_within_a_standard_error_of_the_best(spread):
    first, coarser = components(60_000), 0
    for centre in np.linspace(0.08, 0.16, 16):
        shares = centre + spread * np.array([-1, -0.5, 0.5, 1])
        others = [swapped_in_pairs(first, share, seed) for seed, share in enumerate(shares)]
        halves = compared(first, *[(TREE, other) for other in others])
        found = choose_population_count(TREE, assigned(0.05), halves, 30)
        scores = np.array(
            [
                [
                    np.bincount(cut, TREE.weights) @ jaccard(cut[first], cut[other]) ** 2
                    for other in others
                ]
                for cut in map(TREE.cut, found.counts)
            ]
        )
        scores *= np.log(found.counts)[:, None]
        np.testing.assert_allclose(found.score, scores.mean(axis=1), rtol=1e-9)
        best = np.argmax(scores.mean(axis=1))
        behind = scores[best] - scores
        near = 2 + np.flatnonzero(behind.mean(axis=1) <= sem(behind, axis=1))
        assert found.chosen == near[0]
        assert found.as_good == near[1:].tolist()
        coarser += found.chosen < 2 + best
    # with halves that are as good as each other, chance decides next to nothing
    assert coarser >= 3 if spread else coarser <= 2


def with_stability(of_cut, of_parts):
    """The tree with this stability of the three pairs, and of their members."""
    return replace(TREE, stability=np.r_[np.full(6, of_parts), np.full(5, of_cut)])


@pytest.mark.parametrize(
    ("of_cut", "of_parts", "chosen"),
    [
        (1.0, 0.9, 3),
        (WHOLLY_STABLE + 1e-6, 0.9, 3),
        (WHOLLY_STABLE - 1e-3, 0.9, 6),
        (1.0, 1.0, 6),
        (1.0, 1 - 2 * STABILITY_DROP, 6),  # one more population costs a third of that
    ],
)
def test_choice__is_a_wholly_stable_cut_whatever_the_scores(of_cut, of_parts, chosen):
    first = components()
    halves = compared(first, *[(TREE, first)] * 2)
    tree = with_stability(of_cut, of_parts)
    found = choose_population_count(tree, assigned(0.05), halves, 30)
    assert found.chosen == chosen
    assert found.as_good == []
    np.testing.assert_allclose(found.stability[1], of_cut)
    np.testing.assert_allclose(found.stability[4], of_parts)


@pytest.mark.parametrize("most", [1, 2, 4, 30])
def test_choice__considers_no_more_than_asked_for_or_a_half_has(most):
    first = components()
    small = tree_of([[0, 1], [2, 3], [4, 5]])
    halves = compared(first, (TREE, first), (small, first // 2 + first % 2))
    found = choose_population_count(TREE, assigned(0.0), halves, most)
    assert found.counts == list(range(2, min(most, 4) + 1))
    assert (found.chosen == 1) == (most == 1)


@pytest.mark.parametrize(
    ("within", "between", "most", "expected"),
    [
        (SEPARATE_BELOW - 0.001, 0.0, 30, 6),
        (SEPARATE_BELOW + 0.001, 0.0, 30, 3),
        (SEPARATE_BELOW + 0.001, 0.0, 2, 2),
        (SEPARATE_BELOW - 0.001, 0.0, 4, 4),
        (0.0, 0.15, 30, 1),
        (0.0, 0.0, 1, 1),
    ],
)
def test_finest_separate_cut(within, between, most, expected):
    assert finest_separate_cut(TREE, assigned(within, between), most) == expected


def test_finest_separate_cut__of_one_component_is_one():
    assert finest_separate_cut(tree_of([]), np.ones((1, 1)), 30) == 1
