from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import ParameterError


def tree(heights=(0.5, 0.3, 0.2, 0.01), criterion="misclassification"):
    """Return five components: 1 and 3, then 0 and 4, then these two pairs, then component 2."""
    weights = [0.1, 0.2, 0.4, 0.2, 0.1]
    return MergeTree([[1, 3], [0, 4], [5, 6], [2, 7]], heights, weights, criterion)


@pytest.mark.parametrize(
    ("n_populations", "labels"),
    [
        (1, [0, 0, 0, 0, 0]),
        (2, [0, 0, 1, 0, 0]),
        # 1 and 3 weigh as much as 2, and have the first component
        (3, [2, 0, 1, 0, 2]),
        (4, [2, 0, 1, 0, 3]),
        (5, [3, 1, 0, 2, 4]),
    ],
)
def test_cut__numbers_populations_by_descending_weight(n_populations, labels):
    found = tree().cut(n_populations)
    np.testing.assert_array_equal(found, labels)
    assert found.dtype == np.int64


@pytest.mark.parametrize("n_populations", [0, 6])
def test_cut__refuses_numbers_out_of_range(n_populations):
    with pytest.raises(ParameterError, match=f"1 and the 5 components, got {n_populations}"):
        tree().cut(n_populations)


def test_count_above__stops_when_the_criterion_first_falls_below():
    assert [tree().count_above(t) for t in (0.6, 0.5, 0.25, 0.1, 0.001)] == [5, 4, 3, 2, 1]
    rises = tree(heights=(0.5, 0.1, 0.4, 0.01))
    assert rises.count_above(0.2) == 4
    assert tree(heights=(0.5, 0.3, 0.025, 0.0249)).cut_automatically() == 2


def test_count_at_bend__finds_where_two_lines_meet():
    for true in (2, 5, 17):
        k = 25
        # the last merges, those down to one population, lose hardly anything
        heights = np.where(np.arange(k, 1, -1) > true, 0.03, 0.001)
        chain = np.column_stack([np.r_[0, np.arange(k, 2 * k - 2)], np.arange(1, k)])
        chain = MergeTree(np.sort(chain, axis=1), heights, np.full(k, 1 / k), "quadratic_entropy")
        assert chain.count_at_bend() == true
        assert chain.cut_automatically() == true


def test_count_at_bend__is_the_least_squares_fit_of_two_pieces():
    random = np.random.default_rng(0)
    for _ in range(20):
        found = tree(np.sort(random.uniform(size=4))[::-1], "quadratic_entropy")
        entropy = np.r_[0, np.cumsum(found.heights[::-1])]
        number = np.arange(1, 6)
        errors = []
        for bend in (2, 3, 4):
            pieces = [number <= bend, number >= bend]
            fits = [np.polyfit(number[p], entropy[p], 1) for p in pieces]
            errors.append(
                sum(
                    np.sum((np.polyval(fit, number[p]) - entropy[p]) ** 2)
                    for fit, p in zip(fits, pieces, strict=True)
                )
            )
        assert found.count_at_bend() == 2 + np.argmin(errors)


def test_count_at_bend__few_components_stay():
    assert MergeTree(np.empty((0, 2)), [], [1.0], "quadratic_entropy").count_at_bend() == 1
    assert MergeTree([[0, 1]], [0.3], [0.5, 0.5], "quadratic_entropy").count_at_bend() == 2


def test_linkage__is_one_for_scipy():
    linkage = tree(heights=(0.5, 0.1, 0.4, 0.01)).linkage()
    assert is_valid_linkage(linkage)
    np.testing.assert_allclose(linkage[:, 2], [0.5, 0.9, 0.9, 0.99])
    np.testing.assert_array_equal(linkage[:, 3], [2, 2, 4, 5])
    assert sorted(dendrogram(linkage, no_plot=True)["leaves"]) == [0, 1, 2, 3, 4]
    labels = fcluster(tree().linkage(), 3, "maxclust")
    assert len({*zip(labels, tree().cut(3), strict=True)}) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [0.5, 0.5]}, r"weights \(2,\) do not belong together"),
        ({"heights": [0.1]}, r"heights \(1,\)"),
        ({"weights": []}, "at least one component"),
        ({"merges": [[1, 3], [0, 4], [5, 1], [2, 7]]}, "exactly once"),
        ({"merges": [[1, 7], [0, 4], [5, 6], [2, 3]]}, "exactly once"),
    ],
)
def test_merge_tree__refuses_what_is_not_a_tree(change, message):
    with pytest.raises(ParameterError, match=message):
        MergeTree(**{**vars(tree()), **change})


@pytest.mark.parametrize("divided", [[0], [3], [1, 3], [0, 1, 2, 3, 4]])
def test_divided__keeps_the_cuts_and_adds_the_second_parts(divided):
    shares = np.full(len(divided), 0.25)
    larger = replace(tree(), automatic_count=3).divided(np.array(divided), shares)
    assert larger.weights.sum() == pytest.approx(1)
    assert larger.automatic_count == 4
    for count in range(1, 6):
        labels = larger.cut(count + 1)
        second = labels[5:]
        assert np.all(second == second[0])
        assert not np.any(labels[:5] == second[0])
        before = tree().cut(count)
        assert len({*zip(before, labels[:5], strict=True)}) == count


def test_divided__of_one_component():
    one = MergeTree(np.empty((0, 2)), [], [1.0], "separation").divided(
        np.array([0]), np.array([0.2])
    )
    np.testing.assert_allclose(one.weights, [0.8, 0.2])
    np.testing.assert_array_equal(one.cut(2), [0, 1])


def test_reordered__cuts_the_same_components():
    order = np.array([3, 0, 4, 1, 2])
    for count in range(1, 6):
        np.testing.assert_array_equal(
            tree().reordered(order).cut(count)[[1, 3, 4, 0, 2]] == 0, tree().cut(count) == 0
        )
