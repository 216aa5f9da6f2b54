"""Lists of the names of words, one a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.importers.counts.text_lines import open_text, text_lines
from bigtensor.errors import FileFormatError


def read_vocabulary(path: Path, width: int, counts: Path) -> list[str]:
    """Read the names of the words of a file of counts.

    A name ends at a line feed, with or without a carriage return before it, or at a tab. Other
    characters that Unicode counts as ends of lines are part of a name.

    Parameters
    ----------
    path : Path
        In UTF-8, possibly compressed.
    width : int
        Number of words.
    counts : Path
        The file of counts, for the message.

    Raises
    ------
    FileFormatError
        If the list has another number of names than there are words, or is not UTF-8.
    """
    names = list[str]()
    for (name,) in listed_names(path):
        if len(names) == width:
            raise wrong_number(counts, width, f"more ({path})")
        names.append(name)
    if len(names) < width:
        raise wrong_number(counts, width, f"{len(names):,} ({path})")
    return names


def listed_names(path: Path, columns: int = 1) -> Iterator[list[str]]:
    """Yield the first cells of every line. Tabs separate the cells.

    Parameters
    ----------
    path : Path
        In UTF-8, possibly compressed.
    columns : int, default 1
        Largest number of cells that are read in a line.

    Raises
    ------
    FileFormatError
        If one of these cells is not UTF-8, or the file is damaged.
    """
    with reading(path, "a list of names"), open_text(path) as file:
        for number, line in enumerate(text_lines(file, path), 1):
            yield [_name(path, number, cell) for cell in line.split(b"\t")[:columns]]


def wrong_number(counts: Path, width: int, names: str) -> FileFormatError:
    """Return the error for a list with the wrong number of names.

    Parameters
    ----------
    counts : Path
        The file of counts.
    width : int
        Number of its words.
    names : str
        Number of names, as the message writes it.
    """
    return FileFormatError(
        f"{counts} has {width:,} words, but the list of their names has {names}; give the list "
        "that belongs to this file"
    )


def _name(path: Path, number: int, encoded: bytes) -> str:
    """Return the name in a cell of a line."""
    try:
        # some editors write a byte order mark before the first name
        name = encoded.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path}: line {number:,} ({encoded[:60]!r}) is not UTF-8; convert the list, for "
            f"example from Latin-1: iconv -f latin1 -t utf-8 {path.name} > vocabulary.txt"
        ) from error
    return name.strip(" ")
