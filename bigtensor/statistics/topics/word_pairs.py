"""Moment of pairs of words, contracted with columns: the span of the topics in two passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bigtensor.array_types import FloatArray
from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State, SumStatistic, Workspace
from bigtensor.statistics.topics.documents import (
    BLOCK_ROWS,
    Documents,
    add_outer,
    add_words,
    project,
)


@dataclass(frozen=True, eq=False)
class WordPairsResult:
    """Moments of single words and of pairs of words.

    Attributes
    ----------
    mean : (V,) float64 array
        Mean frequency of every word, M1.
    contracted : (V, r) float64 array
        Moment of two words of a document, E2, times the columns.
    influence : float
        Sum of the influences of the documents that have three words at least.
    negative, broken, large : int
        Number of counts that are negative, not whole, or above `LARGEST_COUNT`.
    short : int
        Number of documents of fewer than three words.
    """

    mean: FloatArray
    contracted: FloatArray
    influence: float
    negative: int
    broken: int
    large: int
    short: int


@dataclass(frozen=True, eq=False)
class WordPairs(SumStatistic[WordPairsResult]):
    """Contraction of the moment of two words of a document with columns.

    A word does not pair with itself at its own place, so that counts are corrected on the diagonal.
    Documents of fewer than three words are left out.

    Parameters
    ----------
    columns : (V, r) float64 array
        Columns that the moment is contracted with.
    """

    columns: FloatArray

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        words, _ = self.columns.shape
        return {
            "contracted": (self.columns.shape, "float64"),
            "squares": ((words,), "float64"),
            "mean": ((words,), "float64"),
            "influence": ((), "float64"),
            "faults": ((4,), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        documents = Documents.of_block(block)
        shape = block.rows, self.columns.shape[1]
        projected = work.take("pairs.projected", shape, "float64")
        project(documents, self.columns, projected)
        add_outer(documents, documents.of_pair, projected, state["contracted"])
        add_words(documents, documents.of_pair, state["squares"])
        add_words(documents, documents.of_word, state["mean"])
        state["influence"] += documents.influence
        state["faults"] += documents.faults

    def finalize(self, state: State) -> WordPairsResult:
        """Divide by the influence of the documents; without one, moments are zero."""
        influence = float(state["influence"])
        total = influence or 1.0
        contracted = state["contracted"] - state["squares"][:, None] * self.columns
        counted = map(int, state["faults"])
        return WordPairsResult(state["mean"] / total, contracted / total, influence, *counted)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        return 8 * rows * (int(self.columns.shape[1]) + 8)
