"""Documents that words share, against products of indicators."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.models.topic_model.coherence import likely_words, mean_npmi
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.topics.word_cooccurrence import WordCooccurrence

WORDS = (1, 4, 5, 9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_shares__are_products_of_indicators(kind):
    rng = default_rng(0)
    rows, weight = rng.poisson(0.7, (300, 12)), rng.random(300)
    block = Block(kind(rows), {}, 0, 300, weight)
    found = sum_in_memory(WordCooccurrence(WORDS, 12), block)
    present = (rows[:, WORDS] > 0).astype(float)
    direct = (present * weight[:, None]).T @ present / weight.sum()
    assert found.together == pytest.approx(direct, rel=1e-12)
    assert found.documents == pytest.approx(weight.sum())


def test_npmi__is_the_mean_over_pairs():
    rows = default_rng(1).poisson(0.7, (400, 6))
    block = Block(rows, {}, 0, 400)
    found = sum_in_memory(WordCooccurrence(tuple(range(6)), 6), block)
    topics = default_rng(2).dirichlet(np.ones(6), 2).T
    places = likely_words(topics, 3)
    present = rows > 0
    for own, value in zip(places, mean_npmi(found, places), strict=True):
        direct = []
        for a, b in ((0, 1), (0, 2), (1, 2)):
            one, other = present[:, own[a]], present[:, own[b]]
            both = (one & other).mean()
            direct.append(np.log(both / one.mean() / other.mean()) / -np.log(both))
        assert value == pytest.approx(np.mean(direct))


def test_npmi__has_its_extremes():
    rows = np.repeat(np.array([[1, 1, 0, 0], [0, 0, 1, 0]]), 10, axis=0)
    found = sum_in_memory(WordCooccurrence((0, 1, 2, 3), 4), Block(rows, {}, 0, 20))
    together, apart, never = mean_npmi(found, np.array([[0, 1], [0, 2], [2, 3]]))
    assert together == pytest.approx(1)
    assert apart == -1
    assert np.isnan(never)
