"""One value a row, from a table, a NumPy file or a Zarr store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import zarr
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.importers.csv_rows import first_rows, row_blocks
from bigtensor.data.importers.csv_text import CsvText
from bigtensor.data.stores.added_variables import RowValues
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.data.values.spreadsheet_text import with_decimal_points
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError

LABEL = "label"
"""Variable that is read from a store of labels."""

_ROWS_PER_BLOCK = 2**18
"""Rows of a table of text whose cells are held at once, beside the column that is read."""

_EXACT_FLOATS = 2**53
"""Floats are exact for whole numbers below."""

_KEPT_ATTRIBUTES = ("categories",)


@dataclass(frozen=True)
class ReadValues:
    """Values of rows, with the attributes of a variable.

    Attributes
    ----------
    values : RowValues
        Numbers, true and false, or codes of names.
    attrs : mapping
        ``categories``, the names of the codes.
    """

    values: RowValues
    attrs: Mapping[str, Any] = field(default_factory=dict)


def read_row_values(path: str | os.PathLike[str], name: str) -> ReadValues:
    """Return the values of a variable of the rows in a file.

    Parameters
    ----------
    path : path-like
        A table of text with a header, a NumPy file (``.npy``) or a Zarr store. Commas, semicolons
        or tabs separate the cells of a table, which may be compressed (``.gz``, ``.bz2``, ``.xz``,
        ``.zst``). Beside semicolons, numbers may have decimal commas.
    name : str
        Column of the table or variable of the store. A table of one column is taken whatever its
        name is, and in a store of labels the variable ``label``.

    Raises
    ------
    DataError
        When there is no column or variable of this name, or it holds no numbers and no names.
    FileFormatError
        When the file is absent or damaged, or a row of a table has too few or too many cells.
    """
    path = Path(path)
    if path.suffix.lower() == ".npy":
        with reading(path, "a NumPy file"):
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        return _coded(values, path)
    if path.is_dir():
        return _stored(path, name)
    with reading(path, "a table"):
        return _coded(_cells(CsvText.of_spreadsheet(path), name), path)


def _cells(text: CsvText, name: str) -> NDArray[Any]:
    """Return a column of a table: numbers or true and false if all cells are, and else texts.

    Whole numbers that a number would alter, such as the id 0001, are texts too.
    """
    with text.rows() as (header, _):
        names = unique_names(header)
    column = names[header.index(_column(text.path, header, name))]
    if first_rows(text, names)[column].dtype.kind in "iufb":
        blocks = _column_blocks(text, names, column, None)
        kinds = {block.dtype.kind for block in blocks}
        if kinds == {"b"}:
            return np.concatenate(blocks)
        if kinds <= {*"iuf"}:
            numbers = np.concatenate(blocks)
            if not _are_ids(text, names, column, numbers):
                return numbers
    # what looks like a number in one block is a name if another block has names
    cells = np.concatenate(_column_blocks(text, names, column, "object"))
    return _with_decimal_commas(cells, text.separator)


def _are_ids(text: CsvText, names: list[str], column: str, numbers: NDArray[Any]) -> bool:
    """Return True for whole numbers that lose digits: leading zeros, or too many for a float."""
    is_float = numbers.dtype.kind == "f"
    present = numbers[~np.isnan(numbers)] if is_float else numbers
    if is_float and np.any(present != np.trunc(present)):
        return False
    # integers become floats beside missing values
    padded, long = False, is_float and np.abs(present).max(initial=0) >= _EXACT_FLOATS
    for frame in row_blocks(text, names, {column: "object"}, _ROWS_PER_BLOCK):
        cells = frame[column].dropna().astype(str).str.strip()
        if not cells.str.fullmatch("[+-]?[0-9]+").all():
            return False
        padded = padded or bool(cells.str.match("[+-]?0[0-9]").any())
    return padded or bool(long)


def _with_decimal_commas(cells: NDArray[Any], separator: str) -> NDArray[Any]:
    """Return texts as numbers if all are and may have decimal commas, and else as they are."""
    with_commas = ["" if pd.isna(cell) else cell for cell in cells]
    with_points = with_decimal_points(with_commas, separator)
    if with_points == with_commas:
        return cells
    return np.array([float(cell or "nan") for cell in with_points])


def _column_blocks(
    text: CsvText, names: list[str], column: str, kind: str | None
) -> list[NDArray[Any]]:
    """Return the blocks of a column, whose type is inferred if there is none."""
    frames = row_blocks(text, names, {column: kind}, _ROWS_PER_BLOCK)
    return [frame[column].to_numpy() for frame in frames]


def _column(path: Path, header: list[str], name: str) -> str:
    """Return the column of a table to read."""
    if name in header:
        return name
    # a column without a name holds numbers of rows
    named = [column for column in header if column]
    if len(named) != 1:
        raise DataError(
            f"{path} has no column {name!r} but {', '.join(map(repr, named))}; name the variable "
            "after its column, or give a table of one column"
        )
    return named[0]


def _stored(path: Path, name: str) -> ReadValues:
    """Return a variable of a Zarr store, which is read some rows at a time."""
    group = open_whole_group(path)
    arrays = {key: array for key, array in group.arrays() if array.ndim == 1}
    stored = arrays.get(name, arrays.get(LABEL))
    if stored is None:
        there = ", ".join(sorted(arrays)) or "nothing along rows"
        raise DataError(
            f"{path} has neither {name!r} nor {LABEL!r} but {there}; give a store of labels, or "
            "name the variable after one of its own"
        )
    if not isinstance(stored, zarr.Array) or stored.dtype.kind not in "iufb":
        return _coded(np.asarray(stored[:]), path)
    attrs = {key: stored.attrs[key] for key in _KEPT_ATTRIBUTES if key in stored.attrs}
    values: Any = stored
    return ReadValues(values, attrs)


def _coded(values: NDArray[Any], path: Path) -> ReadValues:
    """Return numbers as they are, and names as codes in the order in which they appear."""
    if values.dtype.kind in "iufb":
        return ReadValues(values)
    if values.dtype.kind not in "OUST" or values.ndim != 1:
        raise DataError(f"{path} holds {values.dtype}; expected one number or one name a row")
    codes, names = pd.factorize(np.asarray(values, object))
    return ReadValues(codes.astype(np.int32), {"categories": [str(name) for name in names]})
