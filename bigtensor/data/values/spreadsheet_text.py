"""Tables of text as spreadsheet programs save them: commas, semicolons or tabs between cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from bigtensor.data.values.spreadsheet_cells import as_text

SEPARATORS = ",;\t"
"""Characters between two cells."""

_WITH_DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d+|\d*,\d+)([eE][+-]?\d+)?\s*")
"""Form of whole numbers and of numbers with a decimal comma."""


def separator_of(header: str) -> str:
    """Return the separator that splits the line of column names into most cells.

    Parameters
    ----------
    header : str
        Line of the column names. A separator inside a name in quotes does not count.

    Returns
    -------
    str
        A comma, a semicolon or a tab. A line of one cell has the comma.
    """
    return max(
        SEPARATORS, key=lambda separator: len(next(csv.reader([header], delimiter=separator), []))
    )


def without_apostrophe(cell: str) -> str:
    """Return a cell without the apostrophe that keeps spreadsheets from running it.

    Parameters
    ----------
    cell : str
        Text that `bigtensor.data.values.spreadsheet_cells.as_text` made, or any other one.
    """
    return cell[1:] if as_text(cell[1:]) == cell else cell


def with_decimal_points(cells: Sequence[str], separator: str) -> list[str]:
    """Return numbers with a decimal comma as numbers with a decimal point.

    Only beside semicolons is the comma a decimal one: spreadsheets of countries with decimal commas
    save semicolons, and beside tabs ``1,500`` may be one thousand five hundred.

    Parameters
    ----------
    cells : sequence of str
        A column. Empty cells are missing values.
    separator : str
        Separator of the cells of the table.

    Returns
    -------
    list of str
        The cells as they are, unless every one is a whole number, a number with a decimal comma, or
        empty.
    """
    if separator == ";" and all(not cell or _WITH_DECIMAL_COMMA.fullmatch(cell) for cell in cells):
        return [cell.replace(",", ".") for cell in cells]
    return list(cells)
