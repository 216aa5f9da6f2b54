"""A small run of the benchmark of independent components, and the foetal electrocardiogram."""

import numpy as np
import pytest

from tests.benchmarks.ica.simulated import (
    Problem,
    bars,
    column_error,
    matched_correlations,
    measured,
    on_real_data,
    real_sets,
)


@pytest.mark.benchmark
@pytest.mark.slow  # tests of the model compare with it quickly
def test_small_problem__is_as_precise_as_fast_ica():
    problem = Problem("laplace", 3, 3, 5_000)
    rows = {row["method"]: row for row in measured(problem, 1)}
    assert rows["whitened"]["error"] <= 1.1 * rows["FastICA logcosh"]["error"]
    assert rows["whitened"]["error"] < 0.05
    assert bars(problem, list(rows.values())) == []


def test_errors__are_sines_of_angles():
    true = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = np.array([[0.0, -3.0], [2.0, 4.0]])
    assert column_error(true, found) == pytest.approx((0 + 0.8) / 2)
    assert column_error(true, found[:, :1]) == pytest.approx(0.5)
    values = np.random.default_rng(0).standard_normal((1_000, 2))
    assert matched_correlations(values, -values[:, ::-1]) == pytest.approx([1, 1])


def test_foetal_electrocardiogram__has_the_sources_of_fast_ica(shared_data):
    row = on_real_data("foetal_ecg", real_sets(shared_data)["foetal_ecg"])
    assert row["method"] == "whitened"
    assert row["sources"] == 8
    assert row["least correlation"] > 0.97
    assert row["median"] > 0.99
