"""Files of sparse counts, read document by document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.importers.counts.declared_sizes import check_declared
from bigtensor.data.importers.counts.document_blocks import CountBlock, DocumentBlocks
from bigtensor.data.importers.counts.vocabulary import read_vocabulary, wrong_number
from bigtensor.data.values.checked_casts import are_whole
from bigtensor.data.values.sparse_matrices import checked_csr
from bigtensor.errors import FileFormatError

LONG_COLUMNS = ("document", "word", "count")
"""Columns of a long table."""


class CountFile:
    """Documents of a file, and the words once all documents were read.

    Attributes
    ----------
    rows : int, optional
        Number of documents, where the file tells it beforehand.
    width : int
        Number of words. It is complete after `blocks`.
    whole : bool
        True if all counts are whole numbers.
    """

    rows: int | None = None
    width: int = 0
    whole: bool = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type to store the counts in."""
        return np.dtype(np.int32 if self.whole else np.float32)

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents."""
        raise NotImplementedError

    def words(self) -> list[str] | None:
        """Return the names of the words after `blocks`, or None if words are only numbered."""
        raise NotImplementedError


class MatrixFile(CountFile):
    """``.npz`` of SciPy, or of CSR parts with the words as ``vocab``."""

    def __init__(self, path: Path, vocabulary: Path | None) -> None:
        with np.load(path, allow_pickle=False) as parts:
            names = set(parts.files)
            missing = [name for name in ("data", "indices", "indptr", "shape") if name not in names]
            if missing:
                raise FileFormatError(
                    f"{path} has no {', '.join(missing)}: a bag of words in .npz has the arrays "
                    "data, indices, indptr and shape of CSR rows"
                )
            self.rows, self.width = (int(length) for length in parts["shape"])
            check_declared(path, documents=self.rows, words=self.width)
            self._words = _names_in(parts["vocab"]) if "vocab" in names else None
            if "format" in names:
                matrix = load_npz(path)
            else:
                arrays = parts["data"], parts["indices"], parts["indptr"]
                matrix = csr_array(arrays, shape=(self.rows, self.width))
        self._counts = checked_csr(matrix)
        self.whole = bool(are_whole(self._counts.data).all())
        if vocabulary is not None:
            self._words = read_vocabulary(vocabulary, self.width, path)
        elif self._words is not None and len(self._words) != self.width:
            raise wrong_number(path, self.width, f"{len(self._words):,}")

    def blocks(self) -> Iterator[CountBlock]:
        """Return all documents, which are in memory."""
        yield CountBlock(self._counts)

    def words(self) -> list[str] | None:
        """Return the names of the words."""
        return self._words


class LongTable(CountFile):
    """Table with the columns document, word and count, in which rows of a document are together."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._codes: dict[str, int] = {}

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents; words are numbered as they appear."""
        builder, row_numbers = DocumentBlocks(self._path), dict[str, int]()
        for batch in self._batches():
            documents, words = (batch[name].astype(str) for name in LONG_COLUMNS[:2])
            numbers = np.array(
                [row_numbers.setdefault(name, len(row_numbers)) for name in documents], np.int64
            )
            codes = [self._codes.setdefault(name, len(self._codes)) for name in words]
            counts = np.asarray(batch[LONG_COLUMNS[2]], np.float64)
            for block in builder.add(numbers, np.array(codes, np.int64), counts, len(self._codes)):
                yield _named(block, row_numbers, builder.done)
        self.width = len(self._codes)
        for block in builder.finish(len(row_numbers), self.width):
            yield _named(block, row_numbers, builder.done)

    def words(self) -> list[str]:
        """Return the names of the words."""
        return list(self._codes)

    def _batches(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Read batches of rows as columns."""
        dataset = optional_module("pyarrow.dataset", "tables")
        kind = "parquet" if self._path.suffix in (".parquet", ".pq") else "csv"
        table = dataset.dataset(str(self._path), format=kind)
        missing = [name for name in LONG_COLUMNS if name not in table.schema.names]
        if missing:
            raise FileFormatError(
                f"{self._path} has the columns {', '.join(table.schema.names[:10])}, and not "
                f"{', '.join(missing)}: a long table of counts has the columns "
                f"{', '.join(LONG_COLUMNS)}"
            )
        for batch in table.to_batches(columns=list(LONG_COLUMNS), use_threads=False):
            frame = {
                name: batch.column(name).to_numpy(zero_copy_only=False) for name in LONG_COLUMNS
            }
            empty = [name for name in LONG_COLUMNS if batch.column(name).null_count]
            if empty:
                raise FileFormatError(f"{self._path} has rows without a {empty[0]}; leave them out")
            yield frame


def _named(block: CountBlock, documents: dict[str, int], done: int) -> CountBlock:
    """Return documents with their names, of which so many were returned."""
    names = list(documents)[done - int(block.counts.shape[0]) : done]
    return CountBlock(block.counts, tuple(names))


def _names_in(array: NDArray[Any]) -> list[str]:
    """Return names from an array of strings, of bytes in UTF-8 or of numbers."""
    text = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    return [str(name) for name in text.tolist()]
