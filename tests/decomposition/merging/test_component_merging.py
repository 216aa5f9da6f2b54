from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bigtensor.decomposition.merging.component_merging import (
    CRITERIA,
    CRITERIA_OF_PRODUCTS,
    LEVELS,
    SEPARATION,
    merge_components,
)
from bigtensor.decomposition.merging.levels import places_in_levels
from bigtensor.errors import ParameterError


@dataclass
class Sums:
    products: np.ndarray
    assigned: np.ndarray

    @property
    def mass(self):
        return self.assigned.sum(axis=1)


def sums_of(posterior, weight=None):
    weighted = posterior if weight is None else posterior * weight[:, None]
    label = np.eye(posterior.shape[1])[posterior.argmax(axis=1)]
    return Sums(weighted.T @ posterior, weighted.T @ label)


def random_posterior(rows, components, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(components, 0.15), rows)


def merge(sums, criterion, *, means=None, **options):
    """Merge components; without means each has a feature of its own, and all are as far apart."""
    if criterion == LEVELS and means is None:
        means = np.eye(len(sums.assigned))
    return merge_components(sums, criterion=criterion, means=means, **options)


def merged(posterior, criterion, weight=None):
    return merge(sums_of(posterior, weight), criterion)


def criterion_of_pair(criterion, a, b, weight, distance=None):
    """Return the criterion from the rows; a and b are (posterior, is labelled so) of two groups."""
    (r_a, in_a), (r_b, in_b) = a, b
    product = weight @ (r_a * r_b)
    as_other = [weight @ (r_a * in_b) / (weight @ r_a), weight @ (r_b * in_a) / (weight @ r_b)]
    w_a, w_b = (weight @ r / weight.sum() for r in (r_a, r_b))
    mass = w_a * w_b / (w_a + w_b)
    if criterion == LEVELS:
        taken = np.mean(as_other)
        cost = max(mass, 0.0005) ** 0.65 * distance**2 / (taken + 0.01) + 0.01 * mass / (
            taken + 0.0001
        )
        return 1 / (1 + cost * max(1 - taken / 0.16, 0))
    return {
        "separation": 1 / (1 + mass**0.2 / (np.mean(as_other) + 0.01)),
        "misclassification": max(as_other),
        "mean_misclassification": np.mean(as_other),
        "quadratic_entropy": 2 * product / weight.sum(),
        "overlap": product / np.sqrt((weight @ r_a**2) * (weight @ r_b**2)),
    }[criterion]


def direct_merging(posterior, criterion, weight, places):
    """Merge by looking at all rows again for every pair, with nothing kept between the steps."""
    label, mass = posterior.argmax(axis=1), weight @ posterior
    groups = {h: [h] for h in range(posterior.shape[1])}
    merges, heights = [], []
    while len(groups) > 1:
        seen = {
            node: (posterior[:, members].sum(axis=1), np.isin(label, members))
            for node, members in groups.items()
        }
        place = {node: np.average(places[m], axis=0, weights=mass[m]) for node, m in groups.items()}
        pairs = list(combinations(sorted(groups), 2))
        values = [
            criterion_of_pair(
                criterion, seen[a], seen[b], weight, np.linalg.norm(place[a] - place[b], 6)
            )
            for a, b in pairs
        ]
        # several pairs may be halves of one population: the lightest is merged first
        height = max(values)
        ties = [pair for pair, value in zip(pairs, values, strict=True) if value == height]
        pair = min(ties, key=lambda tie: sum(mass[groups[node]].sum() for node in tie))
        groups[posterior.shape[1] + len(merges)] = groups.pop(pair[0]) + groups.pop(pair[1])
        merges.append(pair)
        heights.append(height)
    return np.array(merges), np.array(heights)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True])
def test_merge_components__is_the_direct_recomputation_from_all_rows(criterion, weighted):
    posterior = random_posterior(400, 9)
    weight = np.random.default_rng(1).uniform(0, 2, 400) if weighted else np.ones(400)
    means = np.random.default_rng(2).normal(size=(9, 3))
    tree = merge(sums_of(posterior, weight), criterion, means=means)
    places = places_in_levels(means, weight @ posterior)
    merges, heights = direct_merging(posterior, criterion, weight, places)
    np.testing.assert_array_equal(tree.merges, merges)
    np.testing.assert_allclose(tree.heights, heights, rtol=1e-9)
    np.testing.assert_allclose(tree.weights, weight @ posterior / weight.sum(), rtol=1e-12)
    assert tree.criterion == criterion
    assert (tree.heights >= 0).all()
    assert (tree.heights <= 1).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_merge_components__the_order_of_the_components_does_not_matter(criterion):
    posterior = random_posterior(500, 12, seed=3)
    order = np.random.default_rng(4).permutation(12)
    tree, shuffled = merged(posterior, criterion), merged(posterior[:, order], criterion)
    np.testing.assert_allclose(shuffled.heights, tree.heights, rtol=1e-9)
    for n_populations in range(1, 13):
        np.testing.assert_array_equal(shuffled.cut(n_populations), tree.cut(n_populations)[order])


