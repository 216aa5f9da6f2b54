"""Calibration and annotation against counts by hand."""

import numpy as np
import pytest

from tests.benchmarks.annotation import annotate_by_majority
from tests.benchmarks.calibration import Reliability, curve_rows


def test_annotate_by_majority__counts_by_hand():
    labels = np.array([0, 0, 0, 2, 2, 3])
    classes = np.array([1, 1, 0, 0, 0, 1])
    # population 1 has no rows, and so no class
    expected = [[0, 1], [0, 0], [1, 0], [0, 1]]
    np.testing.assert_array_equal(annotate_by_majority(labels, classes, 4), expected)


def test_reliability__counts_by_hand():
    probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.35, 0.65], [0.0, 1.0]])
    classes = np.array([0, 1, 1, 0, 1])
    found = Reliability.of_classes(probabilities, classes, bins=4)
    # .6 and .65 lie between .5 and .75, one of two is right; .9, .8 and 1 lie above, two are right
    np.testing.assert_array_equal(found.rows, [0, 0, 2, 3])
    np.testing.assert_allclose(found.confidence, [0, 0, 1.25, 2.7])
    np.testing.assert_array_equal(found.right, [0, 0, 1, 2])
    assert found.error == pytest.approx((2 / 5) * (0.625 - 0.5) + (3 / 5) * (0.9 - 2 / 3))
    assert found.mean_confidence == pytest.approx(3.95 / 5)
    assert found.share_right == pytest.approx(3 / 5)


def test_reliability__has_fifteen_bins_and_takes_rounded_probabilities():
    rounded = np.array([[1 + 1e-7], [1.0], [0.0]])
    found = Reliability.of_classes(rounded, np.zeros(3, int))
    np.testing.assert_array_equal(found.rows, [1] + 13 * [0] + [2])


def test_reliability__adds_populations_of_one_class():
    # populations 0 and 1 are of class 0: their rows are certain of the class, not of themselves
    probabilities = np.array([[0.5, 0.4, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    found = Reliability.of_populations(probabilities, np.array([0, 0, 1]), bins=10)
    np.testing.assert_array_equal(found.rows[8:], [1, 2])
    assert found.error == pytest.approx((1 - 0.8) / 3 + (2 - 1.8) / 3)


def test_reliability__of_two_samples_is_that_of_all_rows():
    rng = np.random.default_rng(3)
    probabilities, classes = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    whole = Reliability.of_classes(probabilities, classes)
    parts = Reliability.of_classes(probabilities[:25], classes[:25]) + Reliability.of_classes(
        probabilities[25:], classes[25:]
    )
    np.testing.assert_array_equal(parts.rows, whole.rows)
    assert parts.error == pytest.approx(whole.error)


def test_curve_rows__are_the_bins_of_every_method():
    curve = Reliability.of_classes(np.array([[0.75, 0.25], [1.0, 0.0]]), np.array([0, 1]), bins=2)
    other = Reliability.of_classes(np.array([[0.4, 0.3, 0.3]]), np.array([0]), bins=2)
    low, high = curve_rows({"one": other, "two": curve})
    assert (low["from"], low["to"], low["one: rows"], low["two: confidence"]) == (0, 0.5, 1, None)
    assert (high["two: confidence"], high["two: share right"], high["two: rows"]) == (0.875, 0.5, 2)
    assert [row["from"] for row in curve_rows({"two": curve})] == [0.5]
