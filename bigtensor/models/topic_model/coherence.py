"""Coherence of topics: how often their likely words share documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.statistics.topics.word_cooccurrence import WordCooccurrenceResult


def likely_words(topics: FloatArray, n_words: int) -> NDArray[np.intp]:
    """Return the columns of the likeliest words of every topic, descending, (k, n_words).

    Parameters
    ----------
    topics : (V, k) float64 array
        Probabilities of the words of every topic.
    n_words : int
        Number of words of every topic.
    """
    return np.argsort(-topics, axis=0, kind="stable")[:n_words].T


def mean_npmi(cooccurrence: WordCooccurrenceResult, places: NDArray[np.intp]) -> FloatArray:
    """Return the mean normalised pointwise mutual information of the words of every topic.

    It is 1 for words that share all their documents, 0 for independent words and -1 for words that
    share none (Bouma 2009; Lau, Newman and Baldwin 2014).

    Parameters
    ----------
    cooccurrence : WordCooccurrenceResult
        Shares of the documents that hold pairs of words.
    places : (k, n) integer array
        Words of every topic among those of `cooccurrence`.

    Returns
    -------
    (k,) float64 array
        NaN for a topic of which no pair of words occurs.
    """
    first, second = np.triu_indices(places.shape[1], 1)
    a, b = places[:, first], places[:, second]
    single = np.diag(cooccurrence.together)
    both, apart = cooccurrence.together[a, b], single[a] * single[b]
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(both / apart) / -np.log(both)
    npmi[both == 0] = -1
    npmi[both == 1] = 1
    npmi[apart == 0] = np.nan
    occurs = ~np.isnan(npmi)
    total = np.where(occurs, npmi, 0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / occurs.sum(axis=1))