def components_of_populations(seed):
    """Rows of three populations; the first two are bent and need three components each."""
    random = np.random.default_rng(seed)
    means = np.array([[0, 0], [2, 0.5], [4, 2], [12, 0], [12, 2], [10.5, 3.5], [0, 12]], float)
    population = np.array([0, 0, 0, 1, 1, 1, 2])
    weights = np.array([0.2, 0.15, 0.15, 0.12, 0.1, 0.08, 0.2])
    component = random.choice(7, 4000, p=weights)
    x = means[component] + random.normal(size=(4000, 2))
    joint = np.stack(
        [w * multivariate_normal(m).pdf(x) for w, m in zip(weights, means, strict=True)], axis=1
    )
    return joint / joint.sum(axis=1, keepdims=True), population


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(3))
def test_merge_components__components_that_share_rows_become_one_population(criterion, seed):
    posterior, population = components_of_populations(seed)
    tree = merged(posterior, criterion)
    np.testing.assert_array_equal(tree.cut(3), population)
    # the number of populations in levels is left to halves of the rows
    assert criterion == LEVELS or tree.cut_automatically() == 3


def test_merge_components__misclassification_labels_by_the_most_probable_component():
    # the first two components together are more probable than the third in every row
    posterior = np.tile([0.3, 0.3, 0.4], (10, 1))
    tree = merged(posterior, "misclassification")
    np.testing.assert_allclose(tree.heights, [1.0, 1.0])
    np.testing.assert_array_equal(tree.merges, [[0, 2], [1, 3]])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_merge_components__ties_are_settled_by_weight_and_then_by_order(criterion):
    # four components that share nothing
    posterior = np.repeat(np.eye(4), [5, 2, 3, 2], axis=0)
    tree = merged(posterior, criterion)
    if criterion not in (LEVELS, SEPARATION):
        np.testing.assert_array_equal(tree.heights, 0)
    np.testing.assert_array_equal(tree.merges, [[1, 3], [2, 4], [0, 5]])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_merge_components__one_component_is_one_population(criterion):
    tree = merged(np.ones((5, 1)), criterion)
    assert tree.merges.shape == (0, 2)
    assert tree.heights.shape == (0,)
    np.testing.assert_array_equal(tree.cut(1), [0])
    assert tree.cut_automatically() == 1


@pytest.mark.parametrize("criterion", ["misclassification", "mean_misclassification", "overlap"])
def test_merge_components__a_component_without_mass_is_merged_first(criterion):
    posterior = np.insert(random_posterior(300, 4), 2, 0.0, axis=1)
    tree = merged(posterior, criterion)
    lightest = np.argsort(tree.weights)[1]
    np.testing.assert_array_equal(tree.merges[0], np.sort([2, lightest]))
    assert np.isfinite(tree.heights).all()


def test_merge_components__the_sums_stay_as_they_are():
    sums = sums_of(random_posterior(300, 5))
    before = sums.products.copy(), sums.assigned.copy()
    for criterion in CRITERIA:
        merge(sums, criterion)
    np.testing.assert_array_equal(sums.products, before[0])
    np.testing.assert_array_equal(sums.assigned, before[1])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"criterion": "ridgeline"}, "separation, mis.*'ridgeline'"),
        ({"products": np.ones((3, 2))}, {"criterion": "overlap"}, r"products \(3, 2\)"),
        (
            {"products": np.full((3, 3), np.nan)},
            {"criterion": "overlap"},
            "products must be finite",
        ),
        ({}, {"criterion": "levels"}, "needs means, one row for each component"),
        ({}, {"criterion": "levels", "means": np.ones((2, 4))}, "needs means, one row"),
        ({"assigned": np.zeros((3, 3))}, {}, "assigned must be.*not all zero"),
        ({"products": np.ones((0, 0)), "assigned": np.ones((0, 0))}, {}, "at least one component"),
    ],
)
def test_merge_components__says_what_is_wrong(change, options, message):
    given = {"products": np.ones((3, 3)), "assigned": np.ones((3, 3)), **change}
    with pytest.raises(ParameterError, match=message):
        merge_components(Sums(**given), **options)


def equally_separate(*mass, taken=0.02):
    """Sums of components that give as many of their rows to all others together."""
    mass = np.array(mass, float)
    share = np.full((len(mass),) * 2, taken / (len(mass) - 1))
    np.fill_diagonal(share, 1 - taken)
    return Sums(share * mass[:, None], share * mass[:, None])


