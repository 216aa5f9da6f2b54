import numpy as np
import pytest
from scipy.stats import false_discovery_control

from bigtensor.abundance.false_discovery import adjusted_p_values


@pytest.mark.parametrize("count", [1, 2, 30])
def test_adjusted_p_values__are_those_of_scipy(count):
    p_values = np.random.default_rng(count).random(count) ** 3
    np.testing.assert_allclose(
        adjusted_p_values(p_values), false_discovery_control(p_values, method="bh"), rtol=1e-12
    )


def test_adjusted_p_values__leave_out_what_was_not_tested():
    adjusted = adjusted_p_values(np.array([0.01, np.nan, 0.5]))
    assert np.isnan(adjusted[1])
    assert adjusted[[0, 2]].tolist() == [0.02, 0.5]
