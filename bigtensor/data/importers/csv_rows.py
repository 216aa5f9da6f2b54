"""Rows of a CSV file by blocks, after a check that every row has a cell for every column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.version import Version

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.importers.csv_text import CsvText
from bigtensor.data.values.spreadsheet_cells import text_is_number
from bigtensor.errors import DataError, FileFormatError

if TYPE_CHECKING:
    import pandas as pd

_ROWS_TO_GUESS_TYPES = 1000
"""Rows that decide which columns hold numbers. Later cells that are none are an error."""

_SURPLUS = "<surplus>"

NUMBERS = "float64"
"""Type of columns of numbers."""

TRUTH_VALUES = "boolean"
"""Type of columns of true and false, of which some may be missing."""

_TRUE_AND_FALSE = ("true", "false", "1", "0", "1.0", "0.0")
"""Cells that pandas reads as true and false, in small letters."""

_WITH_THOUSANDS = re.compile(r"\s*[+-]?(\d{1,3}(,\d{3})+(\.\d*)?|\d{1,3}(\.\d{3})+(,\d*)?)\s*")
"""Form of numbers with a separator between groups of three digits."""


def _options(text: CsvText, names: Sequence[str]) -> dict[str, Any]:
    """Return the options with which pandas reads the rows after the header."""
    # Without a column to spare, pandas cuts off a row too long that begins a block.
    options: dict[str, Any] = {
        "sep": text.separator,
        "decimal": text.decimal,
        "header": None,
        "names": [*names, _SURPLUS],
        "na_values": {name: [*cells] for name, cells in text.missing_values.items()},
    }
    if len(names) == 1:
        # an empty line is a missing value, unless it is at the end of the file
        options |= {"skip_blank_lines": False, "nrows": text.number_of_lines}
    return options


def first_rows(text: CsvText, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows from which the types of the columns are guessed.

    Parameters
    ----------
    text : CsvText
        The table.
    names : sequence of str
        Unique names of its columns.

    Raises
    ------
    FileFormatError
        If there are no rows, or one of these has more or fewer cells than there are columns.
    """
    pandas = optional_module("pandas", "tables")
    options = _options(text, names)
    options["nrows"] = min(_ROWS_TO_GUESS_TYPES, options.get("nrows", _ROWS_TO_GUESS_TYPES))
    with text.rows() as (_, body):
        try:
            first: pd.DataFrame = pandas.read_csv(body, **options)
        except pandas.errors.ParserError:
            text.check_rows()
            raise
    if first.empty:
        raise FileFormatError(
            f"{text.path} has column names and no rows; was it exported completely?"
        )
    _check_rows(text, first)
    return first


def row_blocks(
    text: CsvText,
    names: Sequence[str],
    types: Mapping[str, str | None],
    rows: int,
    *,
    verbatim: Collection[str] = (),
) -> Iterator[pd.DataFrame]:
    """Yield blocks of checked rows.

    Parameters
    ----------
    text : CsvText
        The table.
    names : sequence of str
        Unique names of its columns.
    types : mapping of str to str or None
        Type of columns. If it is None, the cells of each block decide. Columns that are not named
        here hold text.
    rows : int
        Largest number of rows of a block.
    verbatim : collection of str, default ()
        Columns of texts that are kept as they are written, such as ``NA``. An empty cell is an
        empty text. In other columns of texts, marks of missing values become NaN.

    Raises
    ------
    FileFormatError
        If a row has more or fewer cells than there are columns, or a cell is not of the type.
    """
    pandas = optional_module("pandas", "tables")
    all_types = dict.fromkeys([*names, _SURPLUS], "object") | dict(types)
    options = {"chunksize": rows, **_options(text, names)}
    if Version(pandas.__version__) < Version("3.1"):
        # later versions have no other converter
        options["float_precision"] = "round_trip"
    if None in types.values():
        # with low memory, parts of a block have types of their own
        options["low_memory"] = False
    checked = False
    converters = dict.fromkeys(verbatim, str)
    types_set = {
        name: kind for name, kind in all_types.items() if kind is not None and name not in verbatim
    }
    try:
        with text.rows() as (_, body):
            for frame in pandas.read_csv(body, dtype=types_set, converters=converters, **options):
                checked = checked or _check_rows(text, frame)
                yield frame
    except pandas.errors.ParserError:
        text.check_rows()
        raise
    except DataError:
        raise
    except ValueError:
        _check_cells(text, types, options)
        raise


