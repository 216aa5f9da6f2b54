"""The passes and their solutions together find the topics of a simulated corpus."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.random import default_rng
from scipy.optimize import linear_sum_assignment

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.topics.topic_moments import (
    WordMoments,
    estimated_concentration,
    solve_topics,
)
from bigtensor.decomposition.topics.word_span import topic_span, topics_of_words, word_scales
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.topics.topic_counts import TopicCounts
from bigtensor.statistics.topics.word_pairs import WordPairs
from bigtensor.statistics.topics.word_triples import WordTriples


def corpus(words, k, documents, mean_length, concentration, seed=0, base=None):
    """Return word counts, and the topics that they are drawn from."""
    rng = default_rng(seed)
    base = np.ones(words) if base is None else base
    topics = rng.dirichlet(np.maximum(0.1 * base, 1e-3), k).T
    shares = rng.dirichlet(np.full(k, concentration / k), documents)
    lengths = np.maximum(3, rng.poisson(mean_length, documents))
    counts = [rng.multinomial(n, topics @ own) for n, own in zip(lengths, shares, strict=True)]
    return sp.csr_array(np.array(counts, np.float32)), topics


def distance(found, topics):
    """Return the mean L1 distance of matched topics, and the largest."""
    costs = np.abs(found[:, :, None] - topics[:, None]).sum(axis=0)
    own = costs[linear_sum_assignment(costs)]
    return own.mean(), own.max()


def by_moments(rows, k, concentration):
    """Return topics and prior from three passes, and the moments of the last."""
    block = Block(rows, {}, 0, rows.shape[0])
    columns = default_rng(1).normal(size=(rows.shape[1], k + 10))
    scales = np.ones(rows.shape[1])
    for _ in range(2):
        pairs = sum_in_memory(WordPairs(columns), block)
        scales = word_scales(pairs.mean)
        span = topic_span(pairs.contracted, columns, pairs.mean, concentration, scales)
        columns = scales[:, None] * span
    triples = sum_in_memory(WordTriples(columns), block)
    moments = WordMoments(columns.T @ pairs.mean, triples.pair, triples.triple)
    found = solve_topics(moments, k, concentration)
    return topics_of_words(found.topics, span, scales, 1e-3), found.prior, moments


@pytest.fixture(scope="module")
def fitted():
    rows, topics = corpus(300, 5, 6_000, 60, 1.0)
    return rows, topics, by_moments(rows, 5, 1.0)


def test_moments__find_every_topic(fitted):
    _, topics, (found, prior, moments) = fitted
    mean, largest = distance(found, topics)
    assert mean < 0.1
    assert largest < 0.2
    assert prior.sum() == pytest.approx(1.0, rel=0.1)
    assert estimated_concentration(moments, 5, 3.0) == pytest.approx(1.0, rel=0.2)


def test_passes_of_expectation_maximisation__come_nearer(fitted):
    rows, topics, (found, prior, _) = fitted
    before, _ = distance(found, topics)
    block = Block(rows, {}, 0, rows.shape[0])
    for step in range(3):
        counts = sum_in_memory(TopicCounts(found, prior, step), block).counts + 0.1
        found = counts / counts.sum(axis=0)
    after, _ = distance(found, topics)
    assert after < 0.9 * before
