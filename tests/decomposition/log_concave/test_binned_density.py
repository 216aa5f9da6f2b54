"""Log-concave densities of histograms against the conditions of the maximum of the likelihood."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from bigtensor.decomposition.log_concave.binned_density import log_concave_counts


def histogram(seed, bins=40, rows=3000):
    values = np.random.default_rng(seed).gamma(3.0, size=rows)
    return np.histogram(values, bins)[0].astype(float)


@given(st.integers(0, 10_000), st.booleans(), st.floats(0.01, 100))
def test_log_concave_counts__is_the_maximum(seed, decreasing, unit):
    counts = histogram(seed) * unit
    logs = log_concave_counts(counts, decreasing=decreasing)
    assert np.all(np.diff(logs, 2) <= 1e-8)
    if decreasing:
        assert np.all(np.diff(logs) <= 1e-8)
    residual = counts - np.exp(logs)
    assert abs(residual.sum()) < 1e-3 * counts.sum()
    # no concave direction raises the likelihood: lines downwards, and hinges at every bin
    x = np.arange(len(counts))
    hinges = -np.maximum(x[:, None] - x[None, :-1], 0) / len(x)
    assert np.all(residual @ hinges <= 2e-3 * counts.sum())


def test_log_concave_counts__keeps_a_concave_histogram():
    counts = 1000 * norm.pdf(np.linspace(-3, 3, 30))
    np.testing.assert_allclose(np.exp(log_concave_counts(counts)), counts, rtol=1e-6)


def test_log_concave_counts__from_a_start_ends_at_the_same_density():
    counts = histogram(3)
    best = log_concave_counts(counts)
    logs = log_concave_counts(histogram(4))
    for _ in range(30):
        logs = log_concave_counts(counts, logs)
    np.testing.assert_allclose(np.exp(logs), np.exp(best), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("counts", [np.zeros(10), np.r_[5.0, np.zeros(9)], np.r_[np.zeros(9), 7.0]])
def test_log_concave_counts__of_few_rows_are_finite(counts):
    logs = log_concave_counts(counts)
    assert np.isfinite(logs).all()
    assert np.exp(logs).sum() == pytest.approx(counts.sum(), abs=1e-2)
