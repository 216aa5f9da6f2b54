"""A small run of the benchmark of topic models."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.benchmarks.topics import ONLINE, Corpus, on_corpus, topic_errors, variational


@pytest.mark.slow
@pytest.mark.benchmark
def test_small_corpus__is_found_at_least_as_well_as_by_variational_bayes():
    corpus = Corpus(1.0, "zipf", topics=5, words=300, documents=3000)
    rows = {row["method"]: row for row in on_corpus(corpus, 1, 0, 0)}
    counts, truth = corpus.draw(0)
    found, _ = variational(1.0, **ONLINE)(counts, 5, 0)
    assert rows["TopicModel"]["lost"] == 0
    assert rows["TopicModel"]["error"] < min(0.1, topic_errors(truth, found).mean())
    assert rows["TopicModel"]["error"] < rows["moments alone"]["error"]


def test_errors__match_topics_one_to_one():
    truth = np.eye(4)[:, :3]
    assert topic_errors(truth, truth[:, [2, 0, 1]]) == pytest.approx(np.zeros(3))
    assert topic_errors(truth, np.eye(4)[:, 1:]).tolist() == [2, 0, 0]


def test_corpora__are_the_same_for_a_seed():
    corpus = Corpus(5.0, "uniform", topics=3, words=50, documents=40)
    (one, _), (other, _) = corpus.draw(3), corpus.draw(3)
    assert isinstance(one, csr_array)
    assert (one != other).nnz == 0
