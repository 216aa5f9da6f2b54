"""Matching of clusters with populations, against a count by hand and all permutations."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from tests.benchmarks.matching import match_clusters


def test_match_clusters__counts_by_hand():
    populations = np.array([0, 0, 0, 1, 1, 2, -1, -1])
    clusters = np.array([5, 5, 7, 7, 7, 5, 5, 2])
    match = match_clusters(clusters, populations)
    # cluster 5 holds two of three and one stranger, cluster 7 both and one stranger
    np.testing.assert_allclose(match.f1, [2 * 2 / 6, 2 * 2 / 5, 0.0])
    np.testing.assert_array_equal(match.cluster[:2], [5, 7])
    np.testing.assert_array_equal(match.sizes, [3, 2, 1])
    assert match.accuracy == pytest.approx(4 / 6)
    assert match.mean_f1 == pytest.approx((2 / 3 + 4 / 5) / 3)
    assert match.weighted_f1 == pytest.approx((3 * 2 / 3 + 2 * 4 / 5) / 6)


def test_match_clusters__is_the_best_of_all_permutations():
    rng = np.random.default_rng(2)
    populations = rng.integers(0, 4, 500)
    clusters = np.where(rng.random(500) < 0.6, (populations + 1) % 4, rng.integers(0, 4, 500))
    best = max(
        f1_score(populations, np.array(order)[clusters], average="macro")
        for order in permutations(range(4))
    )
    assert match_clusters(clusters, populations).mean_f1 == pytest.approx(best, abs=1e-12)


def test_match_clusters__leaves_cells_without_a_cluster_unmatched():
    match = match_clusters(np.array([-1, -1, -1, 0]), np.array([0, 0, 0, 1]))
    np.testing.assert_allclose(match.f1, [0.0, 1.0])
    assert match.accuracy == pytest.approx(0.25)


def test_match_clusters__leaves_out_populations_without_cells():
    match = match_clusters(np.array([0, 0, 1]), np.array([0, 0, 2]))
    np.testing.assert_array_equal(match.sizes, [2, 0, 1])
    assert match.mean_f1 == pytest.approx(1.0)
