"""The number of populations: cuts that halves of the rows reproduce and that are separate."""

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.metrics import adjusted_rand_score

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.decomposition.merging.population_count import (
    RARE_SEPARATE_BELOW,
    SEPARATE_BELOW,
    SEPARATE_BELOW_ALONE,
    adjusted_rand_index,
    choose_population_count,
    finest_separate_cut,
)


def tree_of(merges):
    k = len(merges) + 1
    heights = np.linspace(0.9, 0.1, k - 1)
    return MergeTree(np.array(merges).reshape(k - 1, 2), heights, np.full(k, 1 / k), "separation")


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


@pytest.mark.parametrize("counts", [(2, 2), (4, 7), (12, 3), (1, 5), (1, 1)])
@pytest.mark.parametrize("rows", [1, 2, 40, 3000])
def test_adjusted_rand_index__is_that_of_scikit_learn(counts, rows):
    random = np.random.default_rng(rows)
    first, second = (random.integers(0, count, rows) for count in counts)
    related = np.where(random.uniform(size=rows) < 0.7, first, second)
    for a, b in ((first, second), (first, related), (related, second), (first, first)):
        np.testing.assert_allclose(
            adjusted_rand_index(a, b), adjusted_rand_score(a, b), rtol=1e-10, atol=1e-12
        )


def test_adjusted_rand_index__of_many_rows_does_not_overflow():
    labels = np.repeat(np.arange(3, dtype=np.int32), 2_000_000)
    other = np.minimum(labels, 1)
    expected = adjusted_rand_score(labels[::1000], other[::1000])
    assert adjusted_rand_index(labels, other) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("splits", [1, 2])
def test_choice__is_the_finest_cut_that_halves_agree_on(splits):
    first = components()
    # the halves know the pairs, but split these differently
    second = swapped_in_pairs(first)
    halves = [((TREE, first), (TREE, second))] * splits
    found = choose_population_count(halves, TREE, assigned(0.05), most=30)
    assert found.chosen == 3
    assert found.as_good == []
    assert found.counts == [2, 3, 4, 5, 6]
    np.testing.assert_allclose(found.agreement[:2], 1.0)
    assert found.agreement[2] < 0.9
    expected = np.mean(
        [adjusted_rand_score(a[0].cut(4)[a[1]], b[0].cut(4)[b[1]]) for a, b in halves]
    )
    assert found.agreement[2] == pytest.approx(expected)
    np.testing.assert_allclose(found.misclassification, [0, 0, 0.05, 0.05, 0.05], atol=1e-12)


def test_choice__halves_are_cut_by_their_own_trees():
    first = components()
    found = choose_population_count([((TREE, first), (OTHER, first))], TREE, assigned(0.05), 30)
    # both know the three pairs, and unite other two of them; all six components are the same
    np.testing.assert_allclose([found.agreement[1], found.agreement[4]], 1.0)
    assert found.agreement[0] < 0.5
    assert found.chosen == 6


def test_choice__the_information_counts_where_halves_agree():
    first = components()
    found = choose_population_count([((TREE, first), (TREE, first))], TREE, assigned(0.05), 30)
    assert found.agreement == [1.0] * 5
    assert found.chosen == 6
    assert found.as_good == []


@pytest.mark.parametrize(
    ("within", "chosen"), [(SEPARATE_BELOW - 0.001, 6), (SEPARATE_BELOW + 0.001, 3)]
)
def test_choice__stops_at_the_first_cut_that_is_not_separate(within, chosen):
    first = components()
    found = choose_population_count([((TREE, first), (TREE, first))], TREE, assigned(within), 30)
    assert found.chosen == chosen
    assert max(found.misclassification) == pytest.approx(within)


def test_choice__is_one_where_the_first_cut_is_not_separate():
    first = components()
    halves = [((TREE, first), (TREE, first))]
    found = choose_population_count(halves, TREE, assigned(0.02, between=0.15), 30)
    assert found.misclassification[0] > SEPARATE_BELOW
    assert found.chosen == 1
    assert found.as_good == []


def test_choice__is_one_where_halves_do_not_agree_at_all():
    first = np.tile([0, 0, 4, 4], 100)
    second = np.tile([0, 4, 0, 4], 100)
    found = choose_population_count([((TREE, first), (TREE, second))], TREE, assigned(0.0), 30)
    assert max(found.agreement) < 0
    assert found.chosen == 1


@pytest.mark.parametrize(
    ("unresolved", "within", "chosen"),
    [
        (0.0, 0.04, 3),  # halves that disagree are believed
        (0.05, 0.04, 4),  # except where they cannot know: the first pair has a light member
        (0.05, RARE_SEPARATE_BELOW + 0.01, 3),  # and it is separate
    ],
)
def test_choice__goes_on_to_rare_populations_that_halves_cannot_judge(unresolved, within, chosen):
    weights = np.array([0.3, 0.01, 0.17, 0.17, 0.175, 0.175])
    # the pair with the light component is the first to be split
    merges = np.array([[4, 5], [2, 3], [0, 1], [6, 7], [8, 9]])
    tree = MergeTree(merges, TREE.heights, weights, "separation")
    first = components()
    halves = [((TREE, first), (TREE, swapped_in_pairs(first)))]
    found = choose_population_count(halves, tree, assigned(within), 30, unresolved)
    assert found.chosen == chosen
    assert chosen not in found.as_good


def noisy_halves(shares):
    """Halves that take these shares of rows for the other component of their pair."""
    first = components(60_000)
    return [
        ((TREE, first), (TREE, swapped_in_pairs(first, share, seed)))
        for seed, share in enumerate(shares)
    ]


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.1])
def test_choice__is_the_coarsest_of_cuts_within_a_standard_error_of_the_best(spread):
    coarser = 0
    for centre in np.linspace(0.1, 0.25, 16):
        halves = noisy_halves(centre + spread * np.array([-1, -0.5, 0.5, 1]))
        found = choose_population_count(halves, TREE, assigned(0.05), 30)
        scores = np.array(
            [
                [
                    max(adjusted_rand_score(*(tree.cut(k)[rows] for tree, rows in pair)), 0) ** 3
                    * np.log(k)
                    for pair in halves
                ]
                for k in found.counts
            ]
        )
        np.testing.assert_allclose(found.score, scores.mean(axis=1), rtol=1e-9)
        best = np.argmax(scores.mean(axis=1))
        behind = scores[best] - scores
        error = sem(behind, axis=1)
        expected = 2 + np.flatnonzero(behind.mean(axis=1) <= error)
        assert found.chosen == expected[0]
        assert found.as_good == expected[1:].tolist()
        coarser += found.chosen < 2 + best
    # with halves that are as good as each other, chance decides next to nothing
    assert (coarser == 0) == (spread == 0)


@pytest.mark.parametrize("most", [1, 2, 4, 30])
def test_choice__considers_no_more_than_asked_for_or_a_half_has(most):
    first = components()
    small = tree_of([[0, 1], [2, 3], [4, 5]])
    halves = [((TREE, first), (small, first // 2 + first % 2))]
    found = choose_population_count(halves, TREE, assigned(0.0), most)
    assert found.counts == list(range(2, min(most, 4) + 1))
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
