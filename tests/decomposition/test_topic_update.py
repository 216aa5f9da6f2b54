"""Updates of topics and prior: the Newton step ends at the largest likelihood."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from bigtensor.data.rows.block import Block
from bigtensor.decomposition.topics.topic_update import (
    overrelaxed_topics,
    updated_prior,
    updated_topics,
)
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.topics.topic_counts import TopicCounts

TOPICS = np.maximum(np.eye(4), 1e-300)
"""Every word has a topic of its own, so that the topics of all words are known."""


def numbers(prior, documents=800):
    rng = default_rng(0)
    shares = rng.dirichlet(prior, documents)
    return np.array(
        [
            rng.multinomial(n, own)
            for n, own in zip(rng.integers(1, 40, documents), shares, strict=True)
        ]
    )


def derivatives(rows, prior):
    found = sum_in_memory(TopicCounts(TOPICS, prior), Block(rows, {}, 0, len(rows)))
    return found.slope, found.curvature, found.common_slope, found.common_curvature


def test_slopes__are_differences_of_the_digamma_function():
    prior = np.array([0.3, 1.2, 0.05, 4.0])
    rows = numbers(prior)
    slope, _, common, _ = derivatives(rows, prior)
    assert slope == pytest.approx((digamma(prior + rows) - digamma(prior)).sum(axis=0), rel=1e-10)
    total = prior.sum()
    direct = digamma(total + rows.sum(axis=1)) - digamma(total)
    assert common == pytest.approx(direct.sum(), rel=1e-10)


@pytest.mark.parametrize("start", [0.01, 1.0, 30.0])
@pytest.mark.quick_cases("0.01")
def test_steps__end_at_the_largest_likelihood(start):
    rows = numbers(np.array([0.3, 1.2, 0.1, 4.0]))

    def negative(log_prior):
        prior = np.exp(log_prior)
        total = gammaln(prior + rows).sum(axis=0) - len(rows) * gammaln(prior)
        common = gammaln(prior.sum() + rows.sum(axis=1)) - gammaln(prior.sum())
        return common.sum() - total.sum()

    direct = np.exp(minimize(negative, np.zeros(4), tol=1e-9).x)
    prior = np.full(4, start)
    for _ in range(40):
        prior = updated_prior(prior, *derivatives(rows, prior))
    assert prior == pytest.approx(direct, rel=1e-3)


def test_unused_topics__become_less_likely():
    rows = numbers(np.array([0.3, 1.2, 0.1, 4.0]))
    rows[:, 2] = 0
    prior = updated_prior(np.ones(4), *derivatives(rows, np.ones(4)))
    assert prior[2] == 0.5


def test_overrelaxed_topics__lie_beyond_the_update():
    before, counts = default_rng(1).dirichlet(np.ones(5), 2).T, default_rng(2).random((5, 2))
    update = updated_topics(counts, 0.1)
    assert update.sum(axis=0) == pytest.approx(1)
    beyond = overrelaxed_topics(before, update)
    assert beyond.sum(axis=0) == pytest.approx(1)
    assert (beyond > 0).all()
    assert ((beyond - update) * (update - before)).sum() > 0
    assert overrelaxed_topics(update, update) == pytest.approx(update)
