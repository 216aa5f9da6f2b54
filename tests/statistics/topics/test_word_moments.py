"""Moments of words against sums over all pairs and triples of places of documents."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.statistics.in_memory import sum_in_memory
from bigtensor.statistics.topics.documents import HALF_INFLUENCE
from bigtensor.statistics.topics.word_pairs import WordPairs
from bigtensor.statistics.topics.word_triples import WordTriples

WORDS, COLUMNS = 20, 4


def counts(n=12, seed=0, dtype=np.float32):
    """Return documents of very different length, some of which are too short."""
    rng = default_rng(seed)
    rate = rng.dirichlet(np.full(WORDS, 0.3), n) * rng.choice([1, 4, 9], n)[:, None]
    found = rng.poisson(rate).astype(dtype)
    found[0] = 0
    found[1] = 0
    found[1, 3] = 2
    return found


def columns(seed=1):
    return default_rng(seed).normal(size=(WORDS, COLUMNS))


def explicit(found, weight):
    """Return M1, E2 and E3, word by word and place by place."""
    mean, pair = np.zeros(WORDS), np.zeros((WORDS, WORDS))
    triple, total = np.zeros((WORDS,) * 3), 0.0
    for row, own in zip(found, weight, strict=True):
        places = np.repeat(np.arange(WORDS), row.astype(int))
        if len(places) < 3:
            continue
        own *= len(places) / (len(places) + HALF_INFLUENCE)
        total += own
        mean += own * row / len(places)
        pairs = list(permutations(places, 2))
        for a, b in pairs:
            pair[a, b] += own / len(pairs)
        triples = list(permutations(places, 3))
        for a, b, c in triples:
            triple[a, b, c] += own / len(triples)
    return mean / total, pair / total, triple / total, total


@pytest.mark.parametrize("kind", ["dense", "sparse", "integers"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments__are_means_over_places(kind, weighted):
    found, omega = counts(), columns()
    weight = default_rng(2).random(len(found)) if weighted else np.ones(len(found))
    mean, pair, triple, total = explicit(found, weight)
    values = {"dense": found, "sparse": sp.csr_array(found), "integers": found.astype(np.int64)}
    block = Block(values[kind], {}, 0, len(found), weight if weighted else None)
    pairs = sum_in_memory(WordPairs(omega), block)
    assert pairs.influence == pytest.approx(total)
    assert pairs.mean == pytest.approx(mean, abs=1e-14)
    assert pairs.contracted == pytest.approx(pair @ omega, abs=1e-14)
    triples = sum_in_memory(WordTriples(omega), block)
    assert triples.pair == pytest.approx(omega.T @ pair @ omega, abs=1e-12)
    direct = np.einsum("abc,ai,bj,ck->ijk", triple, omega, omega, omega)
    assert triples.triple == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize("statistic", [WordPairs, WordTriples])
def test_short_documents_alone__have_no_moments(statistic):
    block = Block(counts()[:2], {}, 0, 2)
    mean = sum_in_memory(statistic(columns()), block).mean
    np.testing.assert_array_equal(mean, np.zeros_like(mean))
