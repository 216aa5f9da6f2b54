"""Interface of all importers: named columns of numbers, read block by block."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.array_types import FloatArray
from bigtensor.errors import DataError, FileFormatWarning, Setting, warn

_LISTED = 10
"""Columns that a message lists."""


@dataclass(frozen=True)
class ImportBlock:
    """Consecutive rows of a file.

    Parameters
    ----------
    values : ndarray of float or object, shape (rows, features)
        The values, compensated if that was asked for, and not transformed. Objects are names of
        categories.
    raw : ndarray of float, shape (rows, features)
        The values as they were measured, on the linear scale.
    variables : mapping of str to ndarray of shape (rows,)
        ``label``, ``sample_id``, ``sequence`` and ``weight``, as far as they were asked for.
    replaced : mapping of str to int
        Number of entries that were replaced by missing ones, by the code of missing values.
    """

    values: NDArray[Any]
    raw: NDArray[Any]
    variables: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    replaced: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportSource:
    """A file that can be read by row blocks.

    Parameters
    ----------
    path : Path
        The file.
    features : tuple of str
        Names of its numeric columns, unique.
    blocks : callable
        Takes the rows of a block and starts an iteration over the file.
    rows : int or None
        Number of rows, None if it shows only at the end.
    coordinates : mapping of str to tuple of str
        Further names of the features.
    notes : tuple of str
        What was repaired or left out, a sentence each.
    attrs : mapping
        What else should be recorded of the file, as JSON can hold it.
    windows : callable, optional
        Takes a number of rows and starts an iteration over that many at most, in windows spread
        over the file. None if rows cannot be reached without reading those before them.
    category_order : mapping of str to tuple of str
        Names of the categories of features whose categories have an order, in this order.
    """

    path: Path
    features: tuple[str, ...]
    blocks: Callable[[int], Iterator[ImportBlock]]
    rows: int | None = None
    coordinates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    windows: Callable[[int], Iterator[ImportBlock]] | None = None
    category_order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def spread_blocks(self, rows: int) -> Iterator[ImportBlock]:
        """Return blocks spread over the file, or its first block where rows cannot be reached.

        Parameters
        ----------
        rows : int
            Most rows in all, at least 1.
        """
        return islice(self.blocks(rows), 1) if self.windows is None else self.windows(rows)


class Categories:
    """Codes 0, 1, ... for names, in the order in which the names first appear.

    Parameters
    ----------
    first : iterable of str, default ()
        Names that get the first codes, in this order, also if no value has them.
    """

    def __init__(self, first: Iterable[str] = ()) -> None:
        self._codes = {name: code for code, name in enumerate(dict.fromkeys(first))}

    @property
    def names(self) -> list[str]:
        """The name of each code."""
        return list(self._codes)

    def encode(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Return the codes of values. New values get the next codes.

        Parameters
        ----------
        values : ndarray of shape (rows,)
            Strings or numbers; None, NaN and the empty string stand for no value.

        Returns
        -------
        ndarray of int32, shape (rows,)
            -1 where there is no value.
        """
        codes = np.empty(len(values), dtype=np.int32)
        for i, value in enumerate(values.tolist()):
            name = name_of_value(value)
            codes[i] = self._codes.setdefault(name, len(self._codes)) if name else -1
        return codes


def name_of_value(value: object) -> str:
    """Return the name of a value, empty if it is missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def row_weights(cells: NDArray[Any], file: str, first: int) -> FloatArray:
    """Return the weights of a block of rows as numbers.

    Parameters
    ----------
    cells : (rows,) array of object
        Numbers, or their texts.
    file : str
        Name of the file, for messages.
    first : int
        Row of the file with which the block begins, for messages.

    Returns
    -------
    (rows,) float64 array
        Not negative.

    Raises
    ------
    DataError
        When a cell is empty, no number, negative or infinite.
    """
    weights = np.array([_number(cell) for cell in cells.tolist()], np.float64)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        at = int(bad.argmax())
        raise DataError(
            f"{file}: row {first + at:,} (from 0) holds {cells[at]!r} in the column of "
            + Setting("weight")
            + "; give every row a number that is not negative"
        )
    return weights


def _number(cell: Any) -> float:
    """Return the number in a cell, NaN if there is none."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def warn_of_notes(path: Path, notes: Iterable[str]) -> None:
    """Issue a warning for everything in a file that was repaired or left out.

    Parameters
    ----------
    path : Path
        The file.
    notes : iterable of str
        A sentence each.

    Warns
    -----
    FileFormatWarning
    """
    for note in notes:
        warn(f"{path}: " + note, FileFormatWarning)


def excluded_columns(table: str, names: Sequence[str], exclude: Collection[str]) -> list[str]:
    """Return the columns of a table that are no features.

    Parameters
    ----------
    table : str
        The table, for messages.
    names : sequence of str
        Its columns.
    exclude : collection of str
        Columns to leave out. Spaces around a name are no part of it.

    Raises
    ------
    DataError
        If the table has no column of a name.
    """
    excluded = {column.strip(" ") for column in exclude}
    unknown = sorted(excluded - {name.strip(" ") for name in names})
    if unknown:
        near = sorted({name for column in unknown for name in get_close_matches(column, names)})
        listed = near or list(names)[:_LISTED]
        more = f" and {len(names) - _LISTED:,} more" * (not near and len(names) > _LISTED)
        raise DataError(
            f"{table} has no columns {unknown} to leave out, but {listed}{more}; correct "
            + Setting("exclude")
            + ", and import files with other columns apart"
        )
    return [name for name in names if name.strip(" ") in excluded]
