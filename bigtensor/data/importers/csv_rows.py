"""Rows of a CSV file by blocks, after a check that every row has a cell for every column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from packaging.version import Version

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.data.importers.csv_text import CsvText
from bigtensor.errors import DataError, FileFormatError

if TYPE_CHECKING:
    import pandas as pd

_ROWS_TO_GUESS_TYPES = 1000
"""Rows that decide which columns hold numbers. Later cells that are none are an error."""

_SURPLUS = "<surplus>"


def _options(text: CsvText, names: Sequence[str]) -> dict[str, Any]:
    """Return the options with which pandas reads the rows after the header."""
    # Without a column to spare, pandas cuts off a row too long that begins a block.
    options: dict[str, Any] = {
        "sep": text.separator,
        "decimal": text.decimal,
        "header": None,
        "names": [*names, _SURPLUS],
    }
    if len(names) == 1:
        # an empty line is a missing value, unless it is at the end of the file
        options |= {"skip_blank_lines": False, "nrows": text.number_of_lines}
    return options


def _raise_better(row_error: FileFormatError | None, error: Exception) -> NoReturn:
    """Raise the error that names the row, or else the error of the reader.

    An error that is raised from itself is its own cause, along which others go round for ever.
    """
    if row_error is None:
        raise error
    raise row_error from error


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
        except pandas.errors.ParserError as error:
            _raise_better(text.uneven_row(), error)
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
    except pandas.errors.ParserError as error:
        _raise_better(text.uneven_row(), error)
    except DataError:
        raise
    except ValueError as error:
        _raise_better(_bad_number(text, list(types), options), error)


def _check_rows(text: CsvText, frame: pd.DataFrame) -> bool:
    """Raise an error for rows with more or fewer cells than the header; True if all were counted.

    pandas fills a short row, so that it looks like a row whose last cell is empty. Only where there
    are such rows all cells of the file are counted.
    """
    last = frame.iloc[:, -2]
    even = frame[_SURPLUS].isna().all() and last.notna().all() and (last != "").all()
    error = None if even else text.uneven_row()
    if error is not None:
        raise error
    return not even


def bad_cell(
    text: CsvText, frame: pd.DataFrame, names: Sequence[str], first: int = 0
) -> str | None:
    """Return in words the first cell that is not a number; rows are counted from ``first``."""
    pandas = optional_module("pandas", "tables")
    # where the decimal mark is a comma, a number with a point is none
    exchange = str.maketrans({text.decimal: ".", ".": text.decimal})
    for name in names:
        column = frame[name]
        if column.dtype.kind in "iuf":
            continue
        # the reader makes truth values of columns that hold nothing else
        texts = [str(cell) if isinstance(cell, bool) else cell for cell in column]
        cells = [cell.translate(exchange) if isinstance(cell, str) else cell for cell in texts]
        numbers = pandas.to_numeric(pandas.Series(cells, column.index, object), errors="coerce")
        bad = column.notna() & numbers.isna()
        if bad.any():
            at = int(bad.to_numpy().argmax())
            is_truth_value = str(texts[at]).lower() in ("true", "false")
            return (
                f"column {name!r} holds {texts[at]!r} in row {first + at} (from 0)"
                + " (write 1 for true and 0 for false)" * is_truth_value
            )
    return None


def _bad_number(
    text: CsvText, features: Sequence[str], options: dict[str, Any]
) -> FileFormatError | None:
    """Return the error for the first cell that is not a number, after a fast read failed."""
    pandas = optional_module("pandas", "tables")
    first = 0
    with text.rows() as (_, body):
        for frame in pandas.read_csv(body, dtype=object, **options):
            cell = bad_cell(text, frame, features, first)
            if cell is not None:
                return FileFormatError(
                    f"{text.path}: {cell}, which is no number; mend the file, or leave the cell "
                    "empty"
                )
            first += len(frame)
    return None
