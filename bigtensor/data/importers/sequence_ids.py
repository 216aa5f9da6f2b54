"""Ids of sequences of imported files: integers as they are, names as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.importers.source import name_of_value
from bigtensor.errors import DataError, Setting


class SequenceIds:
    """Integer ids of the sequences of files that are imported one after the other.

    Integers of one file stay as they are. Names are numbered in the order in which they first
    appear. Ids of several files are names, numbered file by file, so that equal ids on both sides
    of the border between two files do not join.

    Parameters
    ----------
    several_files : bool
        True if more than one file is imported.
    """

    def __init__(self, *, several_files: bool) -> None:
        self._codes: dict[tuple[str, str], int] = {}
        self._as_integers: bool | None = False if several_files else None

    @property
    def names(self) -> list[str] | None:
        """The name of each code; None where the ids are integers themselves."""
        return None if not self._codes else [name for _, name in self._codes]

    def encode(self, ids: NDArray[Any], file: str, first: int) -> IntArray:
        """Return the ids of a block as integers.

        Parameters
        ----------
        ids : (rows,) array
            Strings or numbers.
        file : str
            Name of the file. It is part of the identity of a named sequence.
        first : int
            Row of the file with which the block begins, for messages.

        Raises
        ------
        DataError
            When a row has no id, or a name follows on integers.
        """
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]])[: len(ids)])
        names = [name_of_value(value) for value in ids[starts].tolist()]
        if "" in names:
            row = first + int(starts[names.index("")])
            raise DataError(
                f"{file}: row {row:,} (from 0) has no id in the column of "
                + Setting("sequence")
                + "; give every row the id of its sequence"
            )
        if self._as_integers is None:
            self._as_integers = all(map(_is_integer, names))
        return np.repeat(self._integers(names, file), np.diff(starts, append=len(ids)))

    def _integers(self, names: list[str], file: str) -> IntArray:
        """Return an integer for every name."""
        if not self._as_integers:
            code_by_name = self._codes
            codes = [code_by_name.setdefault((file, name), len(code_by_name)) for name in names]
            return np.array(codes, np.int64)
        other = next((name for name in names if not _is_integer(name)), None)
        if other is not None:
            raise DataError(
                f"{file}: the column of "
                + Setting("sequence")
                + f" holds {other!r} after integers; give all sequences integers, or all names"
            )
        return np.array([int(name) for name in names], np.int64)


def _is_integer(name: str) -> bool:
    """Return True for the text of a 64-bit integer that is written as Python writes it."""
    digits = name.removeprefix("-")
    canonical = digits.isascii() and digits.isdigit() and (digits[0] != "0" or name == "0")
    return canonical and -(2**63) <= int(name) < 2**63
