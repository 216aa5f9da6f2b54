"""Fitted topics, in their order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.descending_order import descending_order
from bigtensor.models.contract.data_shape import NamedViews
from bigtensor.statistics.topics.document_completion import (
    DocumentCompletion,
    DocumentCompletionResult,
)
from bigtensor.statistics.topics.topic_shares import TopicShares
from bigtensor.statistics.topics.word_order import OfOrderedWords


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics and the prior of their shares.

    Attributes
    ----------
    topics : (V, k) float64 array
        Probabilities of the words of every topic.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior of the shares.
    words : (k,) float64 array
        Expected number of words of every topic in all documents, descending.
    mean_length : float
        Words of a document.
    views : tuple of (name, features)
        Names of the views and of their features.
    """

    topics: FloatArray
    prior: FloatArray
    words: FloatArray
    mean_length: float
    views: NamedViews

    @property
    def n_components(self) -> int:
        """Number of topics k."""
        return len(self.prior)

    def by_words(self) -> Topics:
        """Return the topics by descending number of words."""
        order = descending_order(self.words)
        topics = np.ascontiguousarray(self.topics[:, order])
        return replace(self, topics=topics, prior=self.prior[order], words=self.words[order])

    def of_words(self, places: IndexArray) -> Topics:
        """Return the topics with words in another order.

        Parameters
        ----------
        places : (V,) integer array
            Present position of every word of the new order.
        """
        return replace(self, topics=self.topics[places])

    def shares(self) -> TopicShares:
        """Return the function that gives the shares of the topics of every document."""
        return TopicShares(self.topics, self.prior)

    def completion(self, random_state: int) -> DocumentCompletion:
        """Return the sum that gives the log-probability of held-out words."""
        return DocumentCompletion(self.topics, self.prior, random_state)

    def pooled(self) -> Topics:
        """Return a single topic, with the words of all topics."""
        words = self.words.sum()
        pooled = (self.topics @ (self.words / words))[:, None]
        return replace(self, topics=pooled, prior=np.ones(1), words=np.array([words]))

    def ordered_completion(self, random_state: int) -> OfOrderedWords[DocumentCompletionResult]:
        """Return `completion` with draws that do not depend on the order of the vocabulary."""
        order = np.lexsort(self.topics.T)
        return OfOrderedWords(self.of_words(order).completion(random_state), order)

    def draw(self, n_documents: int, rng: np.random.Generator) -> sp.csr_array:
        """Draw documents whose lengths are Poisson numbers of the mean length of the fit."""
        lengths = rng.poisson(self.mean_length, n_documents)
        shares = rng.dirichlet(self.prior, n_documents)
        levels = np.cumsum(self.topics, axis=0)
        words, starts = list[NDArray[np.intp]](), np.concatenate([[0], np.cumsum(lengths)])
        for own, length in zip(shares, lengths, strict=True):
            of_topic = rng.multinomial(length, own)
            words += [
                np.searchsorted(levels[:-1, j], rng.random(count), side="right")
                for j, count in enumerate(of_topic)
            ]
        columns = np.concatenate(words) if words else np.empty(0, np.intp)
        ones = np.ones(len(columns), np.int32)
        drawn = sp.csr_array((ones, columns, starts), shape=(n_documents, len(self.topics)))
        drawn.sum_duplicates()
        return drawn
