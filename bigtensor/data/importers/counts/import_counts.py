"""Import of sparse counts: bags of words, Matrix Market and long tables into a store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.addresses.store_address import Address, as_address
from bigtensor.data.importers.counts.count_files import CountFile, MatrixFile
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.long_table import PARQUET, TEXTS, LongTable
from bigtensor.data.importers.counts.tenx_folder import TenxFolder
from bigtensor.data.importers.counts.tenx_hdf5 import TenxHdf5
from bigtensor.data.importers.counts.triplet_files import TripletFile
from bigtensor.data.importers.csv_text import bare_name
from bigtensor.data.stores.count_stores import CountStoreWriter
from bigtensor.data.values.checked_casts import checked_cast
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, FileFormatError, ParameterError, Setting

DOCUMENTS = ("rows", "columns")

ENDINGS = (".npz", ".mtx", ".txt", ".h5", *PARQUET, *TEXTS)
"""Ends of the names of files of counts. Those of texts may be compressed."""


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

    path: Address
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
    progress: RowProgress | None = None,
) -> CountSummary:
    """Write counts of words in documents to AnnData in Zarr, which models read in place.

    Known are ``.npz`` (of SciPy, or a bag of words of the arrays data, indices, indptr, shape and
    vocab), Matrix Market (``.mtx``), UCI ``docword`` (``.txt``), tables with the columns document,
    word and count (``.parquet``, ``.csv``, ``.tsv``), and cells of 10x Genomics (a folder or
    ``.h5``). Files of text may end in ``.gz``, and tables of text also in ``.bz2``, ``.xz`` and
    ``.zst``. Memory does not depend on the number of documents, except that ``.npz`` is read at
    once and the names of the documents of a table are held.

    Parameters
    ----------
    path : path
        File of counts, or folder of 10x Genomics.
    out : path or URL
        Store to make, which appears under this name when it is whole.
    vocabulary : path, optional
        Names of the words in UTF-8, one a line. Text after a tab is ignored. By default
        ``vocab.NAME.txt`` beside ``docword.NAME.txt``, and numbers without any. Tables and 10x
        Genomics name their words themselves.
    documents : {"rows", "columns"}, default "rows"
        Whether rows of a Matrix Market file are documents, or columns, as cells often are. Of 10x
        Genomics, cells are the documents.
    overwrite : bool, default False
        Replace a store of this name.
    progress : callable, optional
        Called with the number of documents done and of all, if it is known.

    Returns
    -------
    CountSummary
        Path of the store, and the numbers of documents, words and stored counts.

    Raises
    ------
    FileFormatError
        When the file is damaged, of another kind, or not sorted by document, or declares sizes that
        its bytes cannot hold.
    DataError
        When a count is negative, not finite, or larger than 2,147,483,647.
    ParameterError
        When `vocabulary` or `documents` is for files of another kind.
    OutputError
        When the store exists, or cannot be written.
    """
    if documents not in DOCUMENTS:
        raise ParameterError(Setting("documents") + f" is {documents!r}; expected rows or columns")
    source, stored = Path(path), 0
    with reading(source, "counts"):
        file = _open(source, None if vocabulary is None else Path(vocabulary), documents)
    with CountStoreWriter(out, dtype=file.dtype, overwrite=overwrite) as store:
        for block in _checked_blocks(source, file):
            stored += block.counts.nnz
            store.append(block.counts, names=block.names)
            if progress is not None:
                progress(store.rows, file.rows or store.rows)
        if not (store.rows and file.width):
            raise FileFormatError(f"{source} has no counts; was it exported completely?")
        names = file.words()
        nameless = [] if names is None else [n for n, name in enumerate(names) if not name.strip()]
        if nameless:
            raise FileFormatError(
                f"word {nameless[0]:,} (from 0) of {source} has no name; give every word a name"
            )
        store.name_words(file.width if names is None else unique_names(names), file.columns())
    return CountSummary(as_address(out), store.rows, file.width, stored)


def _open(path: Path, vocabulary: Path | None, documents: str) -> CountFile:
    """Open a file by the end of its name."""
    if not path.exists():
        raise FileFormatError(f"there is no file {path}; check the path")
    ending = bare_name(path).suffix
    is_table = path.suffix in PARQUET or ending in TEXTS
    # a folder of Parquet is one table
    is_folder = path.is_dir() and path.suffix not in (".zarr", *PARQUET)
    names_words = is_table or is_folder or path.suffix == ".h5"
    if names_words and vocabulary is not None:
        raise ParameterError(f"{path} names its words itself; leave out " + Setting("vocabulary"))
    stem = path.with_suffix("") if path.suffix == ".gz" else path
    if vocabulary is None and stem.name.startswith("docword."):
        vocabulary_file = path.with_name("vocab." + stem.name.removeprefix("docword."))
        vocabulary = vocabulary_file if vocabulary_file.exists() else None
    if documents == "columns" and not (stem.suffix == ".mtx" or is_folder):
        raise ParameterError(
            Setting("documents", "columns")
            + f" is for Matrix Market files, and not for {path}; leave it out"
        )
    if path.suffix == ".npz":
        return MatrixFile(path, vocabulary)
    if path.suffix == ".h5":
        return TenxHdf5(path)
    if is_folder:
        return TenxFolder(path)
    if stem.suffix in (".mtx", ".txt"):
        return TripletFile(path, vocabulary, documents=documents)
    if is_table:
        return LongTable(path)
    if path.suffix in (".h5ad", ".zarr"):
        raise FileFormatError(
            f"{path} is AnnData, whose counts are read in place: fit it without an import"
        )
    raise FileFormatError(
        f"{path} is of no known kind of counts; give a folder of 10x Genomics, or a file that ends "
        f"in {', '.join(ENDINGS)}, those of text also with .gz"
    )


def _checked_blocks(path: Path, file: CountFile) -> Iterator[CountBlock]:
    """Read documents, and refuse numbers that are no counts."""
    with reading(path, "counts"):
        for block in file.blocks():
            counts = block.counts
            if not np.isfinite(counts.data).all():
                raise DataError(
                    f"{path} has counts that are NaN or infinite; correct them, or leave their "
                    "entries out of the file"
                )
            if counts.nnz and counts.data.min() < 0:
                raise DataError(f"{path} has negative counts: give counts of words")
            if file.whole and np.any(counts.data % 1):
                raise DataError(
                    f"{path} has counts that are not whole numbers: give counts of words before "
                    "any weighting"
                )
            remedy = "divide all counts by one number, or correct the count"
            counts.data = checked_cast(counts.data, file.dtype, str(path), remedy)
            counts.eliminate_zeros()
            yield block
