"""Import of sparse counts: bags of words, Matrix Market and long tables into a store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.addresses.store_address import Address, as_address, local_path
from bigtensor.data.importers.counts.count_checks import are_counts, bad_count
from bigtensor.data.importers.counts.count_files import CountFile, MatrixFile
from bigtensor.data.importers.counts.document_blocks import CountBlock
from bigtensor.data.importers.counts.long_table import PARQUET, TEXTS, LongTable
from bigtensor.data.importers.counts.tenx_cells import TenxCells
from bigtensor.data.importers.counts.tenx_folder import TenxFolder
from bigtensor.data.importers.counts.tenx_hdf5 import TenxHdf5
from bigtensor.data.importers.counts.triplet_files import TripletFile
from bigtensor.data.importers.csv_text import bare_name
from bigtensor.data.stores.count_stores import CountStoreWriter
from bigtensor.data.values.checked_casts import checked_cast
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import FileFormatError, ParameterError, Setting

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
    row_name, column_name : str
        Terms for a document and a word of this file: "cell" and "feature" for 10x Genomics.
    left_out : int
        Number of words of a table that are not in `vocabulary`.
    """

    path: Address
    rows: int
    words: int
    stored: int
    row_name: str = CountFile.row_name
    column_name: str = CountFile.column_name
    left_out: int = 0


def import_counts(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    vocabulary: str | os.PathLike[str] | None = None,
    documents: str = "rows",
    feature_types: str | Sequence[str] = (),
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
        ``vocab.NAME.txt`` beside ``docword.NAME.txt``, and numbers without any. Tables name their
        words themselves: with a vocabulary, the store has these words alone, in this order. Other
        words are left out, and absent ones have zero counts. 10x Genomics names its features
        itself.
    documents : {"rows", "columns"}, default "rows"
        Whether rows of a Matrix Market file are documents, or columns, as cells often are. Of 10x
        Genomics, cells are the documents.
    feature_types : str or sequence of str, default ()
        Types of features to import from a file of 10x Genomics, such as ``"Antibody Capture"`` or
        ``"Peaks"``. By default all features are imported, or those of the type
        ``"Gene Expression"`` if there are several types.
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
        When `vocabulary`, `documents` or `feature_types` is for files of another kind, or the file
        has no features of these types, or several types without gene expression and none is chosen.
    OutputError
        When the store exists, or cannot be written.

    Warns
    -----
    FileFormatWarning
        When a file of 10x Genomics has features of other types than gene expression, which are left
        out, or a barcode for several cells.
    """
    if isinstance(feature_types, str):
        feature_types = (feature_types,)
    if documents not in DOCUMENTS:
        raise ParameterError(Setting("documents") + f" is {documents!r}; expected rows or columns")
    source, stored = local_path(path), 0
    with reading(source, "counts"):
        names_file = None if vocabulary is None else local_path(vocabulary)
        file = _open(source, names_file, documents, feature_types)
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
                f"{file.column_name} {nameless[0]:,} (from 0) of {source} has no name; give every "
                f"{file.column_name} a name"
            )
        store.name_words(file.width if names is None else unique_names(names), file.columns())
    return CountSummary(
        *(as_address(out), store.rows, file.width, stored),
        *(file.row_name, file.column_name, file.left_out),
    )


def _open(
    path: Path, vocabulary: Path | None, documents: str, feature_types: Sequence[str]
) -> CountFile:
    """Open a file by the end of its name."""
    if not path.exists():
        raise FileFormatError(f"there is no file {path}; check the path")
    ending = path.suffix.lower()
    is_table = ending in PARQUET or bare_name(path).suffix.lower() in TEXTS
    # a folder of Parquet is one table
    is_folder = path.is_dir() and ending not in (".zarr", *PARQUET)
    is_tenx = is_folder or ending == ".h5"
    if is_tenx and vocabulary is not None:
        raise ParameterError(
            f"{path} names its {TenxCells.column_name}s itself; leave out " + Setting("vocabulary")
        )
    if feature_types and not is_tenx:
        raise ParameterError(
            Setting("feature_types") + f" is for 10x Genomics, and not for {path}; leave it out"
        )
    stem = path.with_suffix("") if ending == ".gz" else path
    text_ending = stem.suffix.lower()
    if vocabulary is None and stem.name.startswith("docword."):
        vocabulary_file = path.with_name("vocab." + stem.name.removeprefix("docword."))
        vocabulary = vocabulary_file if vocabulary_file.exists() else None
    if documents == "columns" and not (text_ending == ".mtx" or is_folder):
        raise ParameterError(
            Setting("documents", "columns")
            + f" is for Matrix Market files, and not for {path}; leave it out"
        )
    if ending == ".npz":
        return MatrixFile(path, vocabulary)
    if ending == ".h5":
        return TenxHdf5(path, feature_types)
    if is_folder:
        return TenxFolder(path, feature_types)
    if text_ending in (".mtx", ".txt"):
        return TripletFile(path, vocabulary, documents=documents)
    if is_table:
        return LongTable(path, vocabulary)
    if ending in (".h5ad", ".zarr"):
        raise FileFormatError(
            f"{path} is AnnData, whose counts are read in place: fit it without an import"
        )
    raise FileFormatError(
        f"{path} is of no known kind of counts; give a folder of 10x Genomics, or a file that ends "
        f"in {', '.join(ENDINGS)}, those of text also with .gz"
    )


def _checked_blocks(path: Path, file: CountFile) -> Iterator[CountBlock]:
    """Read documents, and refuse numbers that are no counts."""
    first = 0
    with reading(path, "counts"):
        for block in file.blocks():
            counts = block.counts
            good = are_counts(counts.data, whole=file.whole)
            if not good.all():
                at = int(good.argmin())
                row = first + int(np.searchsorted(counts.indptr, at, side="right")) - 1
                place = (
                    f"{path}: {file.row_name} {row:,} (from 0) with {file.column_name} "
                    f"{counts.indices[at]:,} (from 0)"
                )
                raise bad_count(place, counts.data[at], file.column_name)
            first += counts.shape[0]
            remedy = "divide all counts by one number, or correct the count"
            counts.data = checked_cast(counts.data, file.dtype, str(path), remedy)
            counts.eliminate_zeros()
            yield block
