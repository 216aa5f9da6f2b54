"""Probability of one half of the words of every document, given the other half."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.topics.documents import BLOCK_ROWS, Documents, document_keys
from bigtensor.statistics.topics.topic_shares import infer_shares

_MOST_DRAWS = 10_000
"""Largest count of a word whose occurrences are drawn one by one.

The part of a larger count in one half of the document is drawn from a normal distribution. It
differs from the binomial distribution by less than 1 / 10,000.
"""


@dataclass(frozen=True, eq=False)
class DocumentCompletionResult:
    """Log-probability of held-out words.

    Attributes
    ----------
    log_probability : float
        In nats, with the weights of the documents.
    words : float
        Number of these words, with the weights of their documents.
    """

    log_probability: float
    words: float

    @property
    def mean(self) -> float:
        """Mean log-probability of a word, in nats; NaN without a word."""
        return self.log_probability / self.words if self.words else float("nan")


@dataclass(frozen=True, eq=False)
class DocumentCompletion(SumStatistic[DocumentCompletionResult]):
    """Log-probability of held-out words of documents whose shares follow from their other words.

    Every word of a document is shown or held out with the same probability (Wallach, Murray,
    Salakhutdinov and Mimno 2009, section 5.1). The draw depends on the words of the document alone,
    and not on its place.

    Parameters
    ----------
    topics : (V, k) float64 array
        Columns sum to one.
    prior : (k,) float64 array
        Parameters of the Dirichlet prior.
    random_state : int
        Seed of the choice of the held-out words.
    """

    topics: FloatArray
    prior: FloatArray
    random_state: int = 0

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {"log_probability": ((), "float64"), "words": ((), "float64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        documents = Documents.of_block(block.without_halo())
        stored = documents.counts.shape
        shown = work.take("completion.shown", stored, "float64")
        keys = document_keys(documents, self.random_state, "completion")
        _split(documents.starts, documents.counts, keys, shown)
        shares = work.take("completion.shares", (block.rows, len(self.prior)), "float64")
        infer_shares(documents, shown, self.topics, self.prior, shares, work)
        weight = block.row_weights()
        log_probability, words = _score(documents, shown, shares, self.topics, weight)
        state["log_probability"] += log_probability
        state["words"] += words

    def finalize(self, state: State) -> DocumentCompletionResult:
        """Return the sums."""
        return DocumentCompletionResult(float(state["log_probability"]), float(state["words"]))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows of a thousand words."""
        return 8 * (len(self.prior) * (rows + 1000) + 1000 * rows)


@row_loop
def _split(
    starts: NDArray[np.integer[Any]],
    counts: NDArray[Any],
    keys: NDArray[np.uint64],
    shown: FloatArray,
) -> None:
    """Write how many of every word are shown; SplitMix64 (Steele, Lea and Flood 2014) draws."""
    uniform = np.empty(2)
    for row in range(len(starts) - 1):
        key = keys[row]
        for at in range(starts[row], starts[row + 1]):
            shown[at], left = 0.0, float(counts[at])
            if left > _MOST_DRAWS:
                for i in range(2):
                    key += np.uint64(0x9E3779B97F4A7C15)
                    mixed = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    mixed ^= mixed >> np.uint64(31)
                    uniform[i] = ((mixed >> np.uint64(11)) + 0.5) / 9007199254740992.0
                # Box and Muller 1958
                normal = np.sqrt(-2 * np.log(uniform[0])) * np.cos(2 * np.pi * uniform[1])
                whole = np.floor(left)
                heads = np.rint(whole / 2 + np.sqrt(whole) / 2 * normal)
                shown[at] = min(max(heads, 0.0), whole)
                left -= whole
            while left > 0:
                key += np.uint64(0x9E3779B97F4A7C15)
                mixed = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                # the rest of a count that is not whole stays together
                part = min(left, 1.0)
                if (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(63):
                    shown[at] += part
                left -= part


def _score(
    documents: Documents,
    shown: FloatArray,
    shares: FloatArray,
    topics: FloatArray,
    weight: FloatArray,
) -> tuple[float, float]:
    """Return the log-probability of the words that are not shown, and their number."""
    log_probability, words = 0.0, 0.0
    for row, (first, last) in enumerate(pairwise(documents.starts.tolist())):
        held = documents.counts[first:last] - shown[first:last]
        at = held > 0
        if not at.any():
            continue
        probability = topics[documents.words[first:last][at]] @ shares[row]
        log_probability += weight[row] * float(held[at] @ np.log(probability))
        words += weight[row] * float(held[at].sum())
    return log_probability, words
