"""Shares of populations in every patient or file: a CSV file, and a small table for the eye."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from typing import TYPE_CHECKING

from bigtensor.abundance.natural_order import natural_order
from bigtensor.abundance.tables import Rows
from bigtensor.cli.table_file import write_rows
from bigtensor.data.addresses.store_address import Address

if TYPE_CHECKING:
    import xarray as xr

MOST_ROWS, MOST_COLUMNS = 20, 8
"""Rows and columns that are shown. The file holds all."""


def write_table(weights: xr.Dataset, path: Address) -> None:
    """Write shares as text to a file that appears under its name when it is whole.

    Columns are the variable, ``rows``, ``component_0``, ... (``population_0``, ... or
    ``state_0``, ...) for the shares, and ``component_0_error``, ... for their standard errors,
    where the table has any. A population with a name has it in place of ``population_0``, followed
    by its number, as in ``rows (0)``, if another column has this name. Names that a spreadsheet
    would take for a formula begin with an apostrophe.

    Parameters
    ----------
    weights : Dataset
        Of the method ``weights_by`` of a model.
    path : Path or str
        An existing file is replaced.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    by, level = map(str, weights["weight"].dims)
    columns = _columns(weights, by, level)
    errors_of = columns if "standard_error" in weights else []
    table: Rows = [[by, "rows", *columns, *(f"{column}_error" for column in errors_of)]]
    table += [[name, rows, *shares, *errors] for name, rows, shares, errors in _entries(weights)]
    write_rows(table, path)


def table_in_words(weights: xr.Dataset, path: Address) -> str:
    """Return where the table was written, and its beginning in per cent with standard errors."""
    from rich.console import Console
    from rich.table import Table

    by, level = map(str, weights["weight"].dims)
    groups, count = weights.sizes[by], weights.sizes[level]
    shown = Table(box=None, pad_edge=False)
    shown.add_column(by, no_wrap=True)
    headers = [column.replace(f"{level}_", f"{level} ") for column in _columns(weights, by, level)]
    for header in ("rows", *headers[:MOST_COLUMNS]):
        shown.add_column(header, justify="right")
    for name, size, *values in _entries(weights)[:MOST_ROWS]:
        shown.add_row(name, f"{size:,}", *_cells(*values)[:MOST_COLUMNS])
    text = StringIO()
    Console(file=text, width=160, markup=False, highlight=False, emoji=False).print(shown)
    errors = ", with standard errors" if "standard_error" in weights else ""
    words = [
        f"table      {path}: shares of {count} {level}s by {by} ({groups:,} rows){errors}",
        f"method     {weights.attrs['method']}",
    ]
    if weights.attrs["rows_without"]:
        words.append(f"without    {weights.attrs['rows_without']:,} rows have no {by}")
    shown_rows = [f"{MOST_ROWS} of {groups:,} rows"] if groups > MOST_ROWS else []
    shown_columns = [f"{MOST_COLUMNS} of {count} {level}s"] if count > MOST_COLUMNS else []
    if shown_rows or shown_columns:
        words.append(f"shown      {' and '.join(shown_rows + shown_columns)}; the file has all")
    return "\n".join([*words, *(line.rstrip() for line in text.getvalue().splitlines())])


def _columns(weights: xr.Dataset, by: str, level: str) -> list[str]:
    """Return the name of every population, or its number after ``population_``.

    A name that another column has, or that stands for a standard error, is followed by its number.
    """
    unnamed = [f"{level}_{number}" for number in range(weights.sizes[level])]
    coordinate = weights.coords.get(f"{level}_name")
    if coordinate is None:
        return unnamed
    columns = [
        column if str(name) == str(number) else str(name)
        for number, (column, name) in enumerate(zip(unnamed, coordinate.to_numpy(), strict=True))
    ]
    while True:
        counts = Counter([by, "rows", *columns, *(f"{column}_error" for column in columns)])
        clashing = [
            number
            for number, column in enumerate(columns)
            if counts[column] > 1 and column != unnamed[number]
        ]
        if not clashing:
            return columns
        for number in clashing:
            columns[number] += f" ({number})"


def _cells(shares: list[float], errors: list[float]) -> list[str]:
    """Return shares in per cent, with their standard errors where there are any."""
    if not errors:
        return [f"{share:.2%}" for share in shares]
    return [
        f"{share:.2%}\N{NO-BREAK SPACE}±{100 * error:.2f}"
        for share, error in zip(shares, errors, strict=True)
    ]


def _entries(weights: xr.Dataset) -> list[tuple[str, int, list[float], list[float]]]:
    """Return the name, the rows, the shares and their standard errors of every group.

    Groups are in natural order. Without standard errors the last list is empty.
    """
    by = weights["rows"].dims[0]
    weights = weights.isel({by: natural_order([*map(str, weights[by].to_numpy())])})
    columns = [weights[by], weights["rows"], weights["weight"]]
    if "standard_error" in weights:
        columns.append(weights["standard_error"])
    names, *others = (column.to_numpy().tolist() for column in columns)
    if "standard_error" not in weights:
        others.append([[]] * len(names))
    return [(str(name), *rest) for name, *rest in zip(names, *others, strict=True)]