def _check_rows(text: CsvText, frame: pd.DataFrame) -> bool:
    """Raise an error for rows with more or fewer cells than the header; True if all were counted.

    pandas fills a short row, so that it looks like a row whose last cell is empty. Only where there
    are such rows all cells of the file are counted.
    """
    last = frame.iloc[:, -2]
    even = frame[_SURPLUS].isna().all() and last.notna().all() and (last != "").all()
    if not even:
        text.check_rows()
    return not even


class BadCell(NamedTuple):
    """Cell that is not of the type of its column."""

    row: int
    words: str


def holds_truth_values(column: pd.Series) -> bool:
    """Return True for a column of true and false, of which some may be missing."""
    if column.dtype.kind == "b":
        return True
    cells = column.dropna()
    return not cells.empty and all(isinstance(cell, bool) for cell in cells)


def bad_cell(
    text: CsvText, frame: pd.DataFrame, names: Iterable[str], first: int = 0
) -> BadCell | None:
    """Return the first cell that is neither a number nor in a column of true and false.

    Parameters
    ----------
    text : CsvText
        The table.
    frame : DataFrame
        Some of its rows.
    names : iterable of str
        Columns to search.
    first : int, default 0
        Number of the first row of `frame`.
    """
    pandas = optional_module("pandas", "tables")
    # where the decimal mark is a comma, a number with a point is none
    exchange = str.maketrans({text.decimal: ".", ".": text.decimal})
    cells = list[BadCell]()
    for name in names:
        column = frame[name]
        if column.dtype.kind in "iuf" or holds_truth_values(column):
            continue
        # the reader makes truth values of parts that hold nothing else
        texts = [str(cell) if isinstance(cell, bool) else cell for cell in column]
        as_points = [cell.translate(exchange) if isinstance(cell, str) else cell for cell in texts]
        numbers = pandas.to_numeric(pandas.Series(as_points, column.index, object), errors="coerce")
        bad = (column.notna() & numbers.isna()).to_numpy()
        if bad.any():
            at = int(bad.argmax())
            cells.append(_cell(name, texts[at], first + at, _hint(str(texts[at]), text)))
    return min(cells, default=None)


def _hint(cell: str, text: CsvText) -> str:
    """Return what to write for a cell that is no number in this table."""
    if cell.lower() in _TRUE_AND_FALSE[:2]:
        return " (write 1 for true and 0 for false)"
    if text.decimal == "," and text_is_number(cell):
        return " (another column has decimal commas: write one decimal mark in all columns)"
    if _WITH_THOUSANDS.fullmatch(cell):
        return " (write numbers without separators of thousands)"
    return ""


def _neither_true_nor_false(
    frame: pd.DataFrame, names: Iterable[str], first: int
) -> BadCell | None:
    """Return the first cell that is neither true nor false in columns that begin with these."""
    cells = list[BadCell]()
    for name in names:
        bad = (frame[name].notna() & ~frame[name].str.lower().isin(_TRUE_AND_FALSE)).to_numpy()
        if bad.any():
            at = int(bad.argmax())
            hint = " below cells of true and false"
            cells.append(_cell(name, frame[name].iloc[at], first + at, hint))
    return min(cells, default=None)


def _cell(name: str, cell: object, row: int, hint: str) -> BadCell:
    """Return a cell in words."""
    return BadCell(row, f"column {name!r} holds {cell!r} in row {row} (from 0){hint}")


def _check_cells(
    text: CsvText, types: Mapping[str, str | None], options: Mapping[str, Any]
) -> None:
    """Refuse the first cell that is not of its type, or an uneven row before it."""
    pandas = optional_module("pandas", "tables")
    truth_values = [name for name, kind in types.items() if kind == TRUTH_VALUES]
    numbers = [name for name, kind in types.items() if kind == NUMBERS]
    first = 0
    with text.rows() as (_, body):
        for frame in pandas.read_csv(body, dtype=object, **options):
            cells = (
                bad_cell(text, frame, numbers, first),
                _neither_true_nor_false(frame, truth_values, first),
            )
            cell = min((cell for cell in cells if cell is not None), default=None)
            if cell is not None:
                text.check_rows(cell.row + 1)
                expected = "no number" if cell == cells[0] else "neither true nor false"
                raise FileFormatError(
                    f"{text.path}: {cell.words}, which is {expected}; mend the file, or leave "
                    "the cell empty"
                )
            first += len(frame)
