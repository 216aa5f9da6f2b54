"""Shares of topics against sums over all assignments of a short document."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.topics.topic_shares import TOPIC_SHARE, TopicShares
from bigtensor.testing import check_row_function
from tests.statistics.topics.test_topic_counts import WORDS, exact, model


def shares(rows, topics, prior):
    function = TopicShares(topics, prior)
    out = {TOPIC_SHARE: np.empty((rows.shape[0], len(prior)))}
    function.evaluate(Block(rows, {}, 0, rows.shape[0]), out, Workspace())
    return out[TOPIC_SHARE]


@pytest.mark.parametrize("row", [[2, 0, 1, 1, 0, 0], [0, 3, 0, 0, 2, 1], [0, 1, 0, 0, 0, 1]])
def test_shares__are_near_the_posterior_expectation(row):
    topics, prior = model()
    row = np.array(row, float)
    expected = exact(row, topics, prior).sum(axis=0) + prior
    found = shares(row[None], topics, prior)[0]
    # zero-order terms alone: a few hundredths where a document has a handful of words
    assert found == pytest.approx(expected / expected.sum(), abs=0.05)


def test_single_words__are_exact():
    topics, prior = model()
    found = shares(np.eye(WORDS), topics, prior)
    for word in range(WORDS):
        expected = prior + exact(np.eye(WORDS)[word], topics, prior).sum(axis=0)
        assert found[word] == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_topics_without_common_words__are_exact():
    topics = np.kron(np.eye(3), np.full((2, 1), 0.5))
    rows, prior = default_rng(0).poisson(3.0, (40, 6)), np.array([0.2, 0.5, 1.0])
    expected = prior + rows.reshape(40, 3, 2).sum(axis=2)
    found = shares(rows, np.maximum(topics, 1e-12), prior)
    assert found == pytest.approx(expected / expected.sum(axis=1, keepdims=True), abs=1e-8)


def test_empty_documents__have_the_shares_of_the_prior():
    topics, prior = model()
    found = shares(sp.csr_array(np.zeros((2, WORDS))), topics, prior)
    assert found == pytest.approx(np.tile(prior / prior.sum(), (2, 1)))


def test_row_function_laws__hold():
    topics, prior = model()
    rows = default_rng(1).poisson(2.0, (200, WORDS)).astype(np.float32)
    check_row_function(TopicShares(topics, prior), sp.csr_array(rows), rtol=1e-9)
