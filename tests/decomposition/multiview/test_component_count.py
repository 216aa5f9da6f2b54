import numpy as np
import pytest

from bigtensor.decomposition.multiview.component_count import count_components, permuted_null_count
from bigtensor.errors import DataError, ParameterError


def one_hot_views(n_components, rows, seed, categories=12, views=3):
    """Indicators of categorical views that are independent given the component."""
    random = np.random.default_rng(seed)
    label = random.integers(n_components, size=rows)
    features = []
    for _ in range(views):
        table = random.dirichlet(np.full(categories, 0.3), n_components)
        edges = np.cumsum(table, axis=1)[label]
        category = (random.random((rows, 1)) > edges[:, :-1]).sum(axis=1)
        features.append(np.eye(categories)[category])
    return features


@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_permuted_null_count__is_the_number_of_components(n_components):
    for seed in range(5):
        random = np.random.default_rng(seed)
        label = random.integers(n_components, size=2000)
        # A category of its own for every component, which seven rows in ten are in.
        first, second = (
            np.eye(8)[np.where(random.random(2000) < 0.7, label, random.integers(8, size=2000))]
            for _ in range(2)
        )
        assert permuted_null_count(first, second, random_state=seed).count == n_components


def test_permuted_null_count__first_null_is_that_of_permuted_rows():
    first, second, _ = one_hot_views(3, 500, 1)
    found = permuted_null_count(first, second, permutations=3, random_state=7)
    random = np.random.default_rng(7)
    largest = 0.0
    for _ in range(3):
        permuted = second[random.permutation(500)]
        centred = first.T @ permuted / 500 - np.outer(first.mean(0), permuted.mean(0))
        largest = max(largest, float(np.linalg.svd(centred)[1][0]))
    assert found.null[0] == pytest.approx(largest, rel=1e-10)
    plain = first.T @ second / 500 - np.outer(first.mean(0), second.mean(0))
    np.testing.assert_allclose(found.singular_values, np.linalg.svd(plain)[1], atol=1e-12)


def test_permuted_null_count__null_leaves_out_the_directions_found_before():
    first, second, _ = one_hot_views(3, 500, 2)
    found = permuted_null_count(first, second, permutations=1, random_state=3)
    permuted = second[np.random.default_rng(3).permutation(500)]
    noise = first.T @ permuted / 500 - np.outer(first.mean(0), permuted.mean(0))
    plain = first.T @ second / 500 - np.outer(first.mean(0), second.mean(0))
    left, _, right = np.linalg.svd(plain)
    for j in (1, 2, 4):
        rest = left[:, j:].T @ noise @ right[j:].T
        assert found.null[j] == pytest.approx(np.linalg.norm(rest, 2), rel=1e-8)
    assert (np.diff(found.null) <= 1e-15).all()


def test_permuted_null_count__weak_components_stand_out_behind_strong_ones():
    random = np.random.default_rng(0)
    # One direction of large variance and dependence, and one of small variance.
    scale = np.array([30.0, 1.0, 1.0])
    shared = random.standard_normal((1000, 3)) * [1, 1, 0]
    first, second = (scale * (shared + random.standard_normal((1000, 3))) for _ in range(2))
    found = permuted_null_count(first, second)
    assert found.singular_values[1] < found.ratio * found.null[0]
    assert found.count == 3


def test_permuted_null_count__categories_that_run_out_are_not_counted():
    first, second, _ = one_hot_views(2, 3000, 4, categories=2)
    # Indicators of two categories have one direction when centred; the other is rounding.
    assert permuted_null_count(first, second).count == 2
    constant = np.ones((3000, 2))
    assert permuted_null_count(constant, second).count == 1


def test_permuted_null_count__most_is_a_bound():
    first, second, _ = one_hot_views(5, 5000, 0)
    assert permuted_null_count(first, second, most=3).count == 3
    assert permuted_null_count(first, second, most=1).count == 1


def test_permuted_null_count__is_a_function_of_the_seed():
    first, second, _ = one_hot_views(3, 300, 0)
    one, same, other = (
        permuted_null_count(first, second, random_state=seed).null for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_permuted_null_count__copies_of_rows_are_not_counted_twice():
    first, second, _ = one_hot_views(2, 200, 3)
    found = permuted_null_count(first, second, random_state=1)
    originals = np.random.default_rng(0).permutation(np.tile(np.arange(200), 4))
    of_copies = permuted_null_count(
        first[originals], second[originals], random_state=1, originals=originals
    )
    np.testing.assert_allclose(of_copies.singular_values, found.singular_values, atol=1e-12)
    assert of_copies.null[0] == pytest.approx(found.null[0], rel=0.2)
    apart = permuted_null_count(first[originals], second[originals], random_state=1)
    assert apart.null[0] < 0.7 * found.null[0]


def test_count_components__takes_the_group_that_shows_most():
    random = np.random.default_rng(5)
    label = random.integers(4, size=5000)
    # The first view merges two components.
    views = [np.eye(4)[np.where(label == 3, 2, label)], np.eye(4)[label], np.eye(4)[label]]
    found = count_components(views)
    assert [one.count for one in found.by_group] == [3, 4, 4]
    assert found.count == 4


def test_count_components__bad_arguments_are_refused():
    first, second, _ = one_hot_views(2, 50, 0)
    with pytest.raises(ParameterError, match="at least two groups of views, got 1"):
        count_components([first])
    with pytest.raises(ParameterError, match="groups of 50, 49 rows"):
        count_components([first, second[:-1]])
    with pytest.raises(ParameterError, match=r"got shapes \(50, 12\) and \(49, 12\)"):
        permuted_null_count(first, second[:-1])
    with pytest.raises(ParameterError, match=r"at least 1, got 0.5, 5 and 20"):
        permuted_null_count(first, second, ratio=0.5)
    with pytest.raises(DataError, match="at least two rows"):
        permuted_null_count(first[:1], second[:1])
    first[3, 3] = np.nan
    with pytest.raises(DataError, match="missing or infinite"):
        permuted_null_count(first, second)
