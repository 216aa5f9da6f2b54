"""Expected counts of the words of every topic, by Gibbs sampling inside each document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import reducing_row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.stop_requests import stoppable_pieces
from bigtensor.statistics.topics.documents import BLOCK_ROWS, Documents, document_keys

LONGEST = 10_000
"""Words of a document that are drawn one by one; of a longer one, each stands for several."""

_MOST_TERMS = 10_000
"""Largest number of terms that are added up for a difference of digamma functions. Beyond it, three
terms of the asymptotic series are exact to the last digit."""


@dataclass(frozen=True, eq=False)
class TopicCountsResult:
    """Expected counts of one step of Monte Carlo expectation maximisation.

    Attributes
    ----------
    counts : (V, k) float64 array
        Expected number of times that a topic gives a word.
    slope, curvature : (k,) float64 arrays
        First derivatives of the log-likelihood of the drawn topics by the parameters of the prior,
        but for the term of all of them; and minus the second derivatives.
    common_slope, common_curvature : float
        The term of their sum, which every derivative has less of.
    words : float
        Number of words, with the weights of their documents.
    """

    counts: FloatArray
    slope: FloatArray
    curvature: FloatArray
    common_slope: float
    common_curvature: float
    words: float


@dataclass(frozen=True, eq=False)
class TopicCounts(SumStatistic[TopicCountsResult]):
    """Posterior expectation of the topics of all words, by sweeps inside every document.

    Topics of the words of a document are drawn in turn, given its other words and the Dirichlet
    prior of its shares (Griffiths and Steyvers 2004, with topics held fixed). After some sweeps the
    conditional probabilities are averaged, rather than the draws. Random numbers depend on the
    words of the document and the number of the step alone.

    Parameters
    ----------
    topics : (V, k) float64 array
        Columns sum to one.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior.
    step : int
        Number of the step, for the random numbers.
    random_state : int
        Seed of the draws.
    burn_in, kept : int
        Sweeps before, and sweeps whose probabilities count.
    most_words : float
        Largest number of words that a document counts for. The words of a longer one count less.
    """

    topics: FloatArray
    prior: FloatArray
    step: int = 0
    random_state: int = 0
    burn_in: int = 4
    kept: int = 4
    most_words: float = np.inf

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        k = len(self.prior)
        return {
            "by_draws": (self.topics.shape, "float64"),
            "by_prior": ((len(self.topics),), "float64"),
            "derivatives": ((2, k + 1), "float64"),
            "words": ((), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        block = block.without_halo()
        documents = Documents.of_block(block)
        counts, scale = _thinned(documents)
        weight = block.row_weights()
        starts = documents.starts
        words = np.concatenate([[0], np.cumsum(np.maximum(documents.counts, 0), dtype=np.float64)])
        lengths = np.diff(words[starts])
        of_count = np.repeat(weight * self._share_of_words(lengths), np.diff(starts))
        counts[of_count == 0] = 0
        # what a drawn word adds in a sweep: it may stand for several, and sweeps are averaged
        shares = of_count * documents.counts / (np.maximum(counts, 1) * self.kept)
        ends = np.concatenate([[0], np.cumsum(counts)])
        drawn = np.diff(ends[starts])
        drawn_words = work.take(
            "topic_counts.drawn_words", (block.rows, len(self.prior)), "float64"
        )
        drawn_words[:] = 0
        topic_of = work.take("topic_counts.topic_of", (int(drawn.max(initial=1)),), "int64")
        keys = document_keys(documents, self.random_state, f"topics{self.step}")
        sweeps = np.array([self.burn_in, self.kept])
        prior_mass = self.topics @ self.prior
        for piece in stoppable_pieces(drawn * len(self.prior) * (1.0 + sweeps.sum())):
            _add_topic_counts(
                starts[piece.start : piece.stop + 1],
                documents.words,
                ends,
                shares,
                scale[piece],
                keys[piece],
                self.topics,
                self.prior,
                prior_mass,
                sweeps,
                topic_of,
                state["by_draws"],
                state["by_prior"],
                drawn_words[piece],
            )
        drawn_words *= scale[:, None]
        _add_derivatives(drawn_words, self.prior, weight, state["derivatives"])
        state["words"] += weight @ lengths

    def finalize(self, state: State) -> TopicCountsResult:
        """Return the sums."""
        (*slope, common_slope), (*curvature, common_curvature) = state["derivatives"]
        return TopicCountsResult(
            counts=state["by_draws"] + state["by_prior"][:, None] * self.topics * self.prior,
            slope=np.array(slope),
            curvature=np.array(curvature),
            common_slope=float(common_slope),
            common_curvature=float(common_curvature),
            words=float(state["words"]),
        )

    def _share_of_words(self, lengths: FloatArray) -> FloatArray:
        """Return the weight of every word of documents, at most one: ``(documents,)``."""
        return np.asarray(np.minimum(1.0, self.most_words / np.maximum(lengths, 1.0)))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows of a thousand words."""
        return rows * 8 * (16 + len(self.prior)) + 8 * 1000 * rows


