"""Moments of pairs and triples of words in the span of a few columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

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

_PRODUCT_ENTRIES = 2**20
"""Products of two projections that are made at once: 8 MiB."""


@dataclass(frozen=True, eq=False)
class WordTriplesResult:
    """Raw moments of words in the span of columns.

    Attributes
    ----------
    mean : (r,) float64 array
        M1 contracted with the columns.
    pair : (r, r) float64 array
        E2 contracted with the columns twice.
    triple : (r, r, r) float64 array
        E3 contracted with the columns three times.
    documents : float
        Weight of the documents that have three words at least.
    words : float
        Number of their words, with the weights of the documents.
    typical_length : float
        Geometric mean of their lengths, which no single document changes by much.
    """

    mean: FloatArray
    pair: FloatArray
    triple: FloatArray
    documents: float
    words: float
    typical_length: float


@dataclass(frozen=True, eq=False)
class WordTriples(SumStatistic[WordTriplesResult]):
    """Contractions of the moments of two and three words of a document with columns.

    No two of the words are at the same place of the document: counts are corrected where words of
    a pair or a triple are equal. Documents of fewer than three words are left out.

    Parameters
    ----------
    columns : (V, r) float64 array
        Columns that the moments are contracted with.
    """

    columns: FloatArray

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        words, r = self.columns.shape
        return {
            "mean": ((r,), "float64"),
            "pair": ((r, r), "float64"),
            "triple": ((r, r, r), "float64"),
            "contracted": ((words, r), "float64"),
            "squares": ((words,), "float64"),
            "cubes": ((words,), "float64"),
            "influence": ((), "float64"),
            "documents": ((), "float64"),
            "words": ((), "float64"),
            "log_lengths": ((), "float64"),
        }

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if not block.rows:
            return
        documents = Documents.of_block(block)
        n, r = block.rows, self.columns.shape[1]
        projected = work.take("triples.projected", (n, r), "float64")
        weighted = work.take("triples.weighted", (n, r), "float64")
        project(documents, self.columns, projected)
        state["mean"] += documents.of_word @ projected
        np.multiply(projected, documents.of_pair[:, None], out=weighted)
        state["pair"] += weighted.T @ projected
        np.multiply(projected, documents.of_triple[:, None], out=weighted)
        step = max(1, _PRODUCT_ENTRIES // r**2)
        products = work.take("triples.products", (min(step, n), r, r), "float64")
        for start in range(0, n, step):
            window = slice(start, min(start + step, n))
            both = products[: window.stop - start]
            np.multiply(projected[window, :, None], projected[window, None, :], out=both)
            flat = both.reshape(len(both), r * r)
            state["triple"] += (weighted[window].T @ flat).reshape(r, r, r)
        add_outer(documents, documents.of_triple, projected, state["contracted"])
        add_words(documents, documents.of_pair, state["squares"])
        add_words(documents, documents.of_triple, state["cubes"])
        state["influence"] += documents.influence
        state["documents"] += documents.weight
        state["words"] += documents.length
        state["log_lengths"] += documents.log_length

    def finalize(self, state: State) -> WordTriplesResult:
        """Correct for equal words, and divide by the influence of the documents.

        Without a document, moments are zero.
        """
        documents = float(state["documents"])
        total = float(state["influence"]) or 1.0
        columns = self.columns
        pair = state["pair"] - columns.T @ (state["squares"][:, None] * columns)
        r = columns.shape[1]
        equal, cubes = np.zeros((r * r, r)), np.zeros((r * r, r))
        step = max(1, _PRODUCT_ENTRIES // r**2)
        for start in range(0, len(columns), step):
            words = slice(start, start + step)
            products = (columns[words, :, None] * columns[words, None, :]).reshape(-1, r * r)
            equal += products.T @ state["contracted"][words]
            cubes += products.T @ (state["cubes"][words, None] * columns[words])
        of_pair = equal.reshape(r, r, r)
        triple = state["triple"] + 2 * cubes.reshape(r, r, r)
        triple -= of_pair + of_pair.transpose(0, 2, 1) + of_pair.transpose(2, 0, 1)
        typical = float(np.exp(state["log_lengths"] / (documents or 1.0)))
        return WordTriplesResult(
            *(state["mean"] / total, pair / total, triple / total),
            *(documents, float(state["words"]), typical),
        )

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the workspace for blocks of ``rows`` rows."""
        r = int(self.columns.shape[1])
        products = min(rows, max(1, _PRODUCT_ENTRIES // r**2)) * r**2
        return 8 * (rows * (2 * r + 8) + products + r**3)
