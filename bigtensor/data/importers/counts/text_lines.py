"""Lines of text that may be compressed, read with a limit on their length."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from bigtensor.errors import FileFormatError

LONGEST_LINE = 2**20
"""Largest number of bytes in a line.

A compressed file of a few kilobytes may hold a line of gigabytes.
"""

BATCH_NBYTES = 16 * 2**20
"""Bytes of text that are read at once."""


def open_text(path: Path) -> BufferedIOBase:
    """Open a file that may be compressed."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def read_line(file: BufferedIOBase, path: Path) -> bytes:
    """Return the next line with its line feed. At the end of the file it is empty.

    Parameters
    ----------
    file : binary file
        Open file of bytes, at the start of a line.
    path : Path
        For the message.

    Raises
    ------
    FileFormatError
        If the line has more than `LONGEST_LINE` bytes. The rest of it is not read.
    """
    line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise FileFormatError(
            f"{path} has a line of more than {LONGEST_LINE:,} bytes, so it is damaged or not a "
            "text file; export it again"
        )
    return line


def text_lines(file: BufferedIOBase, path: Path) -> Iterator[bytes]:
    """Yield lines without the line feed, or carriage return and line feed, that ends them."""
    while line := read_line(file, path):
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def text_batches(file: BufferedIOBase, path: Path) -> Iterator[bytes]:
    """Yield whole lines, about `BATCH_NBYTES` at once."""
    while text := file.read(BATCH_NBYTES):
        yield text if text.endswith(b"\n") else text + read_line(file, path)
