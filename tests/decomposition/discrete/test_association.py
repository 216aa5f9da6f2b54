"""Test of independence of columns of codes, compared with SciPy and with permutations."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from bigtensor.decomposition.discrete.association import independence_p_value


def _table(left, right):
    table = np.zeros((left.max() + 1, right.max() + 1))
    np.add.at(table, (left, right), 1)
    return table[table.any(axis=1)][:, table.any(axis=0)]


def test_two_columns_of_full_tables__have_the_p_value_of_pearson():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(1000, 2))
    codes[:80, 1] = codes[:80, 0]
    reference = chi2_contingency(_table(*codes.T), correction=False).pvalue
    assert 1e-3 < reference < 0.1
    # the pair is tested as the strongest one, and in the sum
    assert independence_p_value(codes, np.ones(1000)) == pytest.approx(2 * reference, rel=0.05)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.quick_cases("2")
def test_sparse_tables__have_the_p_value_of_permutations(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, 15, size=30), rng.integers(0, 10, size=30)
    right[:6] = left[:6] % 10

    def statistic(left, right):
        return chi2_contingency(_table(left, right), correction=False).statistic

    permuted = [statistic(left, rng.permutation(right)) for _ in range(2000)]
    reference = np.mean(np.array(permuted) >= statistic(left, right) - 1e-9)
    p_value = independence_p_value(np.stack([left, right], axis=1), np.ones(30))
    assert p_value == pytest.approx(min(1, 2 * reference), abs=0.05)


def test_one_pair_among_many_independent_columns__is_found():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, size=(400, 40))
    assert independence_p_value(codes, np.ones(400)) > 0.05
    codes[:120, 7] = codes[:120, 31]
    assert independence_p_value(codes, np.ones(400)) < 1e-3


def test_weights__are_repeated_rows_in_any_order_of_columns():
    rng = np.random.default_rng(2)
    codes, weight = rng.integers(-1, 4, size=(60, 5)), rng.integers(1, 4, size=60)
    expected = independence_p_value(np.repeat(codes, weight, axis=0), np.ones(weight.sum()))
    order = [3, 0, 4, 1, 2]
    assert independence_p_value(codes[:, order], 1.0 * weight) == pytest.approx(expected)


def test_missing_codes__belong_to_no_pair():
    codes = np.random.default_rng(3).integers(0, 3, size=(100, 2))
    holed = np.vstack([codes, [[-1, 0], [2, -1]]])
    expected = independence_p_value(codes, np.ones(100))
    assert independence_p_value(holed, np.ones(102)) == pytest.approx(expected)


def test_constant_columns__have_no_p_value():
    assert independence_p_value(np.zeros((10, 3), int), np.ones(10)) is None


def test_too_many_categories__are_not_counted():
    codes = np.arange(1200)[:, None] % np.array([600, 599])
    assert independence_p_value(codes, np.ones(1200)) is None
