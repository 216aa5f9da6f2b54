"""Text files of sparse counts: UCI ``docword`` and Matrix Market."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.importers.counts.count_checks import are_counts, bad_count
from bigtensor.data.importers.counts.count_files import CountFile
from bigtensor.data.importers.counts.declared_sizes import check_declared
from bigtensor.data.importers.counts.document_blocks import CountBlock, DocumentBlocks, Triplets
from bigtensor.data.importers.counts.text_lines import open_text, read_line, text_batches
from bigtensor.data.importers.counts.vocabulary import read_vocabulary
from bigtensor.data.values.spreadsheet_cells import text_is_number
from bigtensor.errors import FileFormatError, Setting

_IRREGULAR = (b"%", b"\t", b"  ", b" \n", b" \r", b"\n ")
"""Texts that do not occur in lines of numbers with one space between them."""

_INTEGER = re.compile(r"-?[0-9]{1,18}")


class TripletFile(CountFile):
    """Text file of document, word and count: UCI ``docword`` or Matrix Market.

    It has to be sorted by document.
    """

    def __init__(
        self,
        path: Path,
        vocabulary: Path | None,
        *,
        documents: str = "rows",
        terms: tuple[str, str] = (CountFile.row_name, CountFile.column_name),
    ) -> None:
        self._path, self._documents = path, documents
        self.row_name, self.column_name = terms
        with open_text(path) as file:
            first = _line(file, path)
            market = first.startswith("%%MatrixMarket")
            kind = first.split() if market else []
            if market and (len(kind) < 5 or kind[2] != "coordinate" or kind[4] != "general"):
                raise FileFormatError(
                    f"{path} is a Matrix Market file {' '.join(kind[1:])!r}, but only "
                    "'matrix coordinate ... general' can be read; convert it to this format"
                )
            self._is_market = market
            self._pattern = market and kind[3] == "pattern"
            self._skip = 1
            sizes: list[str] = [] if market else first.split()
            while len(sizes) < 3:
                line = _line(file, path)
                self._skip += 1
                if not line:
                    raise _cut(path, "its sizes")
                if not line.startswith("%"):
                    sizes += line.split()
        if not all(size.isdecimal() for size in sizes) or len(sizes) != 3:
            raise FileFormatError(
                f"{path} begins with {' '.join(sizes)[:60]!r}; give a UCI docword file, which "
                f"begins with the numbers of {self.row_name}s, {self.column_name}s and entries, or "
                "a Matrix Market file"
            )
        shape = [int(size) for size in sizes]
        if documents == "columns":
            shape[:2] = shape[1::-1]
        self.rows, self.width, self._entries = shape
        rows_and_columns = {f"{self.row_name}s": self.rows, f"{self.column_name}s": self.width}
        check_declared(path, **rows_and_columns)
        self._words = None if vocabulary is None else read_vocabulary(vocabulary, self.width, path)

    def blocks(self) -> Iterator[CountBlock]:
        """Read the documents."""
        blocks, entries = DocumentBlocks(self._path, self._remedy, self.row_name), 0
        for rows, words, counts in self._batches():
            self._check(rows, self.rows or 0, self.row_name, entries)
            self._check(words, self.width, self.column_name, entries)
            good = are_counts(counts)
            if not good.all():
                at = int(good.argmin())
                place = f"{self._path}: entry {entries + at + 1:,}"
                raise bad_count(place, counts[at], self.column_name)
            entries += len(rows)
            yield from blocks.add(rows - 1, words - 1, counts, self.width)
        if entries != self._entries:
            raise _cut(
                self._path, f"the {self._entries:,} entries that it declares, but {entries:,}"
            )
        yield from blocks.finish(self.rows or 0, self.width)

    @property
    def _remedy(self) -> str:
        """Remedy for documents that are not where they are looked for; empty without one."""
        if not self._is_market or self._documents == "columns":
            return ""
        return ", or, if documents are the columns of the matrix, use " + Setting(
            "documents", "columns"
        )

    def words(self) -> list[str] | None:
        """Return the names of the words."""
        return self._words

    def _batches(self) -> Iterator[Triplets]:
        """Read triplets of document, word and count."""
        arrow, entries = optional_module("pyarrow", "tables"), 0
        with open_text(self._path) as file:
            for _ in range(self._skip):
                read_line(file, self._path)
            for text in text_batches(file, self._path):
                lines = _regular(text)
                if not lines.strip():
                    continue
                try:
                    triplets = self._parsed(lines)
                except arrow.ArrowInvalid as error:
                    before, bad_line = self._bad_line(lines, entries, error)
                    if before:
                        # an earlier entry may be out of range
                        yield self._parsed(before)
                    raise bad_line from error
                entries += len(triplets[0])
                yield triplets

    def _parsed(self, lines: bytes) -> Triplets:
        """Return the triplets in lines."""
        arrow = optional_module("pyarrow", "tables")
        csv = optional_module("pyarrow.csv", "tables")
        types = {"row": arrow.int64(), "column": arrow.int64()}
        if not self._pattern:
            types["count"] = arrow.float64()
        table = csv.read_csv(
            arrow.BufferReader(lines),
            csv.ReadOptions(column_names=[*types], use_threads=False),
            csv.ParseOptions(delimiter=" "),
            csv.ConvertOptions(column_types=types, null_values=[]),
        )
        rows, words, *counts = (column.to_numpy() for column in table.columns)
        if self._documents == "columns":
            rows, words = words, rows
        return rows, words, counts[0] if counts else np.ones(len(rows))

    def _bad_line(
        self, lines: bytes, entries: int, error: Exception
    ) -> tuple[bytes, FileFormatError]:
        """Return the lines before the first bad one, and the error for that line.

        `entries` earlier entries are counted in the message.
        """
        names = [self.row_name, self.column_name]
        if self._documents == "columns":
            names.reverse()
        if not self._pattern:
            names.append("count")
        entry_lines = [line for line in lines.split(b"\n") if line.strip()]
        number, place = 0, f"an entry after entry {entries:,} is wrong ({error})"
        for at, line in enumerate(entry_lines):
            cells = line.decode("utf-8", "replace").split()
            if len(cells) != len(names) or not _are_numbers(cells):
                number, place = at, f"entry {entries + at + 1:,} is {' '.join(cells)[:60]!r}"
                break
        return b"\n".join(entry_lines[:number]), FileFormatError(
            f"{self._path}: {place}; expected the numbers {', '.join(names)}: correct the line or "
            "export the file again"
        )

    def _check(self, numbers: NDArray[Any], most: int, name: str, entries: int) -> None:
        """Refuse numbers out of range. `entries` earlier entries are counted in the message."""
        bad = np.flatnonzero((numbers < 1) | (numbers > most))
        if bad.size:
            place = entries + int(bad[0]) + 1
            raise FileFormatError(
                f"{self._path}: entry {place:,} has the {name} number {int(numbers[bad[0]]):,}, "
                f"but the file declares the numbers 1 to {most:,}; restore it from a copy"
                + (self._remedy if name == self.row_name else "")
            )


def _are_numbers(cells: Sequence[str]) -> bool:
    """Return True for a row and a column, which are integers, and a number if there is a third."""
    return all(map(_INTEGER.fullmatch, cells[:2])) and all(map(text_is_number, cells[2:]))


def _line(file: BufferedIOBase, path: Path) -> str:
    """Return the next line of a header."""
    return read_line(file, path).decode("utf-8", "replace")


def _cut(path: Path, absent: str) -> FileFormatError:
    """Return the error for a file without a part that it should have."""
    return FileFormatError(
        f"{path} does not have {absent}; it is truncated or damaged: restore it from a copy"
    )


def _regular(text: bytes) -> bytes:
    """Return lines without comments and with one space between numbers."""
    edges = text[:1] + text[-1:]
    if b" " not in edges and not any(mark in text for mark in _IRREGULAR):
        return text
    lines = (line.split() for line in text.split(b"\n"))
    return b"\n".join(b" ".join(line) for line in lines if line and not line[0].startswith(b"%"))
