"""Tails of simulated features, whose rows are known."""

import numpy as np
import pytest

from bigtensor.decomposition.log_concave.tail import upper_tail

EDGES = np.linspace(-5, 8, 81)


def counts_of(values, sample, samples):
    return np.stack([np.histogram(values[sample == s], EDGES)[0] for s in range(samples)]).astype(
        float
    )


def simulated(seed, shares, rows=4000):
    """Return values, samples, and which rows belong to the tail."""
    rng = np.random.default_rng(seed)
    sample = np.repeat(np.arange(len(shares)), rows)
    rare = rng.random(sample.size) < np.take(shares, sample)
    return rng.normal(size=sample.size) + 3.2 * rare, sample, rare


def f1(predicted, true):
    return 2 * (predicted & true).sum() / (predicted.sum() + true.sum())


@pytest.mark.parametrize("seed", range(3))
def test_upper_tail__finds_rare_rows_without_a_second_mode(seed):
    shares = [0.002, 0.002, 0.002, 0.002, 0.03, 0.04]
    values, sample, rare = simulated(seed, shares)
    tail = upper_tail(counts_of(values, sample, 6))
    place = np.digitize(values, EDGES) - 1
    # the best boundary with the densities in sight
    best = max(f1(values > cut, rare) for cut in np.linspace(1, 3.5, 50))
    assert f1(tail.probability[place] > 0.5, rare) > 0.9 * best
    assert np.all(np.diff(tail.probability) >= 0)
    assert tail.evidence > 100


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.quick_cases("0")
def test_upper_tail__of_one_sample(seed):
    values, sample, rare = simulated(seed, [0.02], rows=20_000)
    tail = upper_tail(counts_of(values, sample, 1))
    # shares of samples tell less than a second mode would
    assert f1(tail.probability[np.digitize(values, EDGES) - 1] > 0.5, rare) > 0.6


@pytest.mark.parametrize("draw", ["normal", "logistic", "gumbel", "exponential"])
def test_upper_tail__has_little_evidence_in_one_density(draw):
    values = getattr(np.random.default_rng(1), draw)(size=20_000)
    counts = np.histogram(values, 80)[0].astype(float)
    assert upper_tail(counts[None]).evidence < 4 * np.log(20_000)


def test_upper_tail__of_samples_in_another_order_and_with_an_empty_one():
    values, sample, _ = simulated(5, [0.002, 0.02, 0.03])
    counts = counts_of(values, sample, 3)
    tail = upper_tail(counts)
    other = upper_tail(np.stack([counts[2], np.zeros(80), counts[0], counts[1]]))
    np.testing.assert_allclose(other.probability, tail.probability, atol=1e-6)
    assert other.evidence == pytest.approx(tail.evidence, rel=1e-6)


def test_upper_tail__of_too_few_bins_is_none():
    counts = np.zeros((1, 20))
    counts[0, 17:] = [50, 5, 1]
    assert upper_tail(counts) is None
