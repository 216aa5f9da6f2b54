"""CSV and Parquet tables, read by row blocks: numeric columns become features."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from packaging.version import Version

from bigtensor.data.addresses.file_formats import optional_module, reading
from bigtensor.data.importers.csv_text import CsvText
from bigtensor.data.importers.source import ImportBlock, ImportSource, warn_of_notes
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, FileFormatError, Setting

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ROWS_TO_GUESS_TYPES = 1000
"""Rows that decide which columns hold numbers. Later cells that are none are an error."""

_SURPLUS = "<surplus>"
_SEPARATORS = {",", ";", "\t"}


def open_csv(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    sample_id: str | None = None,
    sequence: str | None = None,
    codes: bool = False,
) -> ImportSource:
    """Open a table of text for import.

    Parameters
    ----------
    path : str or path-like
        The table, possibly compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``). Its first line
        names the columns; they are separated by tabs if the name ends in ``.tsv``, else by commas.
    label, sample_id, sequence : str, optional
        Columns to keep beside the features.
    codes : bool, default False
        Every cell of a feature is the name of a category.

    Returns
    -------
    ImportSource
        Empty cells are NaN. A first column without a name is a row index, and is left out.

    Raises
    ------
    DataError
        If a column named here does not exist, or another one holds no numbers.
    FileFormatError
        If the table is empty or damaged.
    """
    path = Path(path)
    text = CsvText(path, "\t" if ".tsv" in path.suffixes else ",")
    with reading(path, "a table"):
        with text.rows() as (header, _):
            names = _checked_names(text, header)
        guess = _first_rows(text, names)
    notes, left_out = [], set()
    if len(set(header)) < len(header):
        notes.append(f"repeated column names were numbered: {sorted(_repeated(header))}")
    if not header[0]:
        left_out.add(names[0])
        notes.append("the first column has no name and was left out as a row index")
    kept = _kept_columns(
        path, names, {"label": label, "sample_id": sample_id, "sequence": sequence}
    )
    numeric = {name for name in names if codes or guess[name].dtype.kind in "iuf"}
    others = [name for name in names if name not in left_out and name not in kept.values()]
    features = _feature_columns(path, others, numeric, guess)
    floats = () if codes else features

    warn_of_notes(path, notes)

    def blocks(rows: int) -> Iterator[ImportBlock]:
        with reading(path, "a table"):
            for frame in _frames(text, names, floats, rows):
                values = frame[list(features)].to_numpy(object if codes else np.float64)
                variables = {key: frame[c].to_numpy(object) for key, c in kept.items()}
                yield ImportBlock(values, values, variables)

    return ImportSource(path, features, blocks, notes=tuple(notes))


def open_parquet(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    sample_id: str | None = None,
    sequence: str | None = None,
    codes: bool = False,
) -> ImportSource:
    """Open a Parquet file for import.

    Parameters
    ----------
    path : str or path-like
        The file.
    label, sample_id, sequence : str, optional
        Columns to keep beside the features.
    codes : bool, default False
        Every value of a feature is the name of a category.

    Returns
    -------
    ImportSource
        Missing values are NaN. An index column written by pandas is left out.

    Raises
    ------
    DataError
        If a column named here does not exist, or another one holds no numbers.
    FileFormatError
        If the file is damaged.
    """
    arrow = optional_module("pyarrow", "tables")
    parquet = optional_module("pyarrow.parquet", "tables")
    path = Path(path)
    with reading(path, "Parquet"), parquet.ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    names = list(schema.names)
    if _repeated(names):
        raise FileFormatError(f"{path} repeats the columns {sorted(_repeated(names))}; rename them")
    index = [name for name in names if name.startswith("__index_level_")]
    kept = _kept_columns(
        path, names, {"label": label, "sample_id": sample_id, "sequence": sequence}
    )
    numeric = {column.name for column in schema if codes or _is_numeric_arrow(arrow, column.type)}
    others = [name for name in names if name not in index and name not in kept.values()]
    features = _feature_columns(path, others, numeric)

    notes = (f"the row index {index} was left out",) if index else ()
    warn_of_notes(path, notes)

    def blocks(rows_per_block: int) -> Iterator[ImportBlock]:
        columns = [*features, *dict.fromkeys(kept.values())]
        with (
            reading(path, "Parquet"),
            parquet.ParquetFile(path, page_checksum_verification=True) as file,
        ):
            for batch in file.iter_batches(rows_per_block, columns=columns):
                values = np.empty((batch.num_rows, len(features)), object if codes else float)
                for j, name in enumerate(features):
                    column = batch.column(name)
                    if codes:
                        values[:, j] = column.to_pylist()
                        continue
                    column = column.cast(arrow.float64(), safe=False)
                    values[:, j] = column.to_numpy(zero_copy_only=False)
                variables = {
                    key: np.array(batch.column(name).to_pylist(), dtype=object)
                    for key, name in kept.items()
                }
                yield ImportBlock(values, values, variables)

    return ImportSource(path, features, blocks, rows=rows, notes=notes)


def _is_numeric_arrow(arrow: ModuleType, kind: pa.DataType) -> bool:
    """Return True if an Arrow type can become a float without loss of meaning."""
    types = arrow.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _is_number(text: str) -> bool:
    """Return True if a column's name is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _repeated(names: Sequence[str]) -> set[str]:
    """Return the names that occur more than once."""
    return {name for name in names if names.count(name) > 1}


