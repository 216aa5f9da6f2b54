"""CSV and Parquet tables, read by row blocks: numeric columns become features."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import optional_module, reading
from bigtensor.data.importers.csv_rows import (
    NUMBERS,
    TRUTH_VALUES,
    bad_cell,
    first_rows,
    holds_truth_values,
    row_blocks,
)
from bigtensor.data.importers.csv_text import TAB, CsvText
from bigtensor.data.importers.source import (
    ImportBlock,
    ImportSource,
    excluded_columns,
    name_of_value,
    warn_of_notes,
)
from bigtensor.data.stores.layout import SOURCE_ROW
from bigtensor.data.values.spreadsheet_cells import text_is_number
from bigtensor.data.values.spreadsheet_text import with_decimal_points, without_apostrophe
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, FileFormatError, Setting

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ANSWER = re.compile(r"label|population|log_density|(probability|topic_share)_\d+|surprise_.+")
"""Names of the columns of answers in tables that `bigtensor export` writes."""


def open_csv(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    sample_id: str | None = None,
    sequence: str | None = None,
    weight: str | None = None,
    exclude: Collection[str] = (),
    codes: bool = False,
    missing_values: Collection[str] = (),
) -> ImportSource:
    """Open a table of text for import.

    Parameters
    ----------
    path : str or path-like
        The table, possibly compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``). Its first line
        names the columns. Commas, semicolons or tabs separate the cells, and tabs if the name ends
        in ``.tsv``. Beside semicolons, numbers may have decimal commas.
    label, sample_id, sequence, weight : str, optional
        Columns to keep beside the features.
    exclude : collection of str, default ()
        Columns that are no features.
    codes : bool, default False
        Every cell of a feature is the name of a category.
    missing_values : collection of str, default ()
        Values of features that stand for missing ones.

    Returns
    -------
    ImportSource
        Empty cells are NaN. In a column of true and false, these are 1 and 0. A first column
        without a name is a row index, and is left out.

    Raises
    ------
    DataError
        If a column named here does not exist, or another one holds no numbers.
    FileFormatError
        If the table is empty or damaged.
    """
    path = Path(path)
    with reading(path, "a table"):
        text = CsvText.of_spreadsheet(path)
        with text.rows() as (header, _):
            names = _checked_names(text, header)
        beside = {"label": label, "sample_id": sample_id, "sequence": sequence, "weight": weight}
        kept = _kept_columns(path, names, beside)
        left_out = set(excluded_columns(str(path), names, exclude))
        # texts beside the features have commas of their own
        texts = {kept.get(variable) for variable in ("label", "sample_id", "sequence")} | left_out
        text = _with_missing_cells(text, {*names} - {*kept.values()}, missing_values)
        guess = first_rows(text, names)
        if _has_decimal_commas(guess[[name for name in names if name not in texts]], text):
            text, missing_values = _with_decimal_commas(text, missing_values, codes=codes)
            guess = first_rows(text, names)
    notes = []
    if len(set(header)) < len(header):
        notes.append(f"repeated column names were numbered: {sorted(_repeated(header))}")
    if not header[0]:
        left_out.add(names[0])
        notes.append("the first column has no name and was left out as a row index")
    # pandas keeps integers of more than 64 bits as text; the rows are read as floats
    numeric = {name for name in names if codes or bad_cell(text, guess, [name]) is None}
    answers = exported_answers(guess[names], {*kept.values()})
    if answers:
        left_out |= {*answers}
        notes.append(
            f"the columns {answers} were left out, because 'bigtensor export' writes row numbers "
            "and answers of a fit under these names; rename them if they are features"
        )
    others = [name for name in names if name not in left_out and name not in kept.values()]
    cell = bad_cell(text, guess, [name for name in others if name not in numeric])
    features = _feature_columns(path, others, numeric, cell and cell.words)
    types = {} if codes else _types_of(guess, features)
    text = _without_counted_cells(text, features, types, missing_values)
    warn_of_notes(path, notes)

    def blocks(rows: int) -> Iterator[ImportBlock]:
        with reading(path, "a table"):
            verbatim = () if sample_id is None else (sample_id,)  # it may be called NA
            for frame in row_blocks(text, names, types, rows, verbatim=verbatim):
                for name in {*kept.values(), *(features if codes else ())} - {weight}:
                    frame[name] = frame[name].map(without_apostrophe, na_action="ignore")
                values = _values_of(frame[list(features)], codes=codes)
                values, replaced = _present(values, missing_values)
                variables = _variables_of(frame, kept, text.decimal)
                yield ImportBlock(values, values, variables, replaced)

    return ImportSource(path, features, blocks, notes=tuple(notes))


def open_parquet(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    sample_id: str | None = None,
    sequence: str | None = None,
    weight: str | None = None,
    exclude: Collection[str] = (),
    codes: bool = False,
    missing_values: Collection[str] = (),
) -> ImportSource:
    """Open a Parquet file for import.

    Parameters
    ----------
    path : str or path-like
        The file.
    label, sample_id, sequence, weight : str, optional
        Columns to keep beside the features.
    exclude : collection of str, default ()
        Columns that are no features.
    codes : bool, default False
        Every value of a feature is the name of a category.
    missing_values : collection of str, default ()
        Values of features that stand for missing ones.

    Returns
    -------
    ImportSource
        Missing values are NaN. The columns of an index of pandas are left out.

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
        index = _index_columns(schema)
    names = list(schema.names)
    if _repeated(names):
        raise FileFormatError(f"{path} repeats the columns {sorted(_repeated(names))}; rename them")
    beside = {"label": label, "sample_id": sample_id, "sequence": sequence, "weight": weight}
    kept = _kept_columns(path, names, beside)
    numeric = {column.name for column in schema if codes or _is_numeric_arrow(arrow, column.type)}
    excluded = excluded_columns(str(path), names, exclude)
    others = [name for name in names if name not in {*index, *kept.values(), *excluded}]
    features = _feature_columns(path, others, numeric)

    left_out = [name for name in index if name not in kept.values()]
    notes = (
        (f"the row index {left_out} was left out; write it as a column if it is a feature",)
        if left_out
        else ()
    )
    warn_of_notes(path, notes)
    order = _category_order(path, features, missing_values) if codes and rows else {}

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
                    if not codes:
                        column = column.cast(arrow.float64(), safe=False)
                    values[:, j] = (
                        column.to_pylist() if codes else column.to_numpy(zero_copy_only=False)
                    )
                values, replaced = _present(values, missing_values)
                variables = {
                    key: np.array(batch.column(name).to_pylist(), dtype=object)
                    for key, name in kept.items()
                }
                yield ImportBlock(values, values, variables, replaced)

    return ImportSource(path, features, blocks, rows=rows, notes=notes, category_order=order)