def test_separation__merges_the_lightest_of_equally_separate_pairs_first():
    tree = merge(equally_separate(40, 5, 30, 20), SEPARATION)
    np.testing.assert_array_equal(tree.merges[0], [1, 3])
    # misclassification alone knows no mass; the equal pairs are in the order of rounding
    plain = merge(equally_separate(40, 5, 30, 20), "mean_misclassification")
    assert plain.heights[0] == pytest.approx(0.02 / 3)


def test_separation__a_light_pair_may_be_better_separated_than_the_one_that_is_left():
    # the heavy pair is taken for each other twice as often; its mass is a hundred times as large
    square = np.diag([5000.0, 5000, 50, 50])
    square[0, 1] = square[1, 0] = 5000 * 0.02
    square[2, 3] = square[3, 2] = 50 * 0.01
    tree = merge(Sums(square, square), SEPARATION)
    np.testing.assert_array_equal(tree.merges[0], [2, 3])
    plain = merge(Sums(square, square), "mean_misclassification")
    np.testing.assert_array_equal(plain.merges[0], [0, 1])


OUTLIERS, POPULATIONS = [3, 4], [0, 1, 2]


def with_outliers():
    """Three populations of a hundred rows or more, two of them close, and two outliers."""
    square = np.diag([400.0, 300, 200, 2, 1])
    square[0, 1] = square[1, 0] = 20
    square[1, 2] = square[2, 1] = 1
    return Sums(square, square)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_least_mass__outliers_are_merged_before_populations(criterion):
    tree = merge(with_outliers(), criterion, least_mass=10)
    # a cut into three keeps the three populations apart
    assert len(set(tree.cut(3)[POPULATIONS])) == 3
    np.testing.assert_allclose(np.bincount(tree.cut(3), tree.weights).min(), 201 / 945, atol=0.01)


@pytest.mark.parametrize("criterion", ["misclassification", "mean_misclassification", "overlap"])
def test_least_mass__without_it_outliers_survive(criterion):
    tree = merge(with_outliers(), criterion)
    # one of the three populations is made of outliers, and real ones are merged
    assert len(set(tree.cut(3)[POPULATIONS])) < 3
    assert not set(tree.cut(3)[OUTLIERS]) <= set(tree.cut(3)[POPULATIONS])


def test_least_mass__parts_of_a_rare_population_unite_and_stand():
    # two parts of six rows each
    square = np.diag([500.0, 400, 6, 6])
    square[0, 1] = square[1, 0] = 15
    square[2, 3] = square[3, 2] = 1.5
    square[0, 2] = square[2, 0] = 0.01
    tree = merge(Sums(square, square), SEPARATION, least_mass=10)
    np.testing.assert_array_equal(tree.merges[0], [2, 3])
    rare = tree.cut(3)
    assert rare[2] == rare[3]
    assert len({rare[0], rare[1], rare[2]}) == 3


def test_least_mass__outliers_of_different_places_make_no_population():
    # together they are heavier than the least mass
    square = np.diag([400.0, 300, 200, *[2] * 8])
    square[0, 1] = square[1, 0] = 20
    tree = merge(Sums(square, square), SEPARATION, least_mass=10)
    assert set(tree.cut(3)) == set(tree.cut(3)[POPULATIONS])


def test_least_mass__outliers_follow_their_own_rows():
    # half of the rows of component 4 are taken for component 3, whose own rows are taken for 1
    square = np.diag([400.0, 300, 200, 8, 9])
    square[3, 1] = square[1, 3] = 0.5
    assigned = square.copy()
    assigned[4, 3] = 9
    tree = merge(Sums(square, assigned), SEPARATION, least_mass=9)
    np.testing.assert_array_equal(tree.merges[0], [1, 3])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_merge_components__needs_products_for_some_criteria_alone(criterion):
    sums = sums_of(random_posterior(400, 8))
    labels = Sums(None, sums.assigned)
    if criterion in CRITERIA_OF_PRODUCTS:
        with pytest.raises(ParameterError, match="none were summed"):
            merge(labels, criterion)
        return
    expected = merge(sums, criterion)
    np.testing.assert_array_equal(merge(labels, criterion).merges, expected.merges)


def test_least_mass__that_no_component_falls_below_changes_nothing():
    sums = sums_of(random_posterior(400, 8))
    for criterion in CRITERIA:
        without = merge(sums, criterion)
        found = merge(sums, criterion, least_mass=sums.mass.min())
        np.testing.assert_array_equal(found.merges, without.merges)
        np.testing.assert_array_equal(found.heights, without.heights)
