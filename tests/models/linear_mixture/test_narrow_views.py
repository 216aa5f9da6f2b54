"""Views of few features, whose third moment alone may mislead: clusters and labels decide."""

import warnings

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.metrics import adjusted_rand_score

from bigtensor import LinearMixture
from bigtensor.errors import ConditioningWarning, ViewError
from bigtensor.models.gaussian.fitted_components import GaussianComponents
from bigtensor.models.linear_mixture.labels import (
    empty_components,
    labels_elsewhere,
    matched_to_labels,
)
from bigtensor.statistics.gaussian.label_means import LabelMeansResult

K, ROWS = 4, 5000
NAMES = ("a", "b", "c")


def drawn(widths, seed):
    rng = default_rng(seed)
    label = rng.integers(K, size=ROWS)
    views = [
        (3 * rng.normal(size=(K, width)))[label] + rng.normal(size=(ROWS, width))
        for width in widths
    ]
    return views, label


@pytest.mark.parametrize("seed", [0, 7, 11])
@pytest.mark.quick_cases("0")
def test_labels__of_one_row_a_class_are_the_labels_of_the_others(seed):
    rng = default_rng(seed)
    label = rng.integers(K, size=ROWS)
    views = {
        f"v{view}": (3 * rng.normal(size=(K, width)))[label] + rng.normal(size=(ROWS, width))
        for view, width in enumerate((1, 3, 3))
    }
    labels = np.full(ROWS, -1)
    first = np.unique(label, return_index=True)[1]
    labels[first] = label[first]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConditioningWarning)
        model = LinearMixture(K, random_state=0).fit(views, labels)
    assert (np.asarray(model.predict(views)) == label).mean() > 0.95


def test_terms__that_leave_no_noise_are_no_better_than_clusters():
    views, label = drawn((1, 3, 3), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConditioningWarning)
        model = LinearMixture(K, random_state=0).fit(views)
    assert adjusted_rand_score(label, model.predict(views)) > 0.9


def components(weights, means):
    views = (("one", ("x",)), ("two", ("y",)), ("three", ("z",)))
    return GaussianComponents(np.array(weights), means, np.eye(3), views, "float64", NAMES)


MEANS = 6.0 * np.eye(3)


def test_matching__puts_components_in_the_order_of_their_labels():
    label_means = LabelMeansResult(np.ones(3), MEANS + 0.1)
    mixed = components([0.5, 0.3, 0.2], MEANS[[2, 0, 1]])
    matched = matched_to_labels(mixed, label_means, NAMES)
    np.testing.assert_array_equal(matched.means, MEANS)
    np.testing.assert_array_equal(matched.weights, [0.3, 0.2, 0.5])
    fewer = components([0.5, 0.5], MEANS[[2, 0]])
    assert matched_to_labels(fewer, label_means, NAMES).names == ("a", "c")


def test_labels__whose_rows_are_elsewhere_or_that_have_no_rows_are_told():
    label_means = LabelMeansResult(np.ones(3), MEANS)
    right = components([0.4, 0.3, 0.3], MEANS)
    assert labels_elsewhere(right, label_means, NAMES) == []
    assert empty_components(right, 1000) == []
    exchanged = components([0.4, 0.3, 0.3], MEANS[[0, 2, 1]])
    (sentence,) = labels_elsewhere(exchanged, label_means, NAMES)
    assert "'b', 'c'" in sentence
    (sentence,) = empty_components(components([0.4, 0.5999, 0.0001], MEANS), 1000)
    assert "'c'" in sentence


def test_labels__that_contradict_the_rows_are_warned_of():
    views, label = drawn((3, 3, 3), 1)
    labels = np.full(ROWS, -1)
    for h in range(K):
        labels[np.flatnonzero(label == h)[:20]] = h
    # nine of ten rows of the last label are rows of the first
    labels[np.flatnonzero(label == K - 1)[:20]] = -1
    labels[np.flatnonzero(label == 0)[20:38]] = K - 1
    labels[np.flatnonzero(label == K - 1)[:2]] = K - 1
    with pytest.warns(ConditioningWarning, match=r"rows of 3\b"):
        LinearMixture(K, random_state=0).fit(views, labels)


def test_dependent_features__of_a_view_are_named():
    rng = default_rng(0)
    label = rng.integers(3, size=2000)
    views = {
        view: (2 * rng.normal(size=(3, 3)))[label] + rng.normal(size=(2000, 3)) for view in "abc"
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConditioningWarning)
        LinearMixture(3, random_state=0).fit(views)
    views["b"] = np.c_[views["b"], views["b"][:, 0] - views["b"][:, 2]]
    with pytest.warns(ConditioningWarning, match=r"'x3', 'x5', 'x6' of .* 'b' depend linearly"):
        LinearMixture(3, random_state=0).fit(views)


@pytest.mark.parametrize(
    ("features", "example"), [(2, "four features"), (5, "x4"), (9, "first four")]
)
def test_example_of_views__is_of_the_features(features, example):
    rows = default_rng(0).normal(size=(50, features))
    with pytest.raises(ViewError, match=example):
        LinearMixture(2).fit(rows)
