"""Tables of text as spreadsheet programs save them: commas, semicolons or tabs between cells."""

from __future__ import annotations

import csv

SEPARATORS = ",;\t"
"""Characters between two cells."""


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
