"""Shares of the topics of every document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import reducing_row_loop
from bigtensor.statistics.base import RowFunction, RowOutput, Workspace
from bigtensor.statistics.stop_requests import stoppable_pieces
from bigtensor.statistics.topics.documents import BLOCK_ROWS, Documents, negative_counts

TOPIC_SHARE = "topic_share"
"""Name of the output."""

_MOST_ITERATIONS = 200
"""Bound of the iterations of one document."""

_STILL = 1e-5
"""Change of the expected counts of the topics, as a share of all words, that ends iterations.

The shares are then off by about as much.
"""

_RELAXATION = 1.5
"""Length of a step towards the topics of a word, over that of a fixed-point iteration.

On news, digits and simulated documents it needs a third of the iterations and ends at the same
shares.
"""


@dataclass(frozen=True, eq=False)
class TopicShares(RowFunction):
    """Expected shares of the topics of every document, by collapsed variational inference.

    Every word of a document has a distribution over topics, which follows from the expected topics
    of its other words until nothing changes (zero-order collapsed variational Bayes: Asuncion,
    Welling, Smyth and Teh 2009, equation 15, with topics held fixed), by over-relaxed steps. A
    document without a word has the shares of the prior.

    Parameters
    ----------
    topics : (V, k) float64 array
        Columns sum to one.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior.
    """

    topics: FloatArray
    prior: FloatArray

    block_rows: ClassVar[int] = BLOCK_ROWS

    @property
    def outputs(self) -> tuple[RowOutput, ...]:
        """The shares, one a topic."""
        return (RowOutput(TOPIC_SHARE, "float64", {"topic": len(self.prior)}),)

    def evaluate(self, block: Block, out: Mapping[str, NDArray[Any]], work: Workspace) -> None:
        """Write the shares of the rows of ``block``."""
        documents = Documents.of_block(block)
        shares = work.take("topic_shares.shares", (block.rows, len(self.prior)), "float64")
        infer_shares(documents, documents.counts, self.topics, self.prior, shares, work)
        out[TOPIC_SHARE][...] = shares

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows of a thousand words."""
        return 8 * len(self.prior) * (rows + 1000)


def infer_shares(
    documents: Documents,
    counts: NDArray[Any],
    topics: FloatArray,
    prior: FloatArray,
    shares: FloatArray,
    work: Workspace,
) -> None:
    """Write the expected shares of the topics of documents.

    Parameters
    ----------
    documents : Documents
        Words of the documents.
    counts : (stored,) array
        Of their words: all of them, or those that are to be seen.
    topics : (V, k) float64 array
        Probabilities of the words of every topic.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior.
    shares : (n, k) float64 array
        Written.
    work : Workspace
        Buffers that are reused from block to block.

    Raises
    ------
    DataError
        When counts are negative, of which shares would be negative too.
    """
    if negative := int(documents.faults[0]):
        raise negative_counts(negative)
    stored, k = np.diff(documents.starts), len(prior)
    of_word = work.take("topic_shares.of_word", (int(stored.max(initial=1)), k), "float64")
    rule = np.array([_MOST_ITERATIONS, _STILL, _RELAXATION])
    for piece in stoppable_pieces(stored * (float(k) * _MOST_ITERATIONS)):
        starts = documents.starts[piece.start : piece.stop + 1]
        _infer(starts, documents.words, counts, topics, prior, rule, of_word, shares[piece])


@reducing_row_loop
def _infer(
    starts: NDArray[np.integer[Any]],
    words: NDArray[np.integer[Any]],
    counts: NDArray[Any],
    topics: FloatArray,
    prior: FloatArray,
    rule: FloatArray,
    of_word: FloatArray,
    shares: FloatArray,
) -> None:
    """Write the shares of every document; ``rule`` is most iterations, change and relaxation."""
    k, concentration = len(prior), prior.sum()
    own, before = np.empty(k), np.empty(k)
    for row in range(len(starts) - 1):
        first, last = starts[row], starts[row + 1]
        expected, length = shares[row], 0.0
        expected[:] = 0
        for at in range(first, last):
            likely, mine, mass = topics[words[at]], of_word[at - first], 0.0
            for j in range(k):
                own[j] = likely[j] * prior[j]
            for j in range(k):
                mass += own[j]
            for j in range(k):
                mine[j] = own[j] / mass
                expected[j] += counts[at] * mine[j]
            length += counts[at]
        for _ in range(int(rule[0])):
            for j in range(k):
                before[j] = expected[j]
            for at in range(first, last):
                if counts[at] <= 0:
                    continue
                likely, mine, mass = topics[words[at]], of_word[at - first], 0.0
                # a word is not told its own topic; of less than one word, all of it is its own
                alone = min(1.0, counts[at])
                for j in range(k):
                    others = max(expected[j] - alone * mine[j], 0.0)
                    own[j] = likely[j] * (prior[j] + others)
                for j in range(k):
                    mass += own[j]
                for j in range(k):
                    moved = rule[2] * (own[j] / mass - mine[j])
                    mine[j] += moved
                    expected[j] += counts[at] * moved
            change = 0.0
            for j in range(k):
                change += abs(expected[j] - before[j])
            if change <= rule[1] * max(length, 1.0):
                break
        for j in range(k):
            expected[j] = (prior[j] + max(expected[j], 0.0)) / (concentration + length)
