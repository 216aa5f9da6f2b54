"""CSV file of the names of populations: columns ``population`` and ``name``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bigtensor.cli.table_file import write_rows
from bigtensor.data.addresses.store_address import Address
from bigtensor.data.values.spreadsheet_text import separator_of, without_apostrophe
from bigtensor.errors import FileFormatError

_COLUMNS = ("population", "name")


def read_names(path: Path) -> dict[int | str, str | None]:
    """Return the names in a file by number or present name of the population.

    Further columns are not read. An empty name is None. Commas, semicolons or tabs separate cells.

    Parameters
    ----------
    path : Path
        CSV file with the columns ``population`` and ``name``.

    Raises
    ------
    FileFormatError
        When the file is no such table, or names a population twice.
    """
    try:
        # spreadsheet programs write a byte order mark
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not text in UTF-8; save it as CSV UTF-8") from error
    except OSError as error:
        raise FileFormatError(
            f"{path} cannot be read ({error.strerror or error}); check the path"
        ) from error
    header = lines[0] if lines else ""
    separator = separator_of(header)
    columns = [column.strip() for column in next(csv.reader([header], delimiter=separator), [])]
    rows = csv.DictReader(lines[1:], columns, delimiter=separator)
    if not {*_COLUMNS} <= {*columns}:
        raise FileFormatError(
            f"{path} has the columns {', '.join(columns) or 'none'}; expected population and name. "
            "'bigtensor name MODEL.zarr --out names.csv' writes a table to edit"
        )
    names: dict[int | str, str | None] = {}
    for number, row in enumerate(rows, 2):
        if any(row.pop(None, None) or ()) or row["name"] is None:
            raise FileFormatError(
                f"line {number} of {path} has {'fewer' if row['name'] is None else 'more'} cells "
                f"than there are columns ({', '.join(columns)}); put a name that holds a separator "
                "in quotes, and leave the cell of an empty name empty"
            )
        population, name = (_text(row.get(column)) for column in _COLUMNS)
        if not population and not name:
            continue
        key = int(population) if population.isdecimal() else population
        if key in names:
            raise FileFormatError(
                f"line {number} of {path} names population {population} again; leave one line"
            )
        names[key] = name or None
    return names


def _text(cell: str | None) -> str:
    """Return a cell without blanks and without the apostrophe before what looks like a formula."""
    return without_apostrophe((cell or "").strip())


def write_names(rows: Sequence[Mapping[str, Any]], path: Address) -> None:
    """Write a table of names to edit, which appears under its name when it is whole.

    Parameters
    ----------
    rows : sequence of mappings
        Facts of every population, from `population_facts`.
    path : Path or str
        An existing file is replaced.
    """
    lines = [
        [row["population"], row["name"] or row["suggested_name"], row["weight"]] for row in rows
    ]
    write_rows([[*_COLUMNS, "weight"], *lines], path)
