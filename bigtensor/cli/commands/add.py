"""``bigtensor add``: a variable of the rows in a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bigtensor.cli.command import Command
from bigtensor.cli.options import PATH, SAMPLES_HELP, overwrite_option
from bigtensor.cli.output import one_line, say

if TYPE_CHECKING:
    from bigtensor.data.importers.column_files import ReadValues


@click.command(cls=Command)
@click.argument("cells", type=PATH, metavar="CELLS.zarr")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=FILE",
    help="Add the variable NAME with one value a row from FILE: a column of this name of a CSV "
    "file, or its only one, a NumPy file (.npy), or labels that 'bigtensor predict' wrote. Repeat "
    "for several.",
)
@click.option(
    "--metadata",
    type=PATH,
    metavar="SAMPLES.csv",
    help=f"Add every condition of samples, such as dose or patient. {SAMPLES_HELP}",
)
@overwrite_option
def add(cells: Path, columns: tuple[str, ...], metadata: Path | None, overwrite: bool) -> None:
    """Add variables of the rows to a store, such as gates or batches.

    Values are numbers, true and false, or names. --where and --by can name the variable then. The
    other arrays of the store are not touched.
    """
    if not columns and metadata is None:
        raise click.UsageError("give --column NAME=FILE or --metadata SAMPLES.csv")
    files = [_named_file(column) for column in columns]
    from bigtensor.data.importers.column_files import read_row_values
    from bigtensor.data.stores.added_variables import add_row_variable, check_row_variable

    # all are read before one is added, so that a wrong file adds none
    values = {} if metadata is None else _conditions(cells, metadata)
    for name, path in files:
        if name in values:
            raise click.UsageError(f"there are two columns {name!r}; give each its own name")
        values[name] = read_row_values(path, name)
    for name in values:
        check_row_variable(cells, name, overwrite=overwrite)
    added: list[dict[str, Any]] = []
    for name, read in values.items():
        add_row_variable(cells, name, read.values, attrs=read.attrs, overwrite=overwrite)
        names = list(read.attrs.get("categories", ()))
        facts = {"name": name, "rows": read.values.shape[0], "dtype": str(read.values.dtype)}
        added.append({**facts, "categories": names})
    say("\n".join(map(_in_words, added)), {"data": cells, "variables": added})


def _conditions(cells: Path, metadata: Path) -> dict[str, ReadValues]:
    """Return every condition of a table of samples as a variable of the rows."""
    from bigtensor.abundance.sample_table import sample_table
    from bigtensor.data.importers.sample_columns import columns_by_sample, names_of_samples

    samples = sample_table(metadata).matched(names_of_samples(cells))
    return columns_by_sample(cells, samples.columns)


def _named_file(column: str) -> tuple[str, Path]:
    """Return the name and the file of ``NAME=FILE``."""
    name, sign, path = column.partition("=")
    if not (name and sign and path):
        raise click.UsageError(f"--column {column!r} is not NAME=FILE, such as gate=gate.csv")
    return name, Path(path)


def _in_words(variable: dict[str, Any]) -> str:
    """Say which variable was added."""
    names = ", ".join(map(one_line, variable["categories"][:10]))
    more = len(variable["categories"]) - 10
    listed = f": {names}" + (f" and {more:,} more" if more > 0 else "") if names else ""
    name, rows, dtype = one_line(variable["name"]), variable["rows"], variable["dtype"]
    return f"variable   {name}: {rows:,} rows, {dtype}{listed}"
