"""CSV and Parquet tables, read by row blocks: numeric columns become features."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bigtensor.data.importers.source import (
    ImportBlock,
    ImportSource,
    optional_module,
    unique_names,
    warn_of_notes,
)
from bigtensor.errors import DataError, FileFormatError

_ROWS_TO_GUESS_TYPES = 1000
_SURPLUS = "<surplus>"


def open_csv(
    path: "str | os.PathLike[str]", *, label: str | None = None, sample_id: str | None = None
) -> ImportSource:
    """Open a table of text for import.

    Parameters
    ----------
    path : str or path-like
        The table, possibly compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``). Its first line
        names the columns; they are separated by tabs if the name ends in ``.tsv``, else by commas.
    label, sample_id : str, optional
        Columns to keep beside the features.

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
    pandas = optional_module("pandas", "tables")
    path = Path(path)
    separator = "\t" if ".tsv" in path.suffixes else ","
    try:
        head = pandas.read_csv(
            path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False
        )
        given = [name.strip() for name in head.iloc[0]]
        names = unique_names(given)
        # Without a column to spare, pandas cuts off a row too long that begins a block.
        columns = [*names, _SURPLUS]
        options = {"sep": separator, "skiprows": 1, "header": None, "names": columns}
        guess = pandas.read_csv(path, nrows=_ROWS_TO_GUESS_TYPES, **options)
        _check_surplus(path, guess)
    except (pandas.errors.EmptyDataError, pandas.errors.ParserError, UnicodeError) as error:
        raise FileFormatError(f"{path} cannot be read as a table: {error}") from error
    if all(_is_number(name) for name in given):
        raise FileFormatError(
            f"the first line of {path} holds numbers; put a line with column names before it"
        )
    notes, left_out = [], set()
    if len(set(given)) < len(given):
        notes.append(f"repeated column names were numbered: {sorted(_repeated(given))}")
    if not given[0]:
        left_out.add(names[0])
        notes.append("the first column has no name and was left out as a row index")
    kept = _kept_columns(path, names, label=label, sample_id=sample_id)
    numeric = {name for name in names if guess[name].dtype.kind in "iuf"}
    others = [name for name in names if name not in left_out and name not in kept.values()]
    features = _feature_columns(path, others, numeric)

    warn_of_notes(path, notes)

    def blocks(rows: int) -> Iterator[ImportBlock]:
        types = dict.fromkeys([*names, _SURPLUS], "object") | dict.fromkeys(features, "float64")
        chosen = {**options, "chunksize": rows, "float_precision": "round_trip"}
        try:
            with pandas.read_csv(path, dtype=types, **chosen) as reader:
                for frame in reader:
                    _check_surplus(path, frame)
                    values = frame[list(features)].to_numpy(dtype=np.float64)
                    variables = {key: frame[c].to_numpy(object) for key, c in kept.items()}
                    yield ImportBlock(values, values, variables)
        except pandas.errors.ParserError as error:
            raise FileFormatError(f"{path} is damaged: {error}") from error
        except DataError:
            raise
        except ValueError as error:
            raise _bad_number(path, features, chosen) or error from error

    return ImportSource(path, features, blocks, notes=tuple(notes))


def open_parquet(
    path: "str | os.PathLike[str]", *, label: str | None = None, sample_id: str | None = None
) -> ImportSource:
    """Open a Parquet file for import.

    Parameters
    ----------
    path : str or path-like
        The file.
    label, sample_id : str, optional
        Columns to keep beside the features.

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
    try:
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (arrow.ArrowException, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as Parquet: {error}") from error
    names = list(schema.names)
    if _repeated(names):
        raise FileFormatError(f"{path} repeats the columns {sorted(_repeated(names))}; rename them")
    index = [name for name in names if name.startswith("__index_level_")]
    kept = _kept_columns(path, names, label=label, sample_id=sample_id)
    numeric = {column.name for column in schema if _is_numeric_arrow(arrow, column.type)}
    others = [name for name in names if name not in index and name not in kept.values()]
    features = _feature_columns(path, others, numeric)

    notes = (f"the row index {index} was left out",) if index else ()
    warn_of_notes(path, notes)

    def blocks(rows_per_block: int) -> Iterator[ImportBlock]:
        columns = [*features, *kept.values()]
        try:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(rows_per_block, columns=columns):
                    values = np.empty((batch.num_rows, len(features)))
                    for j, name in enumerate(features):
                        column = batch.column(name).cast(arrow.float64(), safe=False)
                        values[:, j] = column.to_numpy(zero_copy_only=False)
                    variables = {
                        key: np.array(batch.column(name).to_pylist(), dtype=object)
                        for key, name in kept.items()
                    }
                    yield ImportBlock(values, values, variables)
        except (arrow.ArrowException, OSError) as error:
            raise FileFormatError(f"{path} is damaged: {error}") from error

    return ImportSource(path, features, blocks, rows=rows, notes=notes)


def _is_numeric_arrow(arrow: Any, kind: Any) -> bool:
    """Say whether an Arrow type can become a float without loss of meaning."""
    types = arrow.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _is_number(text: str) -> bool:
    """Say whether a column's name is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _repeated(names: Sequence[str]) -> set[str]:
    """Return the names that occur more than once."""
    return {name for name in names if names.count(name) > 1}


def _kept_columns(
    path: Path, names: Sequence[str], *, label: str | None, sample_id: str | None
) -> dict[str, str]:
    """Return the columns that are no features, by the name of their variable."""
    kept = {"label": label, "sample_id": sample_id}
    chosen = {variable: column for variable, column in kept.items() if column is not None}
    for variable, column in chosen.items():
        if column not in names:
            raise DataError(
                f"{path} has no column {column!r} to use as {variable}; it has {list(names)}"
            )
    return chosen


def _feature_columns(path: Path, names: Sequence[str], numeric: set[str]) -> tuple[str, ...]:
    """Return the features, refusing columns that hold no numbers."""
    others = [name for name in names if name not in numeric]
    if others:
        raise DataError(
            f"the columns {others} of {path} do not hold numbers; use them as label or sample_id, "
            "or leave them out of the file"
        )
    if not names:
        raise DataError(f"{path} has no numeric columns to use as features")
    return tuple(names)


def _check_surplus(path: Path, frame: Any) -> None:
    """Refuse rows with more cells than the first line names."""
    surplus = frame[_SURPLUS].notna().to_numpy()
    if surplus.any():
        row = frame.index[int(surplus.argmax())]
        raise FileFormatError(
            f"{path} is damaged: row {row} (from 0) has more cells than there are column names"
        )


def _bad_number(path: Path, features: Sequence[str], options: dict[str, Any]) -> Exception | None:
    """Find the first cell that is no number after a fast read failed."""
    pandas = optional_module("pandas", "tables")
    first = 0
    with pandas.read_csv(path, dtype=object, **options) as reader:
        for frame in reader:
            for name in features:
                column = frame[name]
                bad = column.notna() & pandas.to_numeric(column, errors="coerce").isna()
                if bad.any():
                    at = int(bad.to_numpy().argmax())
                    return FileFormatError(
                        f"{path}: column {name!r} holds {column.iloc[at]!r} in row {first + at} "
                        "(from 0), which is no number; mend the file, or leave the cell empty"
                    )
            first += len(frame)
    return None
