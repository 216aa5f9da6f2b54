"""Import of sparse counts: bags of words, Matrix Market and long tables into a store."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bigtensor.data.count_stores import CountStoreWriter
from bigtensor.data.importers.count_files import (
    CountBlock,
    CountFile,
    LongTable,
    MatrixFile,
    TripletFile,
)
from bigtensor.data.importers.source import reading, unique_names
from bigtensor.errors import DataError, FileFormatError, ParameterError, Setting

DOCUMENTS = ("rows", "columns")

ENDINGS = (".npz", ".mtx", ".txt", ".parquet", ".pq", ".csv")
"""Ends of the names of files of counts, those of texts also with .gz."""


@dataclass(frozen=True)
class CountSummary:
    """Result of an import of counts.

    Attributes
    ----------
    path : Path
        Of the store.
    rows, words : int
        Number of documents and of words.
    stored : int
        Counts that are not zero.
    """

    path: Path
    rows: int
    words: int
    stored: int


def import_counts(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    vocabulary: str | os.PathLike[str] | None = None,
    documents: str = "rows",
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> CountSummary:
    """Write counts of words in documents to AnnData in Zarr, which models read in place.

    Known are ``.npz`` (of SciPy, or a bag of words of the arrays data, indices, indptr, shape and
    vocab), Matrix Market (``.mtx``), UCI ``docword`` (``.txt``), and tables with the columns
    document, word and count (``.parquet``, ``.csv``); ``.mtx`` and ``.txt`` may end in ``.gz``. But
    for ``.npz`` memory does not depend on the number of documents.

    Parameters
    ----------
    path : path
    out : path
        Store to make, which appears under this name when it is whole.
    vocabulary : path, optional
        Names of the words, one a line; what follows a tab does not count. By default
        ``vocab.NAME.txt`` beside ``docword.NAME.txt``, and numbers without any.
    documents : {"rows", "columns"}, default "rows"
        Whether rows of Matrix Market are documents, or columns, as cells often are.
    overwrite : bool, default False
        Replace a store of this name.
    progress : callable, optional
        Called with the number of documents done and of all, if it is known.

    Returns
    -------
    CountSummary

    Raises
    ------
    FileFormatError
        When the file is damaged, of another kind, or not sorted by document.
    DataError
        When a count is negative.
    OutputError
        When the store exists, or cannot be written.
    """
    if documents not in DOCUMENTS:
        raise ParameterError(Setting("documents") + f" is {documents!r}; expected rows or columns")
    source, stored = Path(path), 0
    with reading(source, "counts"):
        file = _open(source, None if vocabulary is None else Path(vocabulary), documents)
    dtype = np.int32 if file.whole else np.float32
    with CountStoreWriter(Path(out), dtype=dtype, overwrite=overwrite) as store:
        for block in _checked_blocks(source, file):
            stored += block.counts.nnz
            store.append(block.counts, names=block.names)
            if progress is not None:
                progress(store.rows, file.rows or store.rows)
        words = unique_names(file.words())
        store.name_words(words)
    return CountSummary(Path(out), store.rows, len(words), stored)


def _open(path: Path, vocabulary: Path | None, documents: str) -> CountFile:
    """Open a file by the end of its name."""
    if not path.exists():
        raise FileFormatError(f"there is no file {path}; check the path")
    stem = path.with_suffix("") if path.suffix == ".gz" else path
    if vocabulary is None and stem.name.startswith("docword."):
        beside = path.with_name("vocab." + stem.name.removeprefix("docword."))
        vocabulary = beside if beside.exists() else None
    words = None if vocabulary is None else _read_words(vocabulary)
    if documents == "columns" and stem.suffix != ".mtx":
        raise ParameterError(
            Setting("documents", "columns") + f" is for Matrix Market files, and not for {path}"
        )
    if stem.suffix == ".npz":
        return MatrixFile(path, words)
    if stem.suffix in (".mtx", ".txt"):
        return TripletFile(path, words, documents=documents)
    if path.suffix in (".parquet", ".pq", ".csv"):
        return LongTable(path)
    if path.suffix in (".h5ad", ".zarr"):
        raise FileFormatError(
            f"{path} is AnnData, whose counts are read in place: fit it without an import"
        )
    raise FileFormatError(
        f"{path} is of no known kind of counts; give a file that ends in {', '.join(ENDINGS)}"
    )


def _checked_blocks(path: Path, file: CountFile) -> Iterator[CountBlock]:
    """Read documents, and refuse numbers that are no counts."""
    with reading(path, "counts"):
        for block in file.blocks():
            counts = block.counts
            if counts.nnz and counts.data.min() < 0:
                raise DataError(f"{path} has negative counts: give counts of words")
            if file.whole and np.any(counts.data % 1):
                raise DataError(
                    f"{path} has counts that are not whole numbers: give counts of words before "
                    "any weighting"
                )
            counts.eliminate_zeros()
            yield block


def _read_words(path: Path) -> list[str]:
    """Read names, one a line, without what follows a tab."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = raw.decode("utf-8", "replace").splitlines()
    return [line.split("\t")[0].strip() for line in lines]
