"""CSV file of a table that a command writes."""

from __future__ import annotations

import csv

from bigtensor.abundance.tables import Cell, Rows
from bigtensor.data.addresses.store_address import Address
from bigtensor.data.stores.outputs import whole_file, write_errors
from bigtensor.data.values.spreadsheet_cells import as_text, text_is_number


def write_rows(rows: Rows, path: Address) -> None:
    """Write rows of cells to a CSV file that appears under its name when it is whole.

    Texts that a spreadsheet would take for a formula begin with an apostrophe.

    Parameters
    ----------
    rows : list of list
        The first one has the names of the columns.
    path : Path or str
        An existing file is replaced.

    Raises
    ------
    OutputError
        When the file cannot be written.
    """
    with (
        write_errors(path),
        whole_file(path) as partial,
        partial.open("w", encoding="utf-8", newline="") as file,
    ):
        csv.writer(file, lineterminator="\n").writerows(
            [_text(cell) for cell in row] for row in rows
        )


def _text(cell: Cell) -> str:
    """Return a cell as text."""
    if isinstance(cell, str):
        # a negative number is no formula
        return cell if text_is_number(cell) else as_text(cell)
    return f"{cell:.9g}" if isinstance(cell, float) else str(cell)
