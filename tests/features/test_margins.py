"""Smoothed margins: their widths, splines and tails against truths and numerical integrals."""

import numpy as np
import pytest
from scipy.stats import norm, skewnorm

from bigtensor.features.margins.adaptive_kernel import AdaptiveKernel, chosen_width
from bigtensor.features.margins.normal_scores import NormalScores


def log_densities(scores, values):
    """Return the log-density of a variable whose scores are normal."""
    at, log_slope = values[:, None].copy(), np.zeros(len(values))
    scores.write(at, log_slope)
    return norm.logpdf(at[:, 0]) + log_slope


def scores_of(sample, least=0.0):
    width = chosen_width(sample, least, np.arange(len(sample)))
    return NormalScores.of_kernels([AdaptiveKernel.of_sample(sample, width, least)])


def two_peaks(n, seed):
    rng = np.random.default_rng(seed)
    peak = rng.random(n) < 0.5
    return np.where(peak, -1 + 0.03 * rng.normal(size=n), 1 + rng.normal(size=n))


def test_kernels__have_the_density_that_their_distribution_has_as_slope():
    kernel = AdaptiveKernel.of_sample(two_peaks(3_000, 0), 0.1, 0.0)
    values = np.linspace(-2, 3, 41)
    slope = (kernel.distribution(values + 1e-6) - kernel.distribution(values - 1e-6)) / 2e-6
    assert kernel.density(values) == pytest.approx(slope, rel=1e-4, abs=1e-6)
    assert kernel.shares.sum() == pytest.approx(1)
    assert kernel.distribution(np.array([-20.0, 20.0])) == pytest.approx([0, 1], abs=1e-9)


@pytest.mark.parametrize("n", [300, 5_000])
def test_margins__follow_narrow_peaks_and_wide_ones(n):
    test = two_peaks(4_000, 1)
    true = np.log(0.5 * norm.pdf(test, -1, 0.03) + 0.5 * norm.pdf(test, 1, 1)).mean()
    below = true - log_densities(scores_of(two_peaks(n, 0)), test).mean()
    # one width of a tenth of a standard deviation loses .45 nats
    assert below < (0.1 if n == 300 else 0.04)


def test_splines__have_the_density_of_their_kernels():
    kernel = AdaptiveKernel.of_sample(two_peaks(2_000, 0), 0.1, 0.0)
    scores = NormalScores.of_kernels([kernel])
    inside = np.linspace(*np.quantile(kernel.centres, [0.01, 0.99]), 300)
    error = log_densities(scores, inside) - np.log(kernel.density(inside))
    assert np.abs(error).mean() < 0.015


def test_ties__have_a_density_that_the_least_width_bounds():
    rounded = np.round(np.random.default_rng(0).normal(size=2_000))
    scores, wide = scores_of(rounded, 0.05), scores_of(rounded, 0.4)
    at_zero = log_densities(scores, np.zeros(1))[0]
    share = (rounded == 0).mean()
    assert at_zero == pytest.approx(np.log(share / (0.05 * np.sqrt(2 * np.pi))), abs=0.1)
    assert log_densities(wide, np.zeros(1))[0] < at_zero - 1.5
    assert log_densities(scores, np.full(1, 0.5))[0] < at_zero - 3


def test_tails__are_those_of_the_outermost_rows():
    rng = np.random.default_rng(0)
    sample = rng.exponential(size=1_000)
    scores = scores_of(sample)
    beyond = np.array([sample.max() + 0.5, sample.max() + 3.0])
    assert log_densities(scores, beyond) == pytest.approx(-beyond, abs=2)
    skewed = skewnorm.rvs(5, size=400, random_state=1)
    density = log_densities(scores_of(skewed), np.array([skewed.max() + 1.0]))
    assert -14 < density[0] < -4


def test_any_sample__has_increasing_splines():
    rng = np.random.default_rng(2)
    for sample in (
        np.repeat([0.0, 1.0], 50),
        np.append(rng.normal(size=99), 1e4),
        np.arange(5.0),
        np.append(rng.normal(size=20), np.nan),
    ):
        scores = scores_of(sample)
        assert (np.diff(scores.knots) > 0).all()
        assert (np.diff(scores.scores) > 0).all()
        assert (scores.slopes > 0).all()
