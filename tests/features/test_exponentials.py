"""Tests of exponentials of many numbers."""

from __future__ import annotations

import numpy as np
import pytest

from bigtensor.features.exponentials import exponentiate


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_exponentials__are_those_of_longdouble(dtype: str) -> None:
    rng = np.random.default_rng(0)
    lowest = -700 if dtype == "float64" else -80
    values = np.concatenate(
        [rng.uniform(lowest, 0, 20_000), -(10.0 ** rng.uniform(-20, 1, 5_000)), [0.0, -0.0]]
    ).astype(dtype)
    exact = np.exp(values.astype(np.longdouble))
    exponentiate(values)
    error = np.abs(values / exact - 1).max()
    assert error < 2 * np.finfo(dtype).eps


def test_tiny_exponentials__are_zero__and_nan_stays() -> None:
    values = np.array([[-708.1, -1e300], [-np.inf, np.nan]])
    exponentiate(values)
    np.testing.assert_array_equal(values, [[0, 0], [0, np.nan]])
