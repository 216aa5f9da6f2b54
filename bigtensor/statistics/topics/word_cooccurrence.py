"""Documents in which pairs of chosen words occur together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.rows.block import Block
from bigtensor.features.row_loops import row_loop
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.topics.documents import BLOCK_ROWS, Documents


@dataclass(frozen=True, eq=False)
class WordCooccurrenceResult:
    """Shares of the documents.

    Attributes
    ----------
    together : (m, m) float64 array
        Share of the documents that have both words; on the diagonal, that have the word.
    documents : float
        Weight of all documents.
    """

    together: FloatArray
    documents: float


@dataclass(frozen=True, eq=False)
class WordCooccurrence(SumStatistic[WordCooccurrenceResult]):
    """Share of the documents that have both words of a pair.

    Parameters
    ----------
    words : tuple of int
        Columns of the m words, ascending.
    n_words : int
        Size of the vocabulary V.
    """

    words: tuple[int, ...]
    n_words: int

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        m = len(self.words)
        return {"together": ((m, m), "float64"), "documents": ((), "float64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        documents = Documents.of_block(block.without_halo())
        place = work.take("cooccurrence.place", (self.n_words,), "int64")
        place.fill(-1)
        place[list(self.words)] = np.arange(len(self.words))
        weight = block.row_weights()
        _add(documents.starts, documents.words, documents.counts, place, weight, state["together"])
        state["documents"] += weight.sum()

    def finalize(self, state: State) -> WordCooccurrenceResult:
        """Divide by the weight of the documents."""
        total = float(state["documents"])
        upper = np.triu(state["together"])
        both = upper + np.triu(upper, 1).T
        return WordCooccurrenceResult(both / max(total, np.finfo(np.float64).tiny), total)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return 8 * (self.n_words + rows)


@row_loop
def _add(
    starts: NDArray[np.integer[Any]],
    words: NDArray[np.integer[Any]],
    counts: NDArray[Any],
    place: IntArray,
    weight: FloatArray,
    total: FloatArray,
) -> None:
    """Add the weight of every document to the pairs of its chosen words; columns ascend."""
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            if place[words[at]] < 0 or counts[at] <= 0:
                continue
            for other in range(at, starts[row + 1]):
                if place[words[other]] >= 0 and counts[other] > 0:
                    total[place[words[at]], place[words[other]]] += weight[row]
