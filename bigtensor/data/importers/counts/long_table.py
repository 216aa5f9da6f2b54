"""Tables with a row for every document and word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.importers.counts.count_checks import are_counts, bad_count
from bigtensor.data.importers.counts.count_files import COUNT_TEXTS, CountFile
from bigtensor.data.importers.counts.document_blocks import CountBlock, DocumentBlocks
from bigtensor.data.importers.counts.vocabulary import listed_names
from bigtensor.data.importers.csv_text import CsvText, open_bytes
from bigtensor.data.values.spreadsheet_cells import text_is_number
from bigtensor.data.values.spreadsheet_text import without_apostrophe
from bigtensor.errors import BigtensorError, FileFormatError

LONG_COLUMNS = ("document", "word", "count")
"""Columns of a long table."""

PARQUET = (".parquet", ".pq")

TEXTS = (".csv", ".tsv")
"""Ends of the names of tables of text, which may be compressed."""

_BATCH_ROWS = 2**17
"""Rows of Parquet that are read at once."""


class LongTable(CountFile):
    """Table with the columns document, word and count, in which rows of a document are together.

    Parameters
    ----------
    path : Path
        File of text or Parquet, or folder of Parquet files.
    vocabulary : Path, optional
        Names of the words of the result, one a line. By default all words of the table.
    """

    def __init__(self, path: Path, vocabulary: Path | None = None) -> None:
        self._path, self._is_open = path, vocabulary is None
        self._unlisted = set[str]()
        self._vocabulary, self._has_listed = vocabulary, False
        names = [] if vocabulary is None else [name for (name,) in listed_names(vocabulary)]
        names = _without_apostrophes(names)
        self._codes = {name: code for code, name in enumerate(names)}
        if len(self._codes) < len(names):
            repeated = next(name for code, name in enumerate(names) if self._codes[name] != code)
            raise FileFormatError(
                f"{vocabulary} names the word {repeated!r} more than once; leave one of them"
            )

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents; words are numbered as they appear."""
        builder, row_numbers = DocumentBlocks(self._path), dict[str, int]()
        for documents, words, counts in self._batches():
            numbers = np.array(
                [row_numbers.setdefault(name, len(row_numbers)) for name in documents], np.int64
            )
            codes, counts = self._coded(words, counts)
            for block in builder.add(numbers, codes, counts, len(self._codes)):
                yield _named(block, row_numbers, builder.done)
        self.width, self.left_out = len(self._codes), len(self._unlisted)
        if self._unlisted and not self._has_listed:
            raise FileFormatError(
                f"no word of {self._vocabulary} occurs in {self._path}: the list begins with "
                f"{next(iter(self._codes), '')!r}, and the table has words like "
                f"{min(self._unlisted)!r}"
            )
        for block in builder.finish(len(row_numbers), self.width):
            yield _named(block, row_numbers, builder.done)

    def words(self) -> list[str]:
        """Return the names of the words."""
        return list(self._codes)

    def _coded(
        self, words: list[str], counts: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the numbers of words, with a count of zero for words that are left out."""
        if self._is_open:
            for name in words:
                self._codes.setdefault(name, len(self._codes))
        codes = np.array([self._codes.get(name, -1) for name in words], np.int64)
        is_unlisted = codes < 0
        self._has_listed |= not is_unlisted.all()
        self._unlisted.update(words[at] for at in np.flatnonzero(is_unlisted))
        # a document without a listed word stays, as an empty one
        return np.where(is_unlisted, 0, codes), np.where(is_unlisted, 0.0, counts)

    def _batches(self) -> Iterator[tuple[list[str], list[str], NDArray[np.float64]]]:
        """Read the names of documents and words, and the counts, of batches of rows."""
        is_text, first = self._path.suffix.lower() not in PARQUET, 0
        for batch in self._rows_of_text() if is_text else self._rows_of_parquet():
            columns = [batch.column(name).cast("string").to_pylist() for name in LONG_COLUMNS[:2]]
            counts = batch.column(LONG_COLUMNS[2]).to_numpy(zero_copy_only=False)
            counts = np.asarray(counts, np.float64)
            named = np.array([all(pair) for pair in zip(*columns, strict=True)], np.bool_)
            good = are_counts(counts) & named
            if not good.all():
                at = int(good.argmin())
                names = columns[0][at], columns[1][at]
                raise _row_error(self._path, first + at, names, counts[at])
            first += len(counts)
            documents, words = map(_without_apostrophes, columns) if is_text else columns
            yield documents, words, counts

    def _rows_of_parquet(self) -> Iterator[Any]:
        """Read batches of the rows of a Parquet file, or of the files in a folder."""
        parquet = optional_module("pyarrow.parquet", "tables")
        dataset = optional_module("pyarrow.dataset", "tables")
        for path in dataset.dataset(str(self._path), format="parquet").files:
            with parquet.ParquetFile(path) as file:
                self._check_columns(file.schema_arrow.names)
                yield from file.iter_batches(_BATCH_ROWS, columns=list(LONG_COLUMNS))

    def _rows_of_text(self) -> Iterator[Any]:
        """Read batches of the rows of a table of text."""
        text = CsvText.of_spreadsheet(self._path)
        arrow = optional_module("pyarrow", "tables")
        try:
            yield from self._batches_of_text(text)
        except arrow.ArrowInvalid:
            _check_rows(text)
            raise

    def _batches_of_text(self, text: CsvText) -> Iterator[Any]:
        """Read batches of the rows of a table of text by Arrow."""
        arrow = optional_module("pyarrow", "tables")
        arrow_csv = optional_module("pyarrow.csv", "tables")
        with text.rows() as (header, _):
            self._check_columns(header)
        # a document 001 keeps its zeros, and words such as "null" and "NA" are words
        types = dict(
            zip(LONG_COLUMNS, (arrow.string(), arrow.string(), arrow.float64()), strict=True)
        )
        with (
            open_bytes(self._path) as file,
            arrow_csv.open_csv(
                file,
                arrow_csv.ReadOptions(
                    column_names=header, skip_rows=text.header_lines, use_threads=False
                ),
                arrow_csv.ParseOptions(delimiter=text.separator, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=types, include_columns=LONG_COLUMNS, strings_can_be_null=False
                ),
            ) as batches,
        ):
            yield from batches

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Refuse a table of other columns."""
        missing = [name for name in LONG_COLUMNS if name not in columns]
        if missing:
            raise FileFormatError(
                f"{self._path} has the columns {', '.join(columns[:10])}, and not "
                f"{', '.join(missing)}: a long table of counts has the columns "
                f"{', '.join(LONG_COLUMNS)}. " + COUNT_TEXTS
            )


def _without_apostrophes(names: list[str]) -> list[str]:
    """Return names without the apostrophe that keeps spreadsheets from running them."""
    return [without_apostrophe(name) if name[:1] == "'" else name for name in names]


def _check_rows(text: CsvText) -> None:
    """Refuse the first uneven row, or row without names or a count."""
    with text.rows() as (header, _):
        places = [header.index(name) for name in LONG_COLUMNS]
    for number, row in enumerate(text.even_rows()):
        *names, count = (row[place] for place in places)
        if not count.strip():
            raise _row_error(text.path, number, names, np.nan)
        if not text_is_number(count):
            raise FileFormatError(
                f"{text.path}: the count of row {number:,} (from 0) is {count[:60]!r}, "
                "which is no number; correct the cell, or leave out the row"
            )
        if not all(names) or not are_counts(np.array([float(count)])).all():
            raise _row_error(text.path, number, names, float(count))


def _row_error(path: Path, number: int, names: Sequence[str], count: float) -> BigtensorError:
    """Return the error for a row without names, or with a number that is no count."""
    missing = [
        name for name, cell in zip(LONG_COLUMNS, [*names, count == count], strict=True) if not cell
    ]
    place = f"{path}: row {number:,} (from 0)"
    if missing:
        return FileFormatError(f"{place} has no {missing[0]}; complete the row, or leave it out")
    return bad_count(place, count, LongTable.column_name)


def _named(block: CountBlock, documents: dict[str, int], done: int) -> CountBlock:
    """Return documents with their names, of which so many were returned."""
    names = list(documents)[done - int(block.counts.shape[0]) : done]
    return CountBlock(block.counts, tuple(names))
