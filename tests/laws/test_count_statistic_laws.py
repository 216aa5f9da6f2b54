"""Laws of statistics of word counts."""

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.statistics.topics.topic_counts import TopicCounts
from bigtensor.statistics.topics.word_pairs import WordPairs
from bigtensor.statistics.topics.word_triples import WordTriples
from bigtensor.testing import STATISTIC_LAWS, StatisticCase

WORDS, COLUMNS = 12, 4

STATISTICS = (
    WordPairs(default_rng(1).normal(size=(WORDS, COLUMNS))),
    WordTriples(default_rng(1).normal(size=(WORDS, COLUMNS))),
    TopicCounts(default_rng(2).dirichlet(np.full(WORDS, 0.5), 3).T, np.array([0.3, 0.9, 0.5])),
)


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_statistic_laws__hold(statistic, law):
    rate = default_rng(3).dirichlet(np.full(WORDS, 0.3), 150) * 8
    law(StatisticCase(statistic, default_rng(4).poisson(rate).astype(float)))