def _thinned(documents: Documents) -> tuple[IntArray, FloatArray]:
    """Return counts of documents of bounded length, and how many words every drawn one stands for.

    The shares of a very long document are nearly certain, and hardly depend on every single word.
    """
    # a negative count is taken as zero, because it must not reduce the number of draws
    # sums of floats do not overflow, and are exact for documents that are not thinned
    counts = np.trunc(np.maximum(documents.counts, 0).astype(np.float64))
    before = np.concatenate([[0.0], np.cumsum(counts)])
    scale = np.maximum(np.diff(before[documents.starts]) / LONGEST, 1.0)
    if not (scale > 1).any():
        return counts.astype(np.int64), scale
    of_count = np.repeat(scale, np.diff(documents.starts))
    rounded = np.maximum(np.rint(counts / of_count), 1)
    return np.where(counts > 0, rounded, 0).astype(np.int64), scale


def _add(
    starts: NDArray[np.integer[Any]],
    words: NDArray[np.integer[Any]],
    ends: IntArray,
    shares: FloatArray,
    scale: FloatArray,
    keys: NDArray[np.uint64],
    topics: FloatArray,
    prior: FloatArray,
    prior_mass: FloatArray,
    sweeps: IntArray,
    topic_of: IntArray,
    by_draws: FloatArray,
    by_prior: FloatArray,
    drawn_words: FloatArray,
) -> None:
    """Add the averaged conditional probabilities of the topics of all words.

    A probability is a topic's share of the word times the sum of its prior and of the words of the
    document that have it. The second part is zero but for the few topics of the document; the first
    one is the same for all documents, of which only the mass is added here (Yao, Mimno and McCallum
    2009, Efficient methods for topic model inference on streaming document collections).

    Words of count i are drawn ``ends[i]`` to ``ends[i + 1]``, each for ``scale`` words of its
    document. In a sweep of number -1 every word is alone. ``present`` lists the topics of the
    document, and ``place_of`` their places in it. Random numbers are those of SplitMix64 (Steele,
    Lea and Flood 2014).
    """
    k = len(prior)
    own, present, place_of = np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)
    for row in range(len(starts) - 1):
        state, of_topic, n_present, first = keys[row], drawn_words[row], 0, ends[starts[row]]
        for sweep in range(-1, sweeps[0] + sweeps[1]):
            for at in range(starts[row], starts[row + 1]):
                word, by_topic = words[at], topics[words[at]]
                for place in range(ends[at] - first, ends[at + 1] - first):
                    if sweep >= 0:
                        left = topic_of[place]
                        of_topic[left] -= 1
                        if of_topic[left] == 0:
                            n_present -= 1
                            present[place_of[left]] = present[n_present]
                            place_of[present[n_present]] = place_of[left]
                    n_likely, of_draws, drawn = n_present if sweep >= 0 else 0, 0.0, 0
                    for i in range(n_likely):
                        own[i] = scale[row] * by_topic[present[i]] * of_topic[present[i]]
                    for i in range(n_likely):
                        of_draws += own[i]
                    mass = of_draws + prior_mass[word]
                    state += np.uint64(0x9E3779B97F4A7C15)
                    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    level = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * (mass / 2.0**53)
                    if level < of_draws:
                        while drawn < n_likely - 1 and level >= own[drawn]:
                            level -= own[drawn]
                            drawn += 1
                        drawn = present[drawn]
                    else:
                        level -= of_draws
                        while drawn < k - 1 and level >= by_topic[drawn] * prior[drawn]:
                            level -= by_topic[drawn] * prior[drawn]
                            drawn += 1
                    if sweep >= sweeps[0]:
                        by_prior[word] += shares[at] / mass
                        for i in range(n_likely):
                            by_draws[word, present[i]] += shares[at] / mass * own[i]
                    topic_of[place] = drawn
                    if of_topic[drawn] == 0:
                        present[n_present], place_of[drawn] = drawn, n_present
                        n_present += 1
                    of_topic[drawn] += 1


def _add_derivatives(
    drawn_words: FloatArray, prior: FloatArray, weight: FloatArray, derivatives: FloatArray
) -> None:
    """Add differences of the digamma function and of minus its derivative, by the last draw.

    The last parameter is the sum of the prior, and its words are all words of a document. The
    differences are sums of ``1 / (prior + i)`` and of its square over the words i, so that
    documents with more than i words are counted for every i.
    """
    words = np.rint(np.column_stack([drawn_words, drawn_words.sum(axis=1)]))
    starts = np.append(prior, prior.sum())
    for j, start in enumerate(starts):
        own = words[:, j]
        summed = np.minimum(own, _MOST_TERMS).astype(np.int64)
        longer = np.cumsum(np.bincount(summed, weight, 1)[:0:-1])[::-1]
        inverse = 1 / (start + np.arange(len(longer)))
        derivatives[0, j] += longer @ inverse
        derivatives[1, j] += longer @ np.square(inverse)
        many = own > _MOST_TERMS
        if many.any():
            low, high = 1 / (start + _MOST_TERMS), 1 / (start + own[many])
            # asymptotic series (Abramowitz and Stegun 1964, 6.3.18 and 6.4.12)
            digamma = np.log(low / high) + (low - high) / 2 + (low**2 - high**2) / 12
            trigamma = low - high + (low**2 - high**2) / 2 + (low**3 - high**3) / 6
            derivatives[0, j] += weight[many] @ digamma
            derivatives[1, j] += weight[many] @ trigamma


_add_topic_counts = reducing_row_loop(_add)