def _category_order(
    path: Path, features: Sequence[str], missing_values: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the names of the categories of ordered columns of a Parquet file, in their order."""
    parquet = optional_module("pyarrow.parquet", "tables")
    with reading(path, "Parquet"), parquet.ParquetFile(path) as file:
        types = {column.name: column.type for column in file.schema_arrow}
        ordered = [name for name in features if getattr(types[name], "ordered", False)]
        if not ordered:
            return {}
        # values of a dictionary are no part of the schema
        rows = next(file.iter_batches(1, columns=ordered))
    names = {
        column: [name_of_value(value) for value in rows.column(column).dictionary.to_pylist()]
        for column in ordered
    }
    return {
        column: tuple(name for name in entries if name and name not in missing_values)
        for column, entries in names.items()
    }


def _with_missing_cells(
    text: CsvText, columns: Collection[str], missing_values: Collection[str]
) -> CsvText:
    """Return a table whose columns have cells that count as empty."""
    # pandas compares texts of categories as they are written
    floats = [str(float(value)) for value in missing_values if text_is_number(value)]
    cells = dict.fromkeys(columns, (*missing_values, *floats))
    return replace(text, missing_values={**text.missing_values, **cells})


def _without_counted_cells(
    text: CsvText,
    features: Collection[str],
    types: Mapping[str, str | None],
    missing_values: Collection[str],
) -> CsvText:
    """Return a table whose features keep the cells that are replaced after they are read.

    These are counted: numbers in columns of numbers, and names of categories, which have no type.
    """
    columns = [name for name in features if types.get(name, NUMBERS) == NUMBERS]
    texts = [value for value in missing_values if types and not text_is_number(value)]
    return _with_missing_cells(text, columns, texts)


def _with_decimal_commas(
    text: CsvText, missing_values: Collection[str], *, codes: bool
) -> tuple[CsvText, list[str]]:
    """Return a table with decimal commas, and its codes of missing values with decimal points.

    Names of categories stay as they are written.
    """
    points = [
        value if codes else with_decimal_points([value], text.separator)[0]
        for value in missing_values
    ]
    return replace(text, decimal=","), points


def _variables_of(
    rows: pd.DataFrame, kept: Mapping[str, str], decimal: str
) -> dict[str, NDArray[Any]]:
    """Return the columns beside the features. Weights have decimal points."""
    variables = {key: rows[name].to_numpy(object) for key, name in kept.items()}
    if "weight" in kept:
        with_points = rows[kept["weight"]].str.replace(decimal, ".", regex=False)
        variables["weight"] = with_points.to_numpy(object)
    return variables


def _present(
    values: NDArray[Any], missing_values: Collection[str]
) -> tuple[NDArray[Any], dict[str, int]]:
    """Return values, NaN or None in place of those that stand for missing ones, and their numbers.

    Texts in columns of numbers are missing already, and are not counted.
    """
    replaced = {}
    missing = np.array(np.nan if values.dtype != object else None)
    names = np.frompyfunc(name_of_value, 1, 1)(values) if values.dtype == object else None
    for value in missing_values:
        is_number = text_is_number(value)
        if names is not None:
            at = (names == value) | (names == (str(float(value)) if is_number else value))
        elif is_number:
            at = values == float(value)
        else:
            continue
        replaced[value] = int(at.sum())
        if replaced[value]:
            values = np.where(at, missing, values)
    return values, replaced


def exported_answers(rows: pd.DataFrame, kept: Collection[str]) -> list[str]:
    """Return the columns of a table that are answers of an earlier fit, and no measurements.

    Parameters
    ----------
    rows : DataFrame
        First rows of the table.
    kept : collection of str
        Columns that the caller keeps beside the features.

    Returns
    -------
    list of str
        The row numbers and the answers as `write_answers_to_csv` names them. Empty if the table
        does not begin with a row number, or does not end with an answer, as a table of the user
        with labels before its features, or with labels that are texts.
    """
    names = [str(name) for name in rows.columns if name not in kept]
    if not names:
        return []
    # rows of a plate repeat, and populations of towns have no label beside them
    has_row_numbers = names[0] == "row" and rows["row"].dtype.kind in "iu" and rows["row"].is_unique
    answers = [*takewhile(_ANSWER.fullmatch, reversed(names))][::-1]
    if "label" in answers and rows["label"].dtype.kind not in "iu":
        return []
    if "label" not in answers:
        answers = [name for name in answers if name != "population"]
    if not (has_row_numbers and answers):
        return []
    return ["row", *[SOURCE_ROW] * (SOURCE_ROW in names[1:2]), *answers]


def _index_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that hold the index of a table of pandas, with a name or without."""
    metadata = schema.pandas_metadata or {}
    # an index of consecutive numbers is a mapping, and no column
    index = [name for name in metadata.get("index_columns", ()) if isinstance(name, str)]
    # other programs drop the metadata of pandas, and keep its columns
    return [name for name in schema.names if name in index or name.startswith("__index_level_")]


def _is_numeric_arrow(arrow: ModuleType, kind: pa.DataType) -> bool:
    """Return True if an Arrow type can become a float without loss of meaning."""
    types = arrow.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _repeated(names: Sequence[str]) -> set[str]:
    """Return the names that occur more than once."""
    return {name for name in names if names.count(name) > 1}


def _kept_columns(
    path: Path, names: Sequence[str], kept: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the columns beside the features by the name of their variable."""
    # spaces around a name are no part of it
    known_as = {name.strip(" "): name for name in names}
    chosen = {}
    for variable, column in kept.items():
        if column is None:
            continue
        if column.strip(" ") not in known_as:
            raise DataError(
                f"{path} has no column {column!r} to use as {variable}; it has {list(names)}"
            )
        chosen[variable] = known_as[column.strip(" ")]
    return chosen


def _has_decimal_commas(rows: pd.DataFrame, text: CsvText) -> bool:
    """Return True if a column of texts holds numbers with decimal commas."""
    columns = (rows[name] for name in rows if rows[name].dtype.kind not in "biufc")
    texts = (column.fillna("").astype(str).tolist() for column in columns)
    return any(with_decimal_points(cells, text.separator) != cells for cells in texts)


def _feature_columns(
    path: Path, names: Sequence[str], numeric: set[str], cell: str | None = None
) -> tuple[str, ...]:
    """Return the features, refusing columns that hold no numbers.

    The error shows a cell that is no number, in words, if there is one.
    """
    others = [name for name in names if name not in numeric]
    if others:
        raise DataError(
            f"the columns {others} of {path} do not hold numbers"
            + (f": {cell}" if cell else "")
            + "; use them as "
            + Setting("label")
            + ", "
            + Setting("sample_id")
            + " or "
            + Setting("sequence")
            + ", leave them out with "
            + Setting("exclude")
            + ", or import every column as codes of categories with "
            + Setting("codes", True)
            + "; for names beside numbers (TensorTrainDensity), write codes of at most ten "
            "categories into the file as numbers"
        )
    if not names:
        raise DataError(f"{path} has no numeric columns to use as features")
    return tuple(names)


def _types_of(rows: pd.DataFrame, features: Sequence[str]) -> dict[str, str | None]:
    """Return the types with which pandas reads the features, from the first rows."""
    return {name: TRUTH_VALUES if holds_truth_values(rows[name]) else NUMBERS for name in features}


def _values_of(rows: pd.DataFrame, *, codes: bool) -> NDArray[Any]:
    """Return the values of features, or the names of their categories."""
    return rows.to_numpy(object) if codes else rows.to_numpy(np.float64, na_value=np.nan)


def _checked_names(text: CsvText, header: Sequence[str]) -> list[str]:
    """Return unique names of the columns, refusing a header that names none."""
    path = text.path
    if all(text_is_number(name) for name in header):
        raise FileFormatError(
            f"the first line of {path} holds numbers; put a line with column names before it"
        )
    if len(header) == 1 and text.separator == TAB and not {*",;"}.isdisjoint(header[0]):
        raise FileFormatError(
            f"the first line of {path} has one column, {header[0]!r}; tabs separate the cells of a "
            "file .tsv: export the table again, or rename it to .csv"
        )
    if "" in header[1:]:
        raise FileFormatError(
            f"column {header.index('', 1)} (from 0) of {path} has no name; name it in the first "
            "line, or remove the column"
        )
    return unique_names(list(header))
