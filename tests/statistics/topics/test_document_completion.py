"""Probabilities of held-out words, where they are known."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.topics.document_completion import DocumentCompletion
from bigtensor.statistics.topics.held_out_documents import OfDocuments


def completed(rows, topics, prior, **settings):
    block = Block(rows, {}, 0, rows.shape[0])
    return sum_in_memory(DocumentCompletion(topics, prior, **settings), block)


def test_documents_of_one_topic__are_predicted_by_it():
    rng, prior = default_rng(0), np.full(2, 1e-6)
    words = rng.dirichlet(np.ones(30))
    topics = np.maximum(np.kron(np.eye(2), words[:, None]), 1e-30)
    own = topics[:, rng.integers(0, 2, 3000)].T
    rows = sp.csr_array(rng.multinomial(40, own / own.sum(axis=1, keepdims=True)))
    found = completed(rows, topics, prior)
    # of 120,000 words each is held out with probability one half
    assert found.words == pytest.approx(60_000, abs=4 * np.sqrt(30_000))
    deviation = np.sqrt((words @ np.log(words) ** 2 - (words @ np.log(words)) ** 2) / 60_000)
    assert found.mean == pytest.approx(words @ np.log(words), abs=4 * deviation)


def test_one_topic__gives_the_probability_of_its_words():
    rows, topic = default_rng(1).poisson(2.0, (500, 4)), np.array([[0.4], [0.3], [0.2], [0.1]])
    found = completed(rows, topic, np.ones(1))
    mean = rows.mean(axis=0) / rows.mean(axis=0).sum()
    assert found.mean == pytest.approx(mean @ np.log(topic[:, 0]), abs=0.05)


def test_result__does_not_depend_on_the_order_of_documents():
    rng = default_rng(2)
    rows, topics = rng.poisson(1.0, (300, 20)).astype(float), rng.dirichlet(np.ones(20), 3).T
    one, other = (completed(part, topics, np.ones(3)) for part in (rows, rows[::-1].copy()))
    assert other.words == one.words
    assert other.log_probability == pytest.approx(one.log_probability, rel=1e-12)


def test_counts_that_are_not_whole__are_split():
    rows = np.full((400, 3), 1.5)
    rows[:, 2] += np.arange(400)
    found = completed(rows, np.full((3, 2), 1 / 3), np.ones(2))
    assert found.words == pytest.approx(rows.sum() / 2, rel=0.02)
    assert found.mean == pytest.approx(np.log(1 / 3))


@pytest.mark.parametrize("count", [20_000, 10**12])
def test_halves_of_large_counts__are_binomial(count):
    rows = count + np.arange(300.0)[:, None]
    found = [
        completed(row[None], np.ones((1, 1)), np.ones(1), random_state=seed).words
        for seed, row in enumerate(rows)
    ]
    scores = (np.array(found) - rows[:, 0] / 2) / np.sqrt(rows[:, 0] / 4)
    assert scores.mean() == pytest.approx(0, abs=4 / np.sqrt(300))
    assert scores.var() == pytest.approx(1, abs=4 * np.sqrt(2 / 300))
    assert len({*found}) > 100


def test_held_out_documents__are_a_share_and_the_others_the_rest():
    rng = default_rng(3)
    rows, topics = rng.poisson(1.0, (2000, 20)), rng.dirichlet(np.ones(20), 3).T
    statistic = DocumentCompletion(topics, np.ones(3))
    block = Block(sp.csr_array(rows), {}, 0, 2000)
    held, rest, every = (
        sum_in_memory(one, block)
        for one in (OfDocuments(statistic, 10, True), OfDocuments(statistic, 10, False), statistic)
    )
    assert held.words + rest.words == every.words
    assert 0.07 < held.words / every.words < 0.13
    # equal documents stay together
    twice = Block(sp.csr_array(np.vstack([rows, rows])), {}, 0, 4000)
    assert sum_in_memory(OfDocuments(statistic, 10, True), twice).words == 2 * held.words
