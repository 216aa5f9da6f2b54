import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_array_equal

from bigtensor.statistics.outlier_rule import far_values, most_outliers, reach_of_ordinary_rows

ALL = ((0, 3),)


@pytest.mark.parametrize(
    ("rows", "most"), [(5, 0), (10, 1), (40, 4), (100, 5), (600, 5), (5_000, 25), (100_000, 500)]
)
def test_most_outliers__are_few_rows_or_a_small_share(rows, most):
    assert most_outliers(rows) == most


@pytest.mark.parametrize("rows", [10, 20, 60, 100, 600, 5_000])
@pytest.mark.parametrize("far", [30.0, 1e6, -1e30])
@pytest.mark.parametrize("seed", range(4))
def test_outliers__are_found_at_any_number_of_rows(rows, far, seed):
    values = default_rng(seed).laplace(size=(rows, 3)) * [1.0, 1e-3, 1e3]
    # ten times as far as all other values, at least
    values[rows // 2, 1] = far * np.abs(values[:, 1]).max()
    expected = np.arange(rows) != rows // 2
    np.testing.assert_array_equal(reach_of_ordinary_rows(values, ALL).holds(values), expected)


def test_several_outliers__do_not_hide_each_other():
    values = default_rng(0).normal(size=(600, 3))
    values[:5] = default_rng(1).normal(size=(5, 3)) * 1e6
    assert reach_of_ordinary_rows(values, ALL).holds(values).sum() == 595


@pytest.mark.parametrize("draw", ["normal", "laplace", "exponential", "logistic"])
@pytest.mark.parametrize("rows", [12, 30, 100, 600, 5_000])
def test_ordinary_rows__are_not_taken_for_outliers(draw, rows):
    kept = [
        reach_of_ordinary_rows(values, ALL).holds(values).all()
        for values in (getattr(default_rng(seed), draw)(size=(rows, 3)) for seed in range(20))
    ]
    assert all(kept)


def test_a_population__is_not_outlying_however_far_it_is():
    values = default_rng(0).normal(size=(5_000, 3))
    values[:30] += 1e4
    assert reach_of_ordinary_rows(values, ALL).holds(values).all()


def test_a_rare_event__is_not_outlying_where_all_other_values_are_equal():
    values = np.zeros((5_000, 3))
    values[::50, 0] = default_rng(4).standard_normal(100)
    values[17, 1] = 1.0
    assert reach_of_ordinary_rows(values, ALL).holds(values).all()


def test_missing_values_and_codes__are_at_the_middle():
    values = default_rng(0).normal(size=(300, 3))
    values[5, 0] = np.nan
    values[:, 2] = 0
    values[::20, 2] = 1e6
    values[7, 1] = 1e6
    values[7, 0] = np.nan
    held = reach_of_ordinary_rows(values, ALL, ignored=(2,)).holds(values)
    assert np.flatnonzero(~held).tolist() == [7]


@pytest.mark.parametrize("features", [1, 50, 800])
def test_many_features__add_up_and_leave_ordinary_rows_in(features):
    values = default_rng(0).normal(size=(400, features))
    assert reach_of_ordinary_rows(values, ((0, features),)).holds(values).all()
    values[3] = 1e3
    held = reach_of_ordinary_rows(values, ((0, features),)).holds(values)
    assert np.flatnonzero(~held).tolist() == [3]


def test_reach__does_not_depend_on_units_or_order_of_features():
    values = default_rng(0).standard_cauchy(size=(2_000, 3))
    held = reach_of_ordinary_rows(values, ALL).holds(values)
    assert 0 < (~held).sum() <= 30
    moved = values[:, ::-1] * [1e-6, 1.0, 1e6] + 3
    np.testing.assert_array_equal(reach_of_ordinary_rows(moved, ALL).holds(moved), held)


def test_counts__are_repeated_rows():
    rng = np.random.default_rng(4)
    values, counts = rng.normal(size=(601, 3)), rng.integers(1, 4, 601)
    values[0, 0], values[3, 1] = 1e6, np.nan
    weighted = reach_of_ordinary_rows(values, ((0, 3),), weight=counts.astype(float))
    repeated = reach_of_ordinary_rows(np.repeat(values, counts, axis=0), ((0, 3),))
    assert_array_equal(weighted.points[0], repeated.points[0])
    assert_array_equal(weighted.scales[0], repeated.scales[0])
    assert weighted.distances == repeated.distances


def with_tail(share, rows=2000, features=3, seed=0):
    """Normal rows, of which some have a far value in the first feature."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, features))
    far = random.uniform(size=rows) < share
    values[far, 0] -= 20 + random.exponential(30, far.sum())
    return values, far


@pytest.mark.parametrize("share", [0.004, 0.008])
def test_far_values__are_those_of_a_tail(share):
    values, far = with_tail(share)
    found = far_values(values)
    assert_array_equal(found[:, 0], far)
    assert not found[:, 1:].any()


def test_far_values__are_none_of_a_larger_tail():
    values, _ = with_tail(0.03)
    assert not (far_values(values)[:, 0] & (values[:, 0] > -100)).any()


def test_far_values__do_not_depend_on_the_unit_or_order_of_features():
    values, far = with_tail(0.005, features=4)
    order = np.array([2, 0, 3, 1])
    for factor in (1.0, 1e-6, 3.7):
        assert_array_equal(far_values(factor * values[:, order] + 1)[:, 1], far)


@pytest.mark.parametrize("unit", [1.0, 3.0, 0.1])
def test_far_values__weights_are_repeated_rows(unit):
    values, _ = with_tail(0.004)
    counts = np.random.default_rng(1).integers(1, 4, len(values))
    repeated = far_values(np.repeat(values, counts, axis=0))
    assert_array_equal(
        np.repeat(far_values(values, weight=unit * counts), counts, axis=0), repeated
    )


def test_far_values__are_none_of_codes_and_of_features_with_one_value():
    values = np.zeros((1000, 2))
    values[:5] = 1000
    values[:, 1] = np.arange(1000) % 3
    values[0, 1] = 1e6
    assert not far_values(values, ignored=(1,)).any()
    assert np.flatnonzero(far_values(values[:, 1:])).tolist() == [0]


def test_far_values__of_very_few_rows_stay():
    values = np.random.default_rng(0).normal(size=(50_000, 2))
    values[:49, 0], values[:51, 1] = 100, 100
    found = far_values(values)
    assert not found[:, 0].any()
    assert np.flatnonzero(found[:, 1]).tolist() == list(range(51))


def test_far_values__are_none_of_a_rare_event_no_farther_than_other_features():
    random = np.random.default_rng(0)
    values = random.normal(size=(5000, 5)) * 3
    values[:, 0] = np.where(random.uniform(size=5000) < 0.005, 8, random.uniform(0, 0.2, 5000))
    assert not far_values(values).any()
