"""Cells of measured rows against distances of SciPy."""

import numpy as np
from scipy.spatial.distance import cdist

from bigtensor.features.cells import Cells


def test_codes__are_the_nearest_centres_of_clipped_rows():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3000, 3)) * [1.0, 100.0, 0.01]
    low, high = np.quantile(values, [0.01, 0.99], axis=0)
    cells = Cells.of_sample(values, low, high, 20, 0)
    positions = (np.clip(values, low, high) - low) / (high - low)
    np.testing.assert_array_equal(cells.codes(values), cdist(positions, cells.centres).argmin(1))
    assert cells.count == 20
    assert cells.codes(values.astype(np.float32)).shape == (3000,)


def test_a_far_outlier__takes_no_cell():
    values = np.random.default_rng(1).normal(size=(2000, 1))
    low, high = np.quantile(values, [0.001, 0.999], axis=0)
    values[:3] = 1e9
    cells = Cells.of_sample(values, low, high, 10, 0)
    counts = np.bincount(cells.codes(values), minlength=10)
    assert counts.min() > 10


def test_cells__are_at_most_as_many_as_distinct_rows():
    values = np.repeat([[0.0], [1.0], [5.0]], 50, axis=0)
    cells = Cells.of_sample(values, np.zeros(1), np.full(1, 5.0), 10, 0)
    assert cells.count == 3


def test_cells__are_the_same_for_any_order_of_rows_and_columns() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(300, 2)) * [1.0, 5.0]
    low, high = values.min(axis=0), values.max(axis=0)
    cells = Cells.of_sample(values, low, high, 12, 0)
    moved = rng.permutation(values)[:, ::-1]
    swapped = Cells.of_sample(moved, low[::-1], high[::-1], 12, 0)
    centres = swapped.centres[:, ::-1]
    np.testing.assert_allclose(centres[np.argsort(centres[:, 0])], cells.centres, atol=1e-12)


def test_codes_of_incomplete_rows__are_the_nearest_centres_of_their_entries() -> None:
    rng = np.random.default_rng(2)
    values = rng.uniform(size=(500, 3))
    cells = Cells.of_sample(values, np.zeros(3), np.ones(3), 12, 0)
    values[rng.random(values.shape) < 0.3] = np.nan
    squares = np.nansum((values[:, None] - cells.centres) ** 2, axis=2)
    nothing = np.isnan(values).all(axis=1)
    assert nothing.any()
    np.testing.assert_array_equal(cells.codes(values), np.where(nothing, -1, squares.argmin(1)))
