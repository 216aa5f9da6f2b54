"""Text of a CSV file: decompression, header, and the number of cells in every row."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, Any, TextIO

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.values.spreadsheet_text import separator_of, without_apostrophe
from bigtensor.errors import FileFormatError


def _open_plain(path: Path) -> IO[bytes]:
    """Open a file that is not compressed."""
    return path.open("rb")


def _open_zstandard(path: Path) -> IO[bytes]:
    """Open a file that Zstandard compressed."""
    file: IO[bytes] = optional_module("zstandard").open(path, "rb")
    return file


_DECOMPRESSORS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstandard,
}


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file that may be compressed, as the end of its name says."""
    file: IO[bytes] = _DECOMPRESSORS.get(path.suffix.lower(), _open_plain)(path)
    return file


def bare_name(path: Path) -> Path:
    """Return a file's name without the suffix of a compression."""
    name = Path(path.name)
    return name.with_suffix("") if name.suffix.lower() in _DECOMPRESSORS else name


TAB = "\t"


def has_tabs(path: Path) -> bool:
    """Return True if the name of a table says that tabs separate its cells."""
    return ".tsv" in Path(path.name.lower()).suffixes


@dataclass(frozen=True)
class CsvText:
    """A table of text with a header.

    Parameters
    ----------
    path : Path
        The file, possibly compressed.
    separator : str
        Between two cells.
    decimal : str, default "."
        Decimal mark of numbers.
    missing_values : mapping of str to tuple of str, optional
        Cells that count as empty, by column.
    """

    path: Path
    separator: str
    decimal: str = "."
    missing_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @classmethod
    def of_spreadsheet(cls, path: Path) -> CsvText:
        """Return a table whose separator is found in its header.

        Parameters
        ----------
        path : Path
            Tabs separate the cells if its name ends in ``.tsv``.
        """
        if has_tabs(path):
            return cls(path, TAB)
        with _CheckedText(path) as text:
            header = next((line for line in text if line.strip()), "")
        return cls(path, separator_of(header))

    @contextmanager
    def rows(self) -> Iterator[tuple[list[str], TextIO]]:
        """Open the table behind its header.

        Yields
        ------
        header : list of str
            Names of the columns, without spaces around them and the apostrophe before a formula.
        text : file
            Everything that follows the header.

        Raises
        ------
        FileFormatError
            If there is no header.
        """
        with _CheckedText(self.path) as text:
            for header in csv.reader(text, delimiter=self.separator):
                if not _is_blank(header):
                    _check_for_nul("".join(header), self.path)
                    yield [without_apostrophe(name.strip(" ")) for name in header], text
                    return
        raise FileFormatError(f"{self.path} is empty; was it copied completely?")

    @cached_property
    def header_lines(self) -> int:
        """Number of lines to the end of the header. A name in quotes may have several lines."""
        with _CheckedText(self.path) as text:
            reader = csv.reader(text, delimiter=self.separator)
            next((header for header in reader if not _is_blank(header)), None)
            return reader.line_num

    @cached_property
    def number_of_lines(self) -> int:
        """Number of rows and of empty lines before the last row; the file is read once for it."""
        with self.rows() as (_, text):
            lines = enumerate(csv.reader(text, delimiter=self.separator), 1)
            # unlike an empty line, an empty text in quotes is a missing value, also at the end
            return max((number for number, row in lines if row and not row[0].isspace()), default=0)

    def even_rows(self) -> Iterator[list[str]]:
        """Yield the cells of rows up to the first one with more or fewer cells than the header.

        Raises
        ------
        FileFormatError
            At the first such row.
        """
        with self.rows() as (header, text):
            cells = csv.reader(text, delimiter=self.separator)
            # in a table of one column, an empty line is a row
            rows = (row for row in cells if len(header) == 1 or not _is_blank(row))
            for number, row in enumerate(rows):
                surplus = any(row[len(header) :])
                if surplus or 0 < len(row) < len(header):
                    with_commas = surplus and self.separator == ","
                    points = ", with decimal points in place of commas" if with_commas else ""
                    raise FileFormatError(
                        f"{self.path} is damaged: row {number} (from 0) has {len(row)} cells for "
                        f"{len(header)} column names; export it again{points}, or mend or remove "
                        "the row"
                    )
                yield row

    def check_rows(self, stop: int | None = None) -> None:
        """Refuse a table with a row that has more or fewer cells than the header.

        Parameters
        ----------
        stop : int, optional
            Number of rows to check from the first one. None: all rows.

        Raises
        ------
        FileFormatError
            Names the first such row.
        """
        deque(islice(self.even_rows(), stop), maxlen=0)


class _CheckedText(TextIOWrapper):
    """Text whose blocks are searched for NUL bytes.

    For pandas, a cell ends before a NUL byte. The rest of the cell would be lost, and with it a
    number become a missing value.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(open_bytes(path), encoding="utf-8-sig", newline="")
        self._path = path

    def read(self, size: int | None = -1, /) -> str:
        """Return the next characters."""
        block = super().read(size)
        _check_for_nul(block, self._path)
        return block


def _check_for_nul(block: str, path: Path) -> None:
    """Raise a FileFormatError that names the first line with a NUL byte if this text has one."""
    if "\0" not in block:
        return
    with _CheckedText(path) as text:
        line = next(number for number, line in enumerate(text, 1) if "\0" in line)
    raise FileFormatError(
        f"{path} is damaged: line {line} has a NUL byte, which no table of text has; copy the file "
        "again, or export it as CSV in UTF-8"
    )


def _is_blank(row: list[str]) -> bool:
    """Return True for an empty line, which is not a row of a table of several columns."""
    return not row or (len(row) == 1 and not row[0].strip())
