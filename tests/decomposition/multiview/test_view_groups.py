from itertools import combinations, product

import numpy as np
import pytest

from bigtensor.decomposition.multiview.view_groups import (
    CLEARLY_BETTER,
    MOST_TRIALS,
    choose_view_groups,
    neighbouring_groups,
)
from bigtensor.errors import IdentifiabilityError, ParameterError


def covariances_of(means, weights):
    return {
        (a, b): (means[a] * weights) @ means[b].T
        for a, b in product(range(len(means)), repeat=2)
        if a != b
    }


def random_means(n_views, k, seed, size=5):
    random = np.random.default_rng(seed)
    return [random.standard_normal((size, k)) for _ in range(n_views)]


def plain_score(groups, covariances, k):
    """The definition, on all features and without any shortcut."""
    scores = []
    for first, second in combinations(groups, 2):
        moment = np.block([[covariances[a, b] for b in second] for a in first])
        values = np.sqrt(np.clip(np.linalg.eigvalsh(moment.T @ moment)[::-1], 0, None))
        scores.append(values[k - 1] / values[0])
    return min(scores)


def all_groupings(n_views):
    for labels in product(range(3), repeat=n_views):
        if set(labels) == {0, 1, 2}:
            yield [[v for v in range(n_views) if labels[v] == g] for g in range(3)]


def test_choose_view_groups__few_views_get_the_best_of_all_groupings():
    for seed in range(3):
        covariances = covariances_of(random_means(5, 2, seed), np.array([0.4, 0.6]))
        found = choose_view_groups(covariances, 2, [1] * 5)
        best = max(plain_score(groups, covariances, 2) for groups in all_groupings(5))
        assert found.exhaustive
        assert found.trials == 25
        assert found.best_score == pytest.approx(best, rel=1e-6)
        for groups, score in (
            (found.groups, found.score),
            (found.best, found.best_score),
            (found.neighbouring, found.neighbouring_score),
        ):
            assert score == pytest.approx(plain_score(groups, covariances, 2), rel=1e-6)


def test_choose_view_groups__neighbours_stay_together_unless_others_are_clearly_better():
    stayed = set()
    for seed in range(60):
        covariances = covariances_of(random_means(4, 2, seed), np.array([0.4, 0.6]))
        found = choose_view_groups(covariances, 2, [1] * 4)
        clearly = found.best_score > CLEARLY_BETTER * found.neighbouring_score
        assert found.groups == (found.best if clearly else found.neighbouring)
        stayed.add(found.groups == found.neighbouring)
    assert stayed == {True, False}


def test_choose_view_groups__views_that_see_different_components_are_put_together():
    # Views 0 to 2 tell component 0 from the others, views 3 to 5 component 2: each group needs one
    # of either kind, which neighbours do not give.
    random = np.random.default_rng(0)
    low, high = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), np.array([[1.0, 1.0, 0], [0, 0, 1]])
    means = [random.standard_normal((4, 2)) @ kind for kind in (low, low, low, high, high, high)]
    found = choose_view_groups(covariances_of(means, np.full(3, 1 / 3)), 3, [1] * 6)
    assert found.neighbouring == ((0, 1), (2, 3), (4, 5))
    assert found.neighbouring_score < 1e-8
    assert found.picked_score < 1e-8
    assert found.score > 0.01
    assert all(min(group) < 3 <= max(group) for group in found.groups)


def test_choose_view_groups__three_views_are_three_groups():
    covariances = covariances_of(random_means(3, 2, 1), np.array([0.4, 0.6]))
    found = choose_view_groups(covariances, 2, [1, 2, 1])
    assert found.groups == found.neighbouring == ((0,), (1,), (2,))
    assert {found.picked_score, found.neighbouring_score} == {found.score}
    assert found.trials == 1


def test_choose_view_groups__many_views_are_improved_and_every_view_is_used():
    covariances = covariances_of(random_means(12, 6, 3, size=3), np.full(6, 1 / 6))
    found = choose_view_groups(covariances, 6, [1] * 12)
    assert not found.exhaustive
    assert found.trials <= MOST_TRIALS
    assert found.best_score > 1.2 * found.neighbouring_score
    assert sorted(view for group in found.best for view in group) == list(range(12))
    assert found == choose_view_groups(covariances, 6, [1] * 12)


def test_choose_view_groups__picks_the_best_three_single_views():
    covariances = covariances_of(random_means(5, 2, 4), np.array([0.4, 0.6]))
    found = choose_view_groups(covariances, 2, [1] * 5)
    singles = {views: [(v,) for v in views] for views in combinations(range(5), 3)}
    best = max(plain_score(groups, covariances, 2) for groups in singles.values())
    assert found.picked_score == pytest.approx(best, rel=1e-6)
    assert plain_score(found.picked, covariances, 2) == pytest.approx(best, rel=1e-6)


def test_choose_view_groups__too_few_features_score_zero():
    covariances = covariances_of(random_means(3, 4, 5, size=3), np.full(4, 0.25))
    assert choose_view_groups(covariances, 4, [1] * 3).score == 0


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 1, 1], (0, 1, 2)),
        ([1] * 6, (0, 0, 1, 1, 2, 2)),
        ([1] * 4, (0, 1, 1, 2)),
        ([5, 1, 1, 1], (0, 1, 2, 2)),
        ([1, 1, 1, 5], (0, 0, 1, 2)),
    ],
)
def test_neighbouring_groups__balances_the_features(sizes, expected):
    groups = neighbouring_groups(sizes)
    assert [g for view in range(len(sizes)) for g in range(3) if view in groups[g]] == list(
        expected
    )


def test_choose_view_groups__bad_arguments_are_refused():
    covariances = covariances_of(random_means(4, 2, 6), np.array([0.4, 0.6]))
    with pytest.raises(ParameterError, match="n_components must be at least 1, got 0"):
        choose_view_groups(covariances, 0, [1] * 4)
    with pytest.raises(IdentifiabilityError, match="at least three views, got 2"):
        choose_view_groups(covariances, 2, [1, 1])
    del covariances[2, 1]
    with pytest.raises(ParameterError, match=r"of 4 views.*\[\(2, 1\)\] are missing"):
        choose_view_groups(covariances, 2, [1] * 4)