def _kept_columns(
    path: Path, names: Sequence[str], kept: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the columns beside the features by the name of their variable."""
    chosen = {variable: column for variable, column in kept.items() if column is not None}
    for variable, column in chosen.items():
        if column not in names:
            raise DataError(
                f"{path} has no column {column!r} to use as {variable}; it has {list(names)}"
            )
    return chosen


def _feature_columns(
    path: Path, names: Sequence[str], numeric: set[str], rows: pd.DataFrame | None = None
) -> tuple[str, ...]:
    """Return the features, refusing columns that hold no numbers.

    Where the first rows are given, the error shows a cell that is no number.
    """
    others = [name for name in names if name not in numeric]
    if others:
        cell = None if rows is None else _bad_cell(rows, others)
        raise DataError(
            f"the columns {others} of {path} do not hold numbers"
            + (f": {cell}" if cell else "")
            + "; use them as "
            + Setting("label")
            + ", "
            + Setting("sample_id")
            + " or "
            + Setting("sequence")
            + ", leave them out of the file, or import every column as codes of categories with "
            + Setting("codes", True)
        )
    if not names:
        raise DataError(f"{path} has no numeric columns to use as features")
    return tuple(names)


def _checked_names(text: CsvText, header: Sequence[str]) -> list[str]:
    """Return unique names of the columns, refusing a header that names none."""
    path = text.path
    if all(_is_number(name) for name in header):
        raise FileFormatError(
            f"the first line of {path} holds numbers; put a line with column names before it"
        )
    for other in _SEPARATORS - {text.separator}:
        if len(header) == 1 and other in header[0]:
            raise FileFormatError(
                f"the first line of {path} has one column, {header[0]!r}; cells are separated by "
                "commas, in .tsv files by tabs: export the table again"
            )
    if "" in header[1:]:
        raise FileFormatError(
            f"column {header.index('', 1)} (from 0) of {path} has no name; name it in the first "
            "line, or remove the column"
        )
    return unique_names(list(header))


def _options(text: CsvText, names: Sequence[str]) -> dict[str, Any]:
    """Return the options with which pandas reads the rows after the header."""
    # Without a column to spare, pandas cuts off a row too long that begins a block.
    return {"sep": text.separator, "header": None, "names": [*names, _SURPLUS]}


def _raise_better(row_error: FileFormatError | None, error: Exception) -> NoReturn:
    """Raise the error that names the row, or else the error of the reader.

    An error that is raised from itself is its own cause, along which others go round for ever.
    """
    if row_error is None:
        raise error
    raise row_error from error


def _first_rows(text: CsvText, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows from which the types of the columns are guessed."""
    pandas = optional_module("pandas", "tables")
    with text.rows() as (_, body):
        try:
            first: pd.DataFrame = pandas.read_csv(
                body, nrows=_ROWS_TO_GUESS_TYPES, **_options(text, names)
            )
        except pandas.errors.ParserError as error:
            _raise_better(text.uneven_row(), error)
    if first.empty:
        raise FileFormatError(
            f"{text.path} has column names and no rows; was it exported completely?"
        )
    _check_rows(text, first)
    return first


def _frames(
    text: CsvText, names: Sequence[str], features: Sequence[str], rows: int
) -> Iterator[pd.DataFrame]:
    """Yield blocks of checked rows."""
    pandas = optional_module("pandas", "tables")
    types = dict.fromkeys([*names, _SURPLUS], "object") | dict.fromkeys(features, "float64")
    options = {"chunksize": rows, **_options(text, names)}
    if Version(pandas.__version__) < Version("3.1"):
        # later versions have no other converter
        options["float_precision"] = "round_trip"
    checked = False
    try:
        with text.rows() as (_, body):
            for frame in pandas.read_csv(body, dtype=types, **options):
                checked = checked or _check_rows(text, frame)
                yield frame
    except pandas.errors.ParserError as error:
        _raise_better(text.uneven_row(), error)
    except DataError:
        raise
    except ValueError as error:
        _raise_better(_bad_number(text, features, options), error)


def _check_rows(text: CsvText, frame: pd.DataFrame) -> bool:
    """Raise an error for rows with more or fewer cells than the header; True if all were counted.

    pandas fills a short row, so that it looks like a row whose last cell is empty. Only where there
    are such rows all cells of the file are counted.
    """
    even = frame[_SURPLUS].isna().all() and frame.iloc[:, -2].notna().all()
    error = None if even else text.uneven_row()
    if error is not None:
        raise error
    return not even


def _bad_cell(frame: pd.DataFrame, names: Sequence[str], first: int = 0) -> str | None:
    """Return in words the first cell that is not a number; rows are counted from ``first``."""
    pandas = optional_module("pandas", "tables")
    for name in names:
        column = frame[name]
        bad = column.notna() & pandas.to_numeric(column.astype(object), errors="coerce").isna()
        if bad.any():
            at = int(bad.to_numpy().argmax())
            return f"column {name!r} holds {column.iloc[at]!r} in row {first + at} (from 0)"
    return None


def _bad_number(
    text: CsvText, features: Sequence[str], options: dict[str, Any]
) -> FileFormatError | None:
    """Return the error for the first cell that is not a number, after a fast read failed."""
    pandas = optional_module("pandas", "tables")
    first = 0
    with text.rows() as (_, body):
        for frame in pandas.read_csv(body, dtype=object, **options):
            cell = _bad_cell(frame, features, first)
            if cell is not None:
                return FileFormatError(
                    f"{text.path}: {cell}, which is no number; mend the file, or leave the cell "
                    "empty"
                )
            first += len(frame)
    return None
