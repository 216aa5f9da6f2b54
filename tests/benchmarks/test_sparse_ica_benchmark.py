"""A small run of the benchmark of sparse sources."""

import numpy as np
import pytest

from tests.benchmarks.sparse_ica import Problem, bars, cumulant_floor, measured, patches


@pytest.mark.slow
@pytest.mark.benchmark
def test_small_problem__holds_the_bars():
    problem = Problem(10, 15, 1, 20_000)
    rows = measured(problem, 1, 1)
    assert {row["holds"] for row in bars(problem, rows)} == {True}
    by_name = {row["method"]: row for row in rows}
    learned = [row["error"] for name, row in by_name.items() if "learning" in name]
    assert len(learned) == 5
    assert by_name["SparseICA"]["error"] < min(learned)


@pytest.mark.benchmark
def test_floor__starts_at_the_true_columns():
    values, columns = Problem(8, 10, 1, 20_000, noise=0.0).draw(1)
    found = cumulant_floor(values, columns)
    cosines = (found * columns).sum(axis=0) / np.linalg.norm(found, axis=0)
    assert np.abs(cosines).min() > 0.99


def test_patches__have_the_mean_zero():
    values = patches(side=4, rows=50)
    assert values.shape == (50, 16)
    assert values.mean(axis=1) == pytest.approx(np.zeros(50), abs=1e-6)
