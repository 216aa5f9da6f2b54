"""Coordinates, their derivatives and inverses."""

import numpy as np
import pytest
from scipy.stats import kstest

from bigtensor.features.coordinates import Coordinates
from bigtensor.features.margins.adaptive_kernel import AdaptiveKernel
from bigtensor.features.margins.normal_scores import NormalScores
from bigtensor.statistics.base import Workspace


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.gamma(2, size=800), rng.standard_t(3, 800), np.exp(rng.normal(size=800))]
    )


def scores_of(rows):
    return NormalScores.of_kernels(
        [AdaptiveKernel.of_sample(column, 0.1, 0.0) for column in rows.T]
    )


def coordinates(rows, axes):
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    scores = scores_of(standard)
    mixing = np.random.default_rng(1).normal(size=(3, 3)) if axes else None
    return Coordinates(
        np.array([0, 2, 3]),
        rows.mean(axis=0),
        rows.std(axis=0),
        scores,
        mixing,
        np.full(3, 0.3),
        np.arange(3),
    )


def written(found, values):
    out, slope = np.empty_like(values), np.empty(len(values))
    found.write(values, out, slope, Workspace())
    return out, slope


@pytest.mark.parametrize("axes", [False, True])
def test_log_slope__is_the_determinant_of_the_derivative(rows, axes):
    found = coordinates(rows, axes)
    # far outside the sample too; column 1 is categorical
    values = np.insert(np.vstack([rows[:20], rows[:3] * 30]), 1, 4.0, axis=1)
    at, slope = written(found, values)
    assert (at[:, 1] == 4).all()
    derivative = np.empty((len(values), 3, 3))
    for i, column in enumerate(found.measured):
        step = np.zeros(4)
        step[column] = 1e-6
        change = written(found, values + step)[0] - written(found, values - step)[0]
        derivative[:, i] = change[:, found.measured] / 2e-6
    assert slope == pytest.approx(np.linalg.slogdet(derivative)[1], abs=1e-6)


@pytest.mark.parametrize("axes", [False, True])
def test_inverse__gives_the_rows_back(rows, axes):
    found = coordinates(rows, axes)
    values = np.insert(rows, 1, 7.0, axis=1)
    assert found.inverse(written(found, values)[0]) == pytest.approx(values, rel=1e-9, abs=1e-9)


def test_scores__are_nearly_normal(rows):
    found = coordinates(rows, axes=False)
    at, _ = written(found, np.insert(rows, 1, 0.0, axis=1))
    for column in found.measured:
        # smoothing makes scores a little narrower
        assert kstest(at[:, column], "norm").statistic < 0.04


def test_missing_entries__stay_and_have_no_slope(rows):
    found = coordinates(rows, axes=False)
    values = np.insert(rows[:5], 1, 0.0, axis=1)
    holes = values.copy()
    holes[:, 2] = np.nan
    at, slope = written(found, holes)
    assert np.isnan(at[:, 2]).all()
    alone = found.select(np.array([2]))
    own = written(alone, values[:, [2]])[1]
    assert slope + own == pytest.approx(written(found, values)[1], abs=1e-12)


def test_splines__increase_whatever_the_sample():
    rng = np.random.default_rng(2)
    samples = np.column_stack([np.repeat([0.0, 1.0], 50), np.append(rng.normal(size=99), 1e4)])
    scores = scores_of(samples)
    grid = np.linspace(-2e4, 2e4, 100_001)
    values = np.column_stack([grid, grid])
    scores.write(values, np.zeros(len(values)))
    assert (np.diff(values, axis=0) > 0).all()
