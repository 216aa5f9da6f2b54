"""Documents of a block: word counts as sparse rows, with the weights of their pairs and triples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bigtensor.data.block import Block
from bigtensor.features.row_loops import fused_row_loop

Floats = NDArray[np.float64]

LEAST_LENGTH = 3
"""Words of a document below which it has no triple; all moments are of the same documents."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Word counts of the rows of a block.

    Attributes
    ----------
    starts : (n + 1,) integer array
        First stored count of every row.
    words : (stored,) integer array
    counts : (stored,) array
    of_word, of_pair, of_triple : (n,) float64 arrays
        Weight of a document over its number of words, ordered pairs and ordered triples of words;
        zero of documents that are too short.
    weight : float
        Of the documents that are long enough.
    """

    starts: NDArray[np.integer[Any]]
    words: NDArray[np.integer[Any]]
    counts: NDArray[Any]
    of_word: Floats
    of_pair: Floats
    of_triple: Floats
    weight: float

    @classmethod
    def of_block(cls, block: Block) -> Documents:
        """Return the documents of a block.

        Parameters
        ----------
        block : Block
            With counts, sparse or dense.
        """
        values = block.values[: block.rows]
        rows = values if isinstance(values, sp.csr_array) else sp.csr_array(np.asarray(values))
        lengths = np.asarray(rows.sum(axis=1), np.float64).ravel()
        own = np.ones(block.rows) if block.weight is None else block.weight[: block.rows]
        used = lengths >= LEAST_LENGTH
        weight = np.where(used, own, 0.0)
        length = np.where(used, lengths, LEAST_LENGTH)
        pairs = length * (length - 1)
        return cls(
            *(rows.indptr, rows.indices, rows.data),
            *(weight / length, weight / pairs, weight / (pairs * (length - 2))),
            float(weight.sum()),
        )


def _project(
    starts: NDArray[np.integer[Any]],
    words: NDArray[np.integer[Any]],
    counts: NDArray[Any],
    columns: Floats,
    projected: Floats,
) -> None:
    """Write the sums of the rows of columns over the words of every document, (n, r)."""
    for row in range(len(starts) - 1):
        projected[row] = 0
        for at in range(starts[row], starts[row + 1]):
            for i in range(columns.shape[1]):
                projected[row, i] += counts[at] * columns[words[at], i]


def _add_outer(
    starts: NDArray[np.integer[Any]],
    words: NDArray[np.integer[Any]],
    counts: NDArray[Any],
    weight: Floats,
    projected: Floats,
    total: Floats,
) -> None:
    """Add the projected documents to their words, each with its count and a weight, (V, r)."""
    for row in range(len(starts) - 1):
        if weight[row] == 0:
            continue
        for at in range(starts[row], starts[row + 1]):
            share = weight[row] * counts[at]
            for i in range(projected.shape[1]):
                total[words[at], i] += share * projected[row, i]


def _add_words(
    starts: NDArray[np.integer[Any]],
    words: NDArray[np.integer[Any]],
    counts: NDArray[Any],
    weight: Floats,
    total: Floats,
) -> None:
    """Add the weighted counts of every word, (V,)."""
    for row in range(len(starts) - 1):
        for at in range(starts[row], starts[row + 1]):
            total[words[at]] += weight[row] * counts[at]


project = fused_row_loop(_project)
add_outer = fused_row_loop(_add_outer)
add_words = fused_row_loop(_add_words)
