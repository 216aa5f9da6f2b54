"""Laws of statistics of word counts."""

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.statistics.topics.document_completion import DocumentCompletion
from bigtensor.statistics.topics.held_out_documents import OfDocuments
from bigtensor.statistics.topics.pairs_of_groups import PairsOfGroups
from bigtensor.statistics.topics.topic_counts import TopicCounts
from bigtensor.statistics.topics.word_cooccurrence import WordCooccurrence
from bigtensor.statistics.topics.word_order import OfOrderedWords, WordOrder
from bigtensor.statistics.topics.word_pairs import WordPairs
from bigtensor.statistics.topics.word_triples import WordTriples
from bigtensor.testing import STATISTIC_LAWS, StatisticCase

WORDS, COLUMNS = 12, 4

SPAN = default_rng(1).normal(size=(WORDS, COLUMNS))
TOPICS, PRIOR = default_rng(2).dirichlet(np.full(WORDS, 0.5), 3).T, np.array([0.3, 0.9, 0.5])

STATISTICS = (
    WordPairs(SPAN),
    WordTriples(SPAN),
    PairsOfGroups(SPAN, 3),
    WordCooccurrence((1, 4, 7), WORDS),
    TopicCounts(TOPICS, PRIOR),
    DocumentCompletion(TOPICS, PRIOR),
    OfDocuments(WordPairs(SPAN), 3, True),
    WordOrder(np.arange(WORDS)[::-1].copy()),
    OfOrderedWords(WordPairs(SPAN), default_rng(5).permutation(WORDS)),
)


@pytest.mark.parametrize("law", STATISTIC_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_statistic_laws__hold(statistic, law):
    rate = default_rng(3).dirichlet(np.full(WORDS, 0.3), 150) * 8
    rows = default_rng(4).poisson(rate).astype(float)
    # sums over documents that do not depend on their order count a weight of two as two documents
    law(StatisticCase(statistic, rows, unweighted=("faults",)))
