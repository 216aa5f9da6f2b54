"""Expected counts of topics against sums over all assignments of a short document."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.random import default_rng
from scipy.special import digamma, gammaln, polygamma

from bigtensor.data.rows.block import Block
from bigtensor.statistics import stop_requests
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.topics import topic_counts
from bigtensor.statistics.topics.topic_counts import TopicCounts

WORDS, TOPICS = 6, 3


def model():
    rng = default_rng(0)
    return rng.dirichlet(np.full(WORDS, 0.5), TOPICS).T, np.array([0.3, 0.9, 0.5])


def exact(row, topics, prior):
    """Return the posterior expectation of the counts, over all topics of the places."""
    places = np.repeat(np.arange(WORDS), row.astype(int))
    total, counts = 0.0, np.zeros((WORDS, TOPICS))
    for assigned in product(range(TOPICS), repeat=len(places)):
        numbers = np.bincount(assigned, minlength=TOPICS)
        log = gammaln(prior + numbers).sum() - gammaln(prior).sum()
        weight = np.exp(log) * topics[places, list(assigned)].prod()
        total += weight
        np.add.at(counts, (places, list(assigned)), weight)
    return counts / total


@pytest.mark.parametrize("row", [[2, 0, 1, 1, 0, 0], [0, 3, 0, 0, 2, 1], [1, 0, 0, 0, 0, 0]])
def test_counts__are_posterior_expectations(row):
    topics, prior = model()
    row = np.array(row, float)
    statistic = TopicCounts(topics, prior, burn_in=20, kept=200_000)
    found = sum_in_memory(statistic, Block(row[None], {}, 0, 1))
    assert found.words == row.sum()
    # means of 200,000 sweeps, which are dependent
    assert found.counts == pytest.approx(exact(row, topics, prior), abs=0.01)


def test_counts__add_up_to_those_of_the_words():
    topics, prior = model()
    rows = default_rng(1).poisson(2.0, (300, WORDS)).astype(np.float32)
    weight = default_rng(2).random(300)
    for values in (rows, sp.csr_array(rows)):
        found = sum_in_memory(TopicCounts(topics, prior), Block(values, {}, 0, 300, weight))
        assert found.counts.sum(axis=1) == pytest.approx(weight @ rows, rel=1e-12)
        assert (found.counts >= 0).all()


def test_steps__draw_other_numbers():
    topics, prior = model()
    rows = default_rng(1).poisson(2.0, (50, WORDS)).astype(float)
    one, two = (
        sum_in_memory(TopicCounts(topics, prior, step=step), Block(rows, {}, 0, 50))
        for step in (0, 1)
    )
    assert not np.array_equal(one.counts, two.counts)


def test_long_documents__are_thinned_and_count_whole(monkeypatch):
    topics, prior = model()
    rng = default_rng(5)
    shares = rng.dirichlet(prior, 20)
    rows = rng.multinomial(rng.integers(3000, 6000, 20), shares @ topics.T).astype(float)
    block = Block(rows, {}, 0, 20)
    whole = sum_in_memory(TopicCounts(topics, prior), block)
    monkeypatch.setattr(topic_counts, "LONGEST", 500)
    thinned = sum_in_memory(TopicCounts(topics, prior), block)
    assert thinned.words == whole.words
    assert thinned.counts.sum(axis=1) == pytest.approx(rows.sum(axis=0), rel=1e-12)
    # a tenth of the words tells the shares to about a hundredth
    assert np.abs(thinned.counts - whole.counts).sum() < 0.05 * rows.sum()
    assert thinned.common_slope == pytest.approx(whole.common_slope, rel=1e-3)


@pytest.mark.parametrize("count", [1e8, 1e15, 2.0**70])
def test_one_huge_count__takes_no_more_work_than_a_long_document(count):
    topics, prior = model()
    rows = default_rng(5).poisson(2.0, (20, WORDS)).astype(float)
    rows[3, 2] = count
    found = sum_in_memory(TopicCounts(topics, prior), Block(rows, {}, 0, 20))
    assert found.words == rows.sum()
    assert found.counts.sum(axis=1) == pytest.approx(rows.sum(axis=0), rel=1e-12)
    lengths, concentration = rows.sum(axis=1), prior.sum()
    # the length of a thinned document is rounded to one of ten thousand words
    slope = (digamma(concentration + lengths) - digamma(concentration)).sum()
    assert found.common_slope == pytest.approx(slope, rel=1e-5)
    curvature = (polygamma(1, concentration) - polygamma(1, concentration + lengths)).sum()
    assert found.common_curvature == pytest.approx(curvature, rel=1e-5)


@pytest.mark.parametrize("words", [9_999, 10_000, 10_001, 12_345, 10**6])
def test_derivatives__are_differences_of_digamma_functions(words):
    prior, derivatives = np.array([0.3, 2.5]), np.zeros((2, 3))
    drawn = np.array([[words, 3.0]])
    topic_counts._add_derivatives(drawn, prior, np.array([2.0]), derivatives)
    starts, ends = np.array([0.3, 2.5, 2.8]), np.array([0.3 + words, 5.5, 2.8 + words + 3])
    slope, curvature = digamma(ends) - digamma(starts), polygamma(1, starts) - polygamma(1, ends)
    assert derivatives[0] == pytest.approx(2 * slope, rel=1e-12)
    assert derivatives[1] == pytest.approx(2 * curvature, rel=1e-12)


def test_pieces_of_a_block__give_the_same_bits(monkeypatch):
    topics, prior = model()
    rows = default_rng(1).poisson(2.0, (50, WORDS)).astype(float)
    whole = sum_in_memory(TopicCounts(topics, prior), Block(rows, {}, 0, 50))
    monkeypatch.setattr(stop_requests, "STEPS_AT_ONCE", 500)
    cut = sum_in_memory(TopicCounts(topics, prior), Block(rows, {}, 0, 50))
    assert np.array_equal(cut.counts, whole.counts)
    assert np.array_equal(cut.slope, whole.slope)
