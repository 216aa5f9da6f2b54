import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal

from bigtensor.statistics.outlier_rule import clip_far_values, most_outliers, reach_of_ordinary_rows

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
def test_clip_far_values__moves_a_tail_and_nothing_else(share):
    values, far = with_tail(share)
    drawn = clip_far_values(values)
    assert_array_equal(drawn[~far], values[~far])
    assert_array_equal(drawn[:, 1:], values[:, 1:])
    low, high = np.quantile(values[:, 0], [0.01, 0.99], method="inverted_cdf")
    assert_allclose(drawn[far, 0], low - (high - low), rtol=0.02)


def test_clip_far_values__keeps_a_larger_tail():
    values, _ = with_tail(0.03)
    assert_array_equal(clip_far_values(values)[:, 0] > -25, values[:, 0] > -25)


def test_clip_far_values__does_not_depend_on_units_or_order_of_features():
    values, _ = with_tail(0.005, features=4)
    units, order = np.array([1.0, 1e6, 1e-3, 7.0]), np.array([2, 0, 3, 1])
    assert_allclose(clip_far_values(values * units), clip_far_values(values) * units, rtol=1e-12)
    for one_unit in (False, True):
        drawn = clip_far_values(values, one_unit=one_unit)
        assert_array_equal(clip_far_values(values[:, order], one_unit=one_unit), drawn[:, order])


@pytest.mark.parametrize("unit", [1.0, 3.0, 0.1])
def test_clip_far_values__weights_are_repeated_rows(unit):
    values, _ = with_tail(0.004)
    counts = np.random.default_rng(1).integers(1, 4, len(values))
    repeated = clip_far_values(np.repeat(values, counts, axis=0))
    assert_array_equal(
        np.repeat(clip_far_values(values, weight=unit * counts), counts, axis=0), repeated
    )


def test_clip_far_values__leaves_codes_and_features_with_one_value():
    values = np.zeros((1000, 2))
    values[:5] = 1000
    values[:, 1] = np.arange(1000) % 3
    values[0, 1] = 1e6
    assert_array_equal(clip_far_values(values, ignored=(1,)), values)
    assert_array_equal(clip_far_values(values[:, 1:])[1:], values[1:, 1:])
    assert clip_far_values(values[:, 1:])[0, 0] < 10


def test_clip_far_values__leaves_far_values_of_very_few_rows():
    values = np.random.default_rng(0).normal(size=(50_000, 2))
    values[:49, 0], values[:51, 1] = 100, 100
    drawn = clip_far_values(values)
    assert_array_equal(drawn[:, 0], values[:, 0])
    assert drawn[:, 1].max() < 10


def test_clip_far_values__a_rare_event_keeps_its_value_among_features_of_one_unit():
    random = np.random.default_rng(0)
    values = random.normal(size=(5000, 5)) * 3
    values[:, 0] = np.where(random.uniform(size=5000) < 0.005, 8, random.uniform(0, 0.2, 5000))
    assert clip_far_values(values).max(axis=0)[0] < 1
    assert_array_equal(clip_far_values(values, one_unit=True), values)
