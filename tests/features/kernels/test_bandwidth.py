import numpy as np
import pytest

from bigtensor.errors import DataError
from bigtensor.features.kernels.bandwidth import (
    cluster_sample,
    coarse_width,
    component_width,
    quantile_range,
    robust_spread,
    rule_width,
)


def mixture(rows=6000, seed=0):
    """Return rows of three separated components with scales .5, 1 and 20 in three features."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, rows)
    means = np.array([[0, 0, 0], [6, 0, 300], [0, 12, -300.0]])
    return means[label] + rng.normal(size=(rows, 3)) * [0.5, 1, 20]


def test_cluster_sample__is_the_spread_inside_the_components():
    found = cluster_sample(mixture(), 3, 0, "abc").scale
    np.testing.assert_allclose(found, [0.5, 1, 20], rtol=0.05)


def test_cluster_sample__does_not_see_rare_outliers():
    rows = mixture()
    rows[:5] += 1e3
    np.testing.assert_allclose(cluster_sample(rows, 4, 0, "abc").scale, [0.5, 1, 20], rtol=0.1)


def test_cluster_sample__moves_with_the_units():
    rows = mixture()
    found = cluster_sample(rows, 3, 0, "abc").scale
    scaled = cluster_sample(rows * 7 + 100, 3, 0, "abc").scale
    np.testing.assert_allclose(scaled, 7 * found, rtol=1e-6)


def test_cluster_sample__of_a_feature_with_mostly_zeros_is_positive():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=500), rng.exponential(size=500)])
    rows[:450, 1] = 0
    assert (cluster_sample(rows, 2, 0, "ab").scale > 0).all()
    flags = np.column_stack([np.repeat([0.0, 50.0], 250), rng.normal(size=500)])
    assert cluster_sample(flags, 2, 0, "ab").scale[0] == pytest.approx(25)


def test_cluster_sample__names_a_constant_feature():
    rows = mixture(100)
    rows[:, 1] = 4
    with pytest.raises(DataError, match=r"'CD4' has one .* 100 rows.*leave it"):
        cluster_sample(rows, 3, 0, ["CD3", "CD4", "CD8"])
    with pytest.raises(DataError, match="2 rows cannot show 3 components"):
        cluster_sample(rows[:2], 3, 0, "abc")


def test_robust_spread__is_the_smaller_of_two_scales():
    rng = np.random.default_rng(1)
    normal = rng.normal(size=(20_000, 1)) * 3
    heavy = rng.standard_t(2, size=(20_000, 1))
    assert robust_spread(normal)[0] == pytest.approx(3, rel=0.03)
    quartiles = np.diff(np.quantile(heavy, [0.25, 0.75]))[0] / 1.34
    assert robust_spread(heavy)[0] == pytest.approx(quartiles)
    assert quartiles < heavy.std()


def test_rule_width__falls_with_the_rows_of_a_component():
    np.testing.assert_allclose(rule_width(np.array([2.0]), 32_000, 10), 2.12 * 3200**-0.2)
    np.testing.assert_allclose(
        rule_width(np.array([2.0, 1.0]), 64, 1), np.array([2.12, 1.06]) * 0.5
    )


def test_coarse_width__is_the_widest_of_three_bounds():
    scale, rule = np.array([2.0]), 2.12
    few = coarse_width(scale, 1e5, 2e4, 1, np.array([1.0]), 100)
    np.testing.assert_allclose(few, 2 * rule * 1e5**-0.2)
    many = coarse_width(scale, 1e9, 2e4, 1, np.array([1.0]), 100)
    np.testing.assert_allclose(many, rule * 2e4**-0.2)
    wide = coarse_width(scale, 1e5, 2e4, 1, np.array([500.0]), 100)
    np.testing.assert_allclose(wide, 5.0)
    plane = coarse_width(np.array([2.0, 2.0]), 1e9, 1e6, 1, np.array([500.0, 500.0]), 100)
    np.testing.assert_allclose(plane, rule * 1e6 ** (-1 / 6))


def test_component_width__never_falls_below_the_bins():
    widths = component_width(np.array([1.0, 2.0, 1e-9]), np.array([1e5, 32.0, 10.0]), 0.01)
    np.testing.assert_allclose(widths, [0.09, 0.9, 0.0075])


def test_quantile_range__leaves_out_one_percent():
    sample = np.linspace(0, 1000, 100_001)[:, None]
    np.testing.assert_allclose(quantile_range(sample), 990, rtol=1e-9)
