"""Conversion of triplets of document, word and count to sparse rows, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bigtensor.errors import FileFormatError

Triplets = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

_MOST_ROWS = 2**20
"""Largest number of documents in a block, because a file may have millions of empty ones."""

_MANY_ENTRIES = 2**20
"""Entries of one document above which repeated words are added up before the document ends."""


@dataclass(frozen=True, eq=False)
class CountBlock:
    """Consecutive documents.

    Attributes
    ----------
    counts : (n, V) CSR array
        V may still grow where the file has no list of words.
    names : tuple of str
        Names of the documents. Empty if documents are only numbered.
    """

    counts: csr_array
    names: tuple[str, ...] = ()


class DocumentBlocks:
    """Documents from triplets. All entries of a document have to be consecutive.

    Parameters
    ----------
    path : Path
        The file, for messages.
    remedy : str, default ""
        Another remedy for entries that are not consecutive, with the words before it.
    row_name : str, default "document"
        Term for a document.

    Attributes
    ----------
    done : int
        Number of documents in the blocks so far.
    """

    def __init__(self, path: Path, remedy: str = "", row_name: str = "document") -> None:
        self._path, self._remedy, self._row_name, self.done = path, remedy, row_name, 0
        none = np.empty(0, np.int64)
        self._remaining: Triplets = none, none, np.empty(0)

    def add(
        self, rows: NDArray[Any], words: NDArray[Any], counts: NDArray[Any], width: int
    ) -> Iterator[CountBlock]:
        """Return the documents that are complete.

        Parameters
        ----------
        rows, words : (m,) integer arrays
            Numbers of the documents and words, from 0.
        counts : (m,) float64 array
            Counts of the words in the documents.
        width : int
            Number of words so far.
        """
        pairs = zip(self._remaining, (rows, words, counts), strict=True)
        rows, words, counts = (np.concatenate(pair) for pair in pairs)
        if not len(rows):
            return
        if np.any(np.diff(rows) < 0) or rows[0] < self.done:
            raise FileFormatError(
                f"{self._path}: the entries of a {self._row_name} are not consecutive; sort the "
                f"file by {self._row_name}" + self._remedy
            )
        last = int(rows[-1])
        cut = int(np.searchsorted(rows, last))
        self._remaining = _compacted((rows[cut:], words[cut:], counts[cut:]), width)
        yield from self._blocks((rows[:cut], words[:cut], counts[:cut]), last, width)

    def finish(self, n_documents: int, width: int) -> Iterator[CountBlock]:
        """Return the remaining documents, including empty ones at the end."""
        yield from self._blocks(self._remaining, n_documents, width)

    def _blocks(self, triplets: Triplets, stop: int, width: int) -> Iterator[CountBlock]:
        """Return the documents before number `stop`."""
        rows, words, counts = triplets
        for start in range(self.done, stop, _MOST_ROWS):
            end = min(start + _MOST_ROWS, stop)
            starts = np.searchsorted(rows, np.arange(start, end + 1))
            own = slice(starts[0], starts[-1])
            parts = counts[own], words[own], starts - starts[0]
            block = csr_array(parts, shape=(end - start, width))
            block.sum_duplicates()
            self.done = end
            yield CountBlock(block)


def _compacted(triplets: Triplets, width: int) -> Triplets:
    """Return the entries of one document. If they are many, repeated words are added up."""
    rows, words, counts = triplets
    if len(rows) <= max(_MANY_ENTRIES, 2 * width):
        return triplets
    distinct, place = np.unique(words, return_inverse=True)
    return rows[: len(distinct)], distinct, np.bincount(place, counts)
