"""Cells of 10x Genomics with the features of the chosen types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bigtensor.data.importers.counts.count_files import CountFile
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.tenx_features import TenxFeatures
from bigtensor.data.importers.source import warn_of_notes


class TenxCells(CountFile):
    """Counts of 10x Genomics, whose cells are the documents and whose features are the words.

    Parameters
    ----------
    path : Path
        The file of the features, for messages.
    features : TenxFeatures
        All features of the matrix.
    feature_types : sequence of str
        Types to keep; see `TenxFeatures.of_types`.
    """

    row_name, column_name = "cell", "feature"

    def __init__(self, path: Path, features: TenxFeatures, feature_types: Sequence[str]) -> None:
        features.check(path)
        self._kept = features.of_types(path, feature_types)
        self._keeps_all = len(self._kept) == len(features.ids)
        self._features = features.at(self._kept)
        self.width = len(self._kept)

    def blocks(self) -> Iterator[CountBlock]:
        """Read the chosen features of the cells."""
        for block in self._blocks_of_all_features():
            counts = block.counts if self._keeps_all else block.counts[:, self._kept]
            yield CountBlock(counts, block.names)

    def _blocks_of_all_features(self) -> Iterator[CountBlock]:
        """Read the cells."""
        raise NotImplementedError

    def words(self) -> list[str]:
        """Return the names of the features."""
        return self._features.names()

    def columns(self) -> Mapping[str, Sequence[str]]:
        """Return the IDs and types of the features."""
        return self._features.columns()


def warn_of_repeated_barcodes(path: Path, barcodes: Callable[[], Iterable[str]]) -> int:
    """Warn of barcodes that several cells have, and return the number of barcodes.

    Memory is 8 bytes a barcode, because a set of the texts would take about 100.

    Parameters
    ----------
    path : Path
        The file, for the message.
    barcodes : callable
        Begins an iteration over the barcodes.

    Warns
    -----
    FileFormatWarning
    """
    hashes = np.fromiter(map(hash, barcodes()), np.int64)
    number = len(hashes)
    hashes.sort()
    candidates = {*hashes[1:][hashes[1:] == hashes[:-1]].tolist()}
    if candidates:
        numbers = Counter(name for name in barcodes() if hash(name) in candidates)
        repeated = [name for name, cells in numbers.items() if cells > 1]
        if repeated:
            warn_of_notes(
                path,
                [
                    f"barcodes that several cells have: {len(repeated):,}, such as "
                    f"{repeated[0]!r}; these cells stay rows of their own, but their names do not "
                    "tell them apart: give the barcodes of every sample another ending, such as -2"
                ],
            )
    return number
