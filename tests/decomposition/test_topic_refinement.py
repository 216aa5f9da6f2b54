"""Refinement of topics: its gradient, its fixed point, and what it makes of noise."""

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.decomposition.topics.topic_moments import WordMoments
from bigtensor.decomposition.topics.topic_refinement import TopicObjective, refined_topics
from bigtensor.decomposition.topics.word_span import word_scales

WORDS, TOPICS, CONCENTRATION = 40, 3, 1.5


def population(noise=0.0):
    """Return raw moments in an orthonormal span of the scaled topics, topics, prior, and axes."""
    rng = default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, 0.3), TOPICS).T
    prior = CONCENTRATION * rng.dirichlet(np.full(TOPICS, 5.0))
    a0 = CONCENTRATION
    mean = topics @ prior / a0
    scales = word_scales(mean)
    noisy = np.hstack([scales[:, None] * topics, rng.normal(size=(WORDS, 4))])
    span = np.linalg.qr(noisy)[0]
    first, own = span.T @ (scales * mean), span.T @ (scales[:, None] * topics)
    pair = (own * prior) @ own.T / (a0 * (a0 + 1)) + a0 / (a0 + 1) * np.outer(first, first)
    triple = np.einsum("ai,bi,ci,i->abc", own, own, own, 2 * prior / (a0 * (a0 + 1) * (a0 + 2)))
    moments = WordMoments(first, pair, np.zeros_like(triple))
    triple -= moments.corrected(a0)[1]
    deviation = noise * rng.normal(size=triple.shape)
    deviation = sum(deviation.transpose(p) for p in ((0, 1, 2), (1, 2, 0), (2, 0, 1)))
    return WordMoments(first, pair, triple + deviation), topics, prior, span, scales


def test_gradient__is_the_slope_of_the_value():
    moments, topics, prior, span, scales = population(0.05)
    objective = TopicObjective(moments, prior, CONCENTRATION, span, scales)
    rng = default_rng(1)
    point = scales[:, None] * topics + 0.1 * rng.normal(size=topics.shape)
    gradient = objective.expansion(point).gradient
    for _ in range(5):
        along = rng.normal(size=point.shape)
        ahead, back = objective.value(point + 1e-6 * along), objective.value(point - 1e-6 * along)
        assert np.vdot(gradient, along) == pytest.approx((ahead - back) / 2e-6, rel=1e-5)


def test_exact_moments__keep_their_topics():
    moments, topics, prior, span, scales = population()
    objective = TopicObjective(moments, prior, CONCENTRATION, span, scales)
    assert objective.value(scales[:, None] * topics) == pytest.approx(0, abs=1e-12)
    found = refined_topics(moments, topics, prior, CONCENTRATION, span, scales)
    assert found == pytest.approx(topics, abs=1e-7)


def test_other_starts__come_back_to_the_topics():
    moments, topics, prior, span, scales = population()
    start = topics + 0.02 * default_rng(2).normal(size=topics.shape)
    found = refined_topics(moments, start, prior, CONCENTRATION, span, scales)
    assert np.abs(found - topics).sum() < 0.2 * np.abs(start - topics).sum()
