"""Tails of simulated features compared with each other."""

import numpy as np

from bigtensor.models.kernel_mixture.refinement.tail_candidates import tail_candidates

EDGES = np.linspace(-5, 8, 81)


def histograms(shares_by_feature, rows=4000, seed=0):
    """Return counts ``(samples, features, bins)`` with tails of these shares."""
    rng = np.random.default_rng(seed)
    counts = []
    for shares in shares_by_feature:
        of_samples = []
        for share in shares:
            values = rng.normal(size=rows)
            values[rng.random(rows) < share] += 4
            of_samples.append(np.histogram(values, EDGES)[0])
        counts.append(of_samples)
    return np.array(counts, float).transpose(1, 0, 2)


EVEN, UNEVEN = [0.02] * 6, [0.001, 0.001, 0.001, 0.03, 0.04, 0.05]


def test_tail_candidates__begin_with_the_tail_that_varies_between_samples():
    first, second, *_ = tail_candidates(histograms([EVEN, UNEVEN]))
    assert (first.feature, first.is_upper, first.is_clear) == (1, True, True)
    assert (second.feature, second.is_clear) == (0, True)
    assert first.variation > 10 > 3 > second.variation


def test_one_cell_of_a_tiny_sample__does_not_choose_the_feature():
    counts = histograms([EVEN, UNEVEN])
    tiny = np.zeros((1, *counts.shape[1:]))
    tiny[0, 0, np.searchsorted(EDGES, 4.2)] = 1
    tiny[0, 1, np.searchsorted(EDGES, 0.0)] = 1
    first, *_ = tail_candidates(np.concatenate([counts, tiny]))
    assert first.feature == 1


def test_tail_candidates__of_one_sample_begin_with_the_clearest():
    one = histograms([[0.01], [0.04]], rows=20_000)
    first, *_ = tail_candidates(one)
    assert (first.feature, first.variation, first.is_clear) == (1, None, True)


def test_tail_candidates__without_a_tail_are_not_clear():
    assert not any(one.is_clear for one in tail_candidates(histograms([[0.0] * 3, [0.0] * 3])))


def test_tail_candidates__of_samples_that_are_shifted_or_scaled_are_not_clear():
    rng = np.random.default_rng(0)
    edges = np.linspace(-4, 4.6, 81)
    bodies = [(0.0, 1.0)] * 3 + [(0.35, 1.1)] * 3
    values = [rng.normal(place, width, 8000).clip(-3.9, 4.5) for place, width in bodies]
    counts = np.array([[np.histogram(one, edges)[0]] for one in values], float)
    upper = next(one for one in tail_candidates(counts) if one.is_upper)
    assert upper.evidence > 2 * upper.required_evidence > 2 * upper.aligned_evidence
    assert upper.is_shift
    assert not upper.is_clear


def test_tail_candidates__of_shifted_samples_with_rare_cells_are_clear():
    counts = histograms([UNEVEN])
    counts[3:] = np.roll(counts[3:], 3, axis=2)
    first, *_ = tail_candidates(counts)
    assert (first.is_upper, first.is_clear, first.is_rare) == (True, True, True)
