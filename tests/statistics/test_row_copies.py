import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.statistics.row_copies import (
    distinct_rows,
    independent_rows,
    original_rows,
    random_order,
)


def test_distinct_rows__are_numbered_by_first_appearance():
    rows = np.array([[2.0, np.nan], [1.0, 0.0], [2.0, np.nan], [3.0, 0.0], [1.0, 0.0]])
    assert distinct_rows(rows).tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("digits", [1, 15])
def test_original_rows__of_rounded_and_of_exact_values_have_copies(digits):
    rows = default_rng(0).normal(size=(300, 4)).round(digits)
    order = default_rng(1).permutation(600)
    originals = original_rows(np.vstack([rows, rows])[order])
    same = (order[:, None] % 300) == (order % 300)
    np.testing.assert_array_equal(originals[:, None] == originals, same)
    assert originals[0] == 0


@pytest.mark.parametrize("copies", [2, 19, 21, 200])
def test_original_rows__have_any_number_of_copies(copies):
    originals = original_rows(np.tile(default_rng(0).normal(size=(20, 4)), (copies, 1)))
    assert originals.tolist() == [*range(20)] * copies


def test_distinct_rows__take_no_notice_of_signs_of_zero_and_of_nan():
    rows = np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, 0.0]])
    assert distinct_rows(rows).tolist() == [0, 0, 1]


@pytest.mark.parametrize("copies", [1, 3])
def test_original_rows__equal_categories_are_no_copies(copies):
    codes = np.tile(default_rng(0).integers(0, 3, size=(200, 4)), (copies, 1))
    assert len(np.unique(codes, axis=0)) < 81
    np.testing.assert_array_equal(original_rows(codes), np.arange(200 * copies))


def test_original_rows__many_rows_of_zeros_are_no_copies_of_one():
    rows = default_rng(0).gamma(2.0, size=(400, 3))
    rows[:40] = 0.0
    np.testing.assert_array_equal(original_rows(rows), np.arange(400))
    rows[100:120] = rows[200:220]
    originals = original_rows(rows)
    np.testing.assert_array_equal(originals[100:120], originals[200:220])
    assert originals.max() + 1 == 380
    assert len(set(originals[:40])) == 40


def test_random_order__holds_every_original_row_once():
    originals = original_rows(np.repeat(default_rng(0).normal(size=(50, 2)), 3, axis=0))
    order = random_order(originals, 4)
    assert sorted(order) == list(range(50))
    assert order.tolist() == default_rng(4).permutation(50).tolist()


def test_independent_rows__are_those_of_a_mean_of_the_same_variance():
    ones = np.ones(21)
    assert independent_rows(np.arange(21), ones) == pytest.approx(21)
    assert independent_rows(np.arange(21), 1e-200 * ones) == pytest.approx(21)
    assert independent_rows(np.repeat(np.arange(7), 3), ones) == pytest.approx(7)
    rng = np.random.default_rng(0)
    originals = np.repeat(np.arange(40), rng.integers(1, 5, size=40))
    weight = rng.uniform(0, 2, len(originals))
    drawn = rng.normal(size=(20_000, 40))[:, originals]
    means = np.average(drawn, axis=1, weights=weight)
    assert independent_rows(originals, weight) == pytest.approx(1 / means.var(), rel=0.05)
