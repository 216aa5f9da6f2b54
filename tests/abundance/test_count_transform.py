import numpy as np
import pytest

from bigtensor.abundance.count_transform import log_count_moments


@pytest.mark.parametrize("mean", [0.05, 0.5, 1.7, 12.0, 199.0, 300.0])
def test_log_count_moments__are_those_of_drawn_counts(mean):
    rng = np.random.default_rng(0)
    logs = np.log(rng.poisson(mean, 400_000) + 0.5)
    above = np.log(rng.poisson(1.05 * mean, 400_000) + 0.5)
    expected, slope, variance = log_count_moments(np.array(mean))
    error = logs.std() / np.sqrt(len(logs))
    assert abs(logs.mean() - expected) < 5 * error
    assert (above.mean() - logs.mean()) / np.log(1.05) == pytest.approx(slope, abs=0.05)
    assert logs.var() == pytest.approx(variance, rel=0.02)


def test_log_count_moments__of_few_cells_are_those_of_zeros_and_ones():
    """Without a jump where the tables begin."""
    mean = np.geomspace(1e-9, 1.1e-3, 50)
    expected, slope, variance = log_count_moments(mean)
    np.testing.assert_allclose(expected - np.log(0.5), mean * np.log(3), rtol=2e-3)
    np.testing.assert_allclose(slope, mean * np.log(3), rtol=2e-3)
    np.testing.assert_allclose(variance, mean * np.log(3) ** 2, rtol=2e-3)
