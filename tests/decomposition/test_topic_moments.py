"""Topics from exact moments of small models."""

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.decomposition.topics.topic_moments import (
    WordMoments,
    estimated_concentration,
    solve_topics,
)
from bigtensor.errors import IdentifiabilityError


def raw_moments(topics, prior):
    """Return the moments of three words of a document, summed over all topics of the words.

    Moments of shares under a Dirichlet prior are products of rising factorials.
    """
    k, total = len(prior), prior.sum()
    pair, triple = np.zeros((k, k)), np.zeros((k, k, k))
    for i, j in np.ndindex(k, k):
        pair[i, j] = prior[i] * (prior[j] + (i == j)) / (total * (total + 1))
        for p in range(k):
            third = prior[p] + (p == i) + (p == j)
            triple[i, j, p] = pair[i, j] * third / (total + 2)
    return WordMoments(
        topics @ prior / total,
        topics @ pair @ topics.T,
        np.einsum("ijp,ai,bj,cp->abc", triple, topics, topics, topics),
    )


@pytest.mark.parametrize(("k", "concentration"), [(1, 0.7), (3, 0.5), (4, 2.0), (5, 12.0)])
def test_exact_moments__return_topics_and_prior(k, concentration):
    rng = default_rng(k)
    topics = rng.dirichlet(np.full(20, 0.3), k).T
    prior = concentration * rng.dirichlet(np.full(k, 5.0))
    found = solve_topics(raw_moments(topics, prior), k, concentration)
    order = np.argmin(np.abs(found.topics[:, :, None] - topics[:, None]).sum(axis=0), axis=0)
    assert sorted(order) == list(range(k))
    assert found.topics[:, order] == pytest.approx(topics, abs=1e-8)
    assert found.prior[order] == pytest.approx(prior, rel=1e-8)
    assert found.diagonality == pytest.approx(1, abs=1e-10)


def test_any_coordinates__give_the_same_topics():
    rng = default_rng(0)
    topics = rng.dirichlet(np.full(15, 0.3), 3).T
    prior = np.array([0.2, 0.5, 0.4])
    whole = raw_moments(topics, prior)
    columns = rng.normal(size=(15, 6))
    reduced = WordMoments(
        columns.T @ whole.mean,
        columns.T @ whole.pair @ columns,
        np.einsum("abc,ai,bj,cp->ijp", whole.triple, columns, columns, columns),
    )
    found = solve_topics(reduced, 3, prior.sum())
    expected = columns.T @ topics
    order = np.argmin(np.abs(found.topics[:, :, None] - expected[:, None]).sum(axis=0), axis=0)
    assert found.topics[:, order] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("concentration", [0.3, 1.0, 6.0])
@pytest.mark.parametrize("guess", [0.1, 1.0, 20.0])
def test_concentration__is_that_of_the_moments(concentration, guess):
    rng = default_rng(2)
    topics = rng.dirichlet(np.full(20, 0.3), 4).T
    prior = concentration * rng.dirichlet(np.full(4, 5.0))
    found = estimated_concentration(raw_moments(topics, prior), 4, guess)
    assert found == pytest.approx(concentration, rel=1e-5)


@pytest.mark.parametrize("concentration", [0.2, 3.0, 20.0])
def test_moments_of_two_topics__agree_with_every_concentration(concentration):
    topics = default_rng(4).dirichlet(np.full(12, 0.5), 2).T
    moments = raw_moments(topics, np.array([0.4, 0.8]))
    other = solve_topics(moments, 2, concentration)
    again = raw_moments(other.topics, other.prior)
    assert other.prior.sum() == pytest.approx(concentration)
    assert again.mean == pytest.approx(moments.mean, abs=1e-12)
    assert again.pair == pytest.approx(moments.pair, abs=1e-12)
    assert again.triple == pytest.approx(moments.triple, abs=1e-12)
    with pytest.raises(IdentifiabilityError, match="two topics"):
        estimated_concentration(moments, 2)


def test_a_wrong_concentration__is_no_sum_of_topics():
    rng = default_rng(3)
    topics = rng.dirichlet(np.full(20, 0.3), 4).T
    moments = raw_moments(topics, np.full(4, 0.25))
    assert solve_topics(moments, 4, 3.0).diagonality < 0.999
    assert solve_topics(moments, 4, 1.0).diagonality > 1 - 1e-12
