"""Histograms of samples shifted and scaled to one body."""

import numpy as np

from bigtensor.decomposition.log_concave.alignment import aligned_histograms

EDGES = np.linspace(-6, 8, 81)


def histogram(values):
    return np.histogram(values, EDGES)[0].astype(float)


def test_aligned_histograms__agree_where_samples_differ_in_place_and_width():
    rng = np.random.default_rng(0)
    counts = np.array([histogram(rng.normal(m, s, 20_000)) for m, s in ((0, 1), (0.8, 1.2))])
    aligned = aligned_histograms(counts)
    np.testing.assert_allclose(aligned.sum(axis=1), counts.sum(axis=1))

    def distance(samples):
        return np.abs(np.diff(samples / samples.sum(axis=1, keepdims=True), axis=0)).sum()

    assert distance(counts) > 0.5
    assert distance(aligned) < 0.05


def test_aligned_histograms__keep_a_rare_tail():
    rng = np.random.default_rng(1)
    values = [rng.normal(size=10_000) for _ in range(2)]
    values[1][:200] += 5
    aligned = aligned_histograms(np.array([histogram(one) for one in values]))
    far = EDGES[:-1] > 3.8
    assert abs(aligned[1, far].sum() - (values[1] > 3.8).sum()) < 20
    assert aligned[0, far].sum() < 5


def test_aligned_histograms__leave_tiny_and_empty_samples_where_they_are():
    rng = np.random.default_rng(2)
    single = np.zeros(80)
    single[60] = 3.0
    aligned = aligned_histograms(np.array([histogram(rng.normal(size=500)), single, np.zeros(80)]))
    np.testing.assert_allclose(aligned[1, 59:62].sum(), 3.0)
    assert not aligned[2].any()
