"""Order of words by their content, and statistics of documents whose words have another order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from bigtensor.array_types import FloatArray, IndexArray
from bigtensor.data.rows.block import Block, Values
from bigtensor.statistics.base import (
    ArraySpec,
    OfOtherRows,
    Result,
    State,
    Statistic,
    SumStatistic,
    Workspace,
)
from bigtensor.statistics.topics.documents import BLOCK_ROWS, Documents, add_words

_DIGITS = 2.0**32
"""Differences of sums beyond these digits are rounding errors of another order of the documents."""


@dataclass(frozen=True, eq=False)
class WordOrder(SumStatistic[IndexArray]):
    """Positions of the words in the order of their content, by descending frequency.

    Random numbers that follow this order are the same for any order of the vocabulary. Words of
    equal frequency are told apart by sums over the documents that they occur in: of the squares and
    of the cubes of the shares of the words of a document. Names decide between words whose sums are
    equal, which are many where documents are short. Documents of fewer than three words are left
    out, and words that do not occur in others are last.

    Parameters
    ----------
    name_places : (V,) integer array
        Place of the name of every word among all names.
    """

    name_places: IndexArray

    block_rows: ClassVar[int] = BLOCK_ROWS

    def state_arrays(self) -> Mapping[str, ArraySpec]:
        """Return the arrays of the state."""
        return {"sums": ((3, len(self.name_places)), "float64")}

    def update(self, state: State, block: Block, work: Workspace) -> None:  # noqa: ARG002
        """Add one block."""
        if not block.rows:
            return
        documents = Documents.of_block(block)
        row = np.repeat(np.arange(block.rows), np.diff(documents.starts))
        lengths = np.bincount(row, documents.counts, block.rows)
        # counts that are refused later must not overflow here
        shares = np.clip(documents.counts / np.maximum(lengths, 1.0)[row], 0.0, 1.0)
        by_frequency, by_squares, by_cubes = state["sums"]
        add_words(documents, documents.of_word, by_frequency)
        for power, total in ((2, by_squares), (3, by_cubes)):
            own = np.bincount(row, shares**power, block.rows)
            add_words(documents, documents.of_word * own, total)

    def finalize(self, state: State) -> IndexArray:
        """Sort the words."""
        by_frequency, *others = _rounded(state["sums"])
        return np.asarray(np.lexsort((self.name_places, *others, -by_frequency)))

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of five numbers a count, of rows of a thousand words."""
        return 5 * 8 * 1000 * rows


@dataclass(frozen=True, eq=False)
class OfOrderedWords(OfOtherRows[Result]):
    """A statistic of documents whose words are in another order.

    Parameters
    ----------
    statistic : Statistic
        Statistic of documents.
    order : (V,) integer array
        Word of every position in the new order.
    """

    statistic: Statistic[Result]
    order: IndexArray

    def update(self, state: State, block: Block, work: Workspace) -> None:
        """Add one block."""
        if block.rows:
            self.statistic.update(state, replace(block, values=self._ordered(block.values)), work)

    def work_nbytes(self, rows: int) -> int:
        """Return the bytes of the inner workspace, and of a copy of rows of a thousand words."""
        return self.statistic.work_nbytes(rows) + 16 * 1000 * rows

    def _ordered(self, values: Values) -> Values:
        """Return the columns in the order of the words."""
        if not isinstance(values, sp.csr_array):
            return values[:, self.order]
        place = np.empty(len(self.order), values.indices.dtype)
        place[self.order] = np.arange(len(self.order))
        parts = values.data.copy(), place[values.indices], values.indptr
        ordered = sp.csr_array(parts, shape=values.shape)
        ordered.sort_indices()
        return ordered


def _rounded(sums: FloatArray) -> FloatArray:
    """Return numbers without the last digits."""
    mantissa, exponent = np.frexp(sums)
    return np.ldexp(np.rint(mantissa * _DIGITS) / _DIGITS, exponent)
