"""Linear functions of features are told from features that only correlate."""

import time

import numpy as np
import pytest

from bigtensor.models.pilot.linear_copies import linear_copies

SEEDS = range(5)


def normal(seed: int, rows: int = 200, columns: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x: np.round(20 + 8 * x, 1), lambda x: np.round(68 + 14.4 * x, 1)),
        (lambda x: np.round(70 + 8 * x, 1), lambda x: np.round((70 + 8 * x) * 2.20462, 1)),
        (lambda x: 3 * np.round(8 * x, 1), lambda x: -1e-3 * np.round(14.4 * x, 1)),
        (np.float32, lambda x: np.float32(1.8) * np.float32(x) + np.float32(32)),
        (lambda x: x, lambda x: 1e150 * x - 3e150),
    ],
    ids=["Celsius and Fahrenheit", "kilograms and pounds", "mirrored", "float32", "huge"],
)
def test_rounded_copies__are_copies(first, second):
    for seed in SEEDS:
        values = normal(seed)
        values[:, 2] = second(values[:, 0])
        values[:, 0] = first(values[:, 0])
        assert linear_copies(values) == [(0, 2)]


@pytest.mark.parametrize(("correlation", "decimals"), [(0.999, None), (0.9999, None), (0.999, 1)])
def test_sensors_of_one_quantity__are_no_copies(correlation, decimals):
    for seed in SEEDS:
        noise = np.sqrt(1 / correlation - 1)
        values = 20 + 8 * (normal(seed)[:, :1] + noise * normal(seed + 100, columns=2))
        assert not linear_copies(values if decimals is None else np.round(values, decimals))


def test_coarse_values_that_correlate__are_no_copies():
    for seed in SEEDS:
        values = normal(seed)[:, :1] + 0.3 * normal(seed + 100, columns=2)
        assert not linear_copies(np.clip(np.round(values), -2, 2))
        # one huge value has both standard deviations
        rare = np.random.default_rng(seed).integers(2, size=(200, 2))
        assert not linear_copies(np.vstack([rare, [5000, 5000]]).astype(float))


def test_several_copies__form_pairs_with_the_first():
    values = np.tile(normal(0, columns=1), 4) * [1, -2, 3, 1e-3]
    values[3, :2] = np.nan
    assert linear_copies(values) == [(0, 1), (2, 3)]


def test_many_features__are_compared_fast():
    """The sort of whole columns took several seconds."""
    values = normal(0, 5000, 1000)
    values[:, 999] = 3 - values[:, 5]
    start = time.process_time()
    assert linear_copies(values) == [(5, 999)]
    assert time.process_time() - start < 1
