"""Columns of a table of samples as variables of the rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bigtensor.data.addresses.file_formats import reading
from bigtensor.data.importers.column_files import ReadValues
from bigtensor.data.importers.job import bare_name
from bigtensor.data.stores.zarr_groups import open_whole_group, read_rows
from bigtensor.errors import DataError

SAMPLES = "sample_id"
"""Variable of the rows that says which sample a row is of."""


@dataclass(frozen=True)
class LookedUp:
    """The value of the sample of every row, looked up as it is read."""

    codes: Any
    table: NDArray[Any]
    """One value a code, and last the value of rows without a sample."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows."""
        return (int(self.codes.shape[0]),)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.table.dtype

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return the values of some rows."""
        codes = read_rows(self.codes, *rows.indices(self.shape[0])[:2])
        inside = (codes >= 0) & (codes < len(self.table) - 1)
        return self.table[np.where(inside, codes, len(self.table) - 1)]


def columns_by_sample(
    store: str | os.PathLike[str], path: str | os.PathLike[str]
) -> dict[str, ReadValues]:
    """Return every column of a table of samples as a variable of the rows of a store.

    Parameters
    ----------
    store : path-like
        Store of samples with the variable ``sample_id``.
    path : path-like
        Table of text with a header and a row for every sample. One column holds the names of
        samples or of their files. Numbers stay numbers, and everything else is a name.

    Raises
    ------
    DataError
        When the store has no samples, or a sample has no row or several rows in the table.
    FileFormatError
        When the file is absent or damaged.
    """
    path = Path(path)
    codes: Any = open_whole_group(store).get(SAMPLES)
    categories = None if codes is None else codes.attrs.get("categories")
    if categories is None:
        raise DataError(
            f"{store} has no variable {SAMPLES!r} with names of samples; import the files again, "
            "with --sample-id for tables"
        )
    with reading(path, "a table"):
        table = pd.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ",")
    samples = [_bare(name) for name in categories]
    key = _key(path, table, samples)
    names = [_bare(name) for name in table[key].astype(str)]
    places = [names.index(sample) for sample in samples]
    others = [column for column in table.columns if column != key]
    return {str(column): _by_code(codes, table[column].iloc[places]) for column in others}


def _bare(name: object) -> str:
    """Return the name of a sample without folder and ending."""
    path = bare_name(Path(str(name)))
    return path.stem if path.suffix.lower() in (".fcs", ".lmd", ".csv", ".parquet") else path.name


def _key(path: Path, table: pd.DataFrame, samples: list[str]) -> str:
    """Return the column that names the samples: all of them, each once."""
    missing: dict[str, list[str]] = {}
    for column in table.columns:
        names = [_bare(name) for name in table[column].astype(str)]
        missing[column] = [sample for sample in samples if names.count(sample) != 1]
        if not missing[column]:
            return str(column)
    if not missing:
        raise DataError(f"{path} has no columns; give a table with a row for every sample")
    best = min(missing, key=lambda column: len(missing[column]))
    raise DataError(
        f"no column of {path} names every sample once; {best!r} comes nearest and has "
        f"{', '.join(map(repr, missing[best][:5]))} not at all or several times: complete the table"
    )


def _by_code(codes: Any, column: pd.Series) -> ReadValues:
    """Return a column with one value a sample as a variable of the rows."""
    if column.dtype.kind in "iuf":
        return ReadValues(LookedUp(codes, np.append(column.to_numpy(np.float64), np.nan)))
    numbers, names = pd.factorize(column)
    table = np.append(numbers, -1).astype(np.int32)
    return ReadValues(LookedUp(codes, table), {"categories": [str(name) for name in names]})
