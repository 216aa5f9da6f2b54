import numpy as np
import pytest
from sklearn.cluster import KMeans

from bigtensor.errors import DataError, ParameterError
from bigtensor.features.clustering import kmeans


def clouds(d, rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    parts = [
        rng.normal(rng.normal(0, 4, d), rng.uniform(0.5, 1.5), (rows // 3, d)) for _ in range(3)
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize("k", [3, 40])
@pytest.mark.quick_cases("3-1", "3-2", "3-10", "40-1")
def test_kmeans__is_as_good_as_scikit_learn(d, k):
    x = clouds(d)
    ours = kmeans(x, k, 0)
    theirs = KMeans(k, n_init=10, random_state=0).fit(x)
    assert ours.inertia <= 1.02 * theirs.inertia_
    distances = ((x[:, None] - ours.centres) ** 2).sum(2)
    np.testing.assert_allclose(distances.min(1).sum(), ours.inertia, rtol=1e-6)
    chosen = distances[np.arange(len(x)), ours.labels]
    np.testing.assert_allclose(chosen, distances.min(1), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("d", [1, 3])
def test_kmeans__is_a_function_of_its_arguments(d):
    x = clouds(d)
    before = x.copy()
    first, again, other = kmeans(x, 20, 5), kmeans(x, 20, 5), kmeans(x, 20, 6)
    np.testing.assert_array_equal(first.centres, again.centres)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.centres, other.centres)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("d", [1, 2])
def test_kmeans__centres_are_weighted_means_of_their_rows(d):
    x = clouds(d)
    weight = np.random.default_rng(1).uniform(0, 3, len(x))
    weight[:100] = 0
    result = kmeans(x, 3, 0, weight=weight)
    for h in range(3):
        own = result.labels == h
        mean = np.average(x[own], axis=0, weights=weight[own])
        np.testing.assert_allclose(result.centres[h], mean, atol=0.02)
    squares = ((x - result.centres[result.labels]) ** 2).sum(1)
    np.testing.assert_allclose(result.inertia, weight @ squares, rtol=1e-9)
    assert (np.diff(result.centres[:, 0]) >= 0).all()


@pytest.mark.parametrize("d", [1, 2])
def test_kmeans__separates_what_is_far_from_zero(d):
    x = clouds(d, seed=2)
    far, near = kmeans(x + 1e6, 3, 0), kmeans(x, 3, 0)
    np.testing.assert_array_equal(far.labels, near.labels)


@pytest.mark.parametrize("d", [1, 2])
def test_kmeans__with_as_many_clusters_as_distinct_rows_has_no_inertia(d):
    x = np.repeat(np.arange(6.0)[:, None] * np.ones(d), 3, axis=0)
    result = kmeans(x, 6, 0)
    assert result.inertia < 1e-9
    np.testing.assert_allclose(result.centres, x[::3], atol=1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_kmeans__with_fewer_distinct_rows_than_clusters_ends(d):
    x = np.repeat(np.array([[0.0], [1.0]]) * np.ones(d), 10, axis=0)
    result = kmeans(x, 5, 0)
    assert result.inertia < 1e-12
    assert set(result.centres[:, 0]) == {0.0, 1.0}


def test_kmeans__refuses_fewer_rows_than_clusters():
    with pytest.raises(DataError, match=r"2 rows .* into 3 clusters"):
        kmeans(np.zeros((4, 1)), 3, 0, weight=np.array([1, 1, 0, 0]))
    with pytest.raises(DataError, match="finite"):
        kmeans(np.full((4, 1), np.nan), 2, 0)
    with pytest.raises(ParameterError, match="at least one cluster"):
        kmeans(np.zeros((4, 1)), 0, 0)
