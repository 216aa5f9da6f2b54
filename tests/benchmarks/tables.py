"""What a benchmark prints and writes: tables of rows, with the machine they come from."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import bigtensor

Row = dict[str, Any]


@dataclass
class Report:
    """Tables that are printed as they come and written to one JSON file.

    Parameters
    ----------
    name : str
    settings : mapping
        What the run was asked for.
    out : Path, optional
        The file, written anew after every table, so that a long run can be looked at.
    """

    name: str
    settings: Mapping[str, Any]
    out: Path | None = None
    tables: dict[str, Any] = field(default_factory=dict)

    def add(self, title: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
        """Print a table, and write everything so far."""
        print(f"\n{title}")
        print(aligned(rows))
        for note in notes:
            print(f"  {note}")
        sys.stdout.flush()
        self.tables[title] = {"rows": list(rows), "notes": list(notes)}
        if self.out is not None:
            self._write(self.out)

    @property
    def missed(self) -> list[Row]:
        """The rows whose bar does not hold."""
        rows = [row for table in self.tables.values() for row in table["rows"]]
        return [row for row in rows if row.get("holds") is False]

    def _write(self, out: Path) -> None:
        """Write the file whole, then put it in its place."""
        contents = {
            "benchmark": self.name,
            "settings": dict(self.settings),
            "machine": machine(),
            "tables": self.tables,
        }
        partial = out.with_suffix(f"{out.suffix}.partial")
        partial.write_text(json.dumps(contents, indent=1, default=_plain) + "\n")
        partial.replace(out)


def bars(held: Mapping[str, bool]) -> Row:
    """Return the columns of a row that is held to bars: their text, and whether all of them hold.

    Parameters
    ----------
    held : mapping of str to bool
        Text of a bar, and whether it holds. Without bars there are no columns.
    """
    return {"bars": ", ".join(held), "holds": all(held.values())} if held else {}


def aligned(rows: Sequence[Row]) -> str:
    """Return rows as text, one column a key, in the order in which keys appear."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns] + [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[j]) for line in cells) for j in range(len(columns))]
    return "\n".join(
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    return {
        "processor": platform.processor() or platform.machine(),
        "processors": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "bigtensor": bigtensor.__version__,
    }


def _cell(value: Any) -> str:
    """Return one value as text of a few digits."""
    if value is None:
        return "-"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "NO"
    if isinstance(value, float | np.floating):
        return f"{value:.3g}" if abs(float(value)) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)


def _plain(value: Any) -> Any:
    """Return a NumPy value as JSON holds it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return str(value)
