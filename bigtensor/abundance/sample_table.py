"""Table of samples: a name and conditions for every FCS file or patient."""

from __future__ import annotations

import csv
import io
import os
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np

from bigtensor.data.addresses.store_address import local_path
from bigtensor.data.values.spreadsheet_text import (
    separator_of,
    with_decimal_points,
    without_apostrophe,
)
from bigtensor.errors import DataError, MissingValueWarning, warn

MOST_LISTED = 8
"""Names that a message lists before it counts the others."""

_ABSENT = {"", "na", "n/a", "nan", "-nan", "<na>", "nat", "#n/a", "#na"}
"""Texts of missing values, as spreadsheets, pandas and R write them. None is a group in many
tables, and null a genotype."""

_LINE_END = re.compile(r"\s*\n\s*")
"""Line end in a cell in quotes, such as that of a long name of a column."""

_FILE_ENDING = re.compile(
    r"\.(fcs|lmd|csv|tsv|parquet|pq|h5ad)(\.(gz|bz2|xz|zst))?$", re.IGNORECASE
)
"""Endings of files that may be samples; see `bigtensor.data.importers.files`."""


@runtime_checkable
class Frame(Protocol):
    """A table with named columns, such as a DataFrame of pandas or polars."""

    @property
    def columns(self) -> Iterable[Hashable]:
        """Names of the columns."""

    def __getitem__(self, name: str, /) -> Iterable[object]: ...


SamplesLike: TypeAlias = (
    "str | os.PathLike[str] | Mapping[str, Sequence[object]] | Frame | SampleTable"
)
"""A CSV file, columns by name, a DataFrame, or a table that has been read."""


@dataclass(frozen=True)
class SampleTable:
    """Names of samples and their conditions.

    Attributes
    ----------
    names : tuple of str
        Of the samples, each once.
    columns : dict of str to tuple of str
        A value of every sample. Empty texts are missing values.
    source : str
        Name of the table in messages.
    spellings : dict of str to tuple of str
        Texts of missing values, such as NA, by column. Empty for other values and empty cells.
    """

    names: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    source: str = "the table of samples"
    spellings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def column(self, name: str) -> tuple[str, ...]:
        """Return a column.

        Raises
        ------
        DataError
            When there is no such column.
        """
        if name not in self.columns:
            raise DataError(
                f"{self.source} has no column {name!r}; its columns are "
                f"{listed(self.columns) or 'none'}"
            )
        return self.columns[name]

    def matched(self, names: Sequence[str]) -> SampleTable:
        """Return the rows of samples in the order of their names.

        Parameters
        ----------
        names : sequence of str
            Names of samples of the data. The ending of a file, such as ``.fcs``, spaces at either
            end, and the Unicode form of a letter such as ``ü`` make no difference. Only rows such
            as ``a.fcs`` and ``a.lmd``, which differ in the ending, are found by the whole name.
            Rows of other samples are left out. Of the rows ``a`` and ``a.fcs``, both may be of the
            same sample, so that they need samples of both names.

        Raises
        ------
        DataError
            When a sample has no row, or several rows.
        """
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.names):
            rows.setdefault(_stem(name), []).append(row)
        missing = [name for name in names if _stem(name) not in rows]
        if missing:
            unused = self.unused(names)
            others = f"; its rows without a sample are {listed(unused)}" if unused else ""
            raise DataError(
                f"{self.source} has no row for {len(missing)} of {len(names)} samples: "
                f"{listed(missing)}{others}. Write the name of every sample into the first "
                "column, or into the index of a DataFrame and name the index"
            )
        whole_names = {_composed(name) for name in names}
        chosen = []
        for name in names:
            candidates = rows[_stem(name)]
            whole = {_composed(self.names[row]): row for row in candidates}
            without_ending = _stem(name) in whole
            is_exact = _composed(name) in whole and (not without_ending or whole_names >= {*whole})
            if len(candidates) > 1 and not is_exact:
                self._refuse_repeated(self.names[row] for row in candidates)
            chosen.append(whole.get(_composed(name), candidates[0]))
        return SampleTable(
            tuple(names),
            {name: tuple(values[row] for row in chosen) for name, values in self.columns.items()},
            self.source,
            {name: tuple(texts[row] for row in chosen) for name, texts in self.spellings.items()},
        )

    def warn_of_missing(self, columns: Iterable[str]) -> None:
        """Warn of texts that count as missing values, because a group may have that name.

        Parameters
        ----------
        columns : iterable of str
            Columns that are used.
        """
        for name in columns:
            texts = self.spellings.get(name, ())
            for text in dict.fromkeys(filter(None, texts)):
                samples = [
                    sample for sample, other in zip(self.names, texts, strict=True) if other == text
                ]
                warn(
                    f"{name} is {text!r} in {listed(samples)}, which counts as a missing value; if "
                    "it is a group, give it another name in the table of samples",
                    MissingValueWarning,
                )

    def unused(self, names: Sequence[str]) -> list[str]:
        """Return the names of rows that are no samples of the data."""
        exact = {_composed(name) for name in names} & {_composed(name) for name in self.names}
        stems = {_stem(name) for name in names if _composed(name) not in exact}
        return [
            name for name in self.names if _composed(name) not in exact and _stem(name) not in stems
        ]

    def _refuse_repeated(self, names: Iterable[str]) -> NoReturn:
        """Raise a DataError for several rows of one sample."""
        raise DataError(
            f"{self.source} has several rows for {listed(dict.fromkeys(names))}; keep one row of "
            "every sample"
        )


def sample_table(samples: SamplesLike) -> SampleTable:
    """Return a table of samples.

    Parameters
    ----------
    samples : path, mapping, DataFrame or SampleTable
        The first column has the names of the samples, the others are conditions. Of a DataFrame
        whose index has a name, the index has the names of the samples. An index of texts without a
        name has them if a value of the first column occurs twice.

    Raises
    ------
    DataError
        When the table cannot be read, has no rows, or names a sample twice.
    """
    if isinstance(samples, SampleTable):
        return samples
    if isinstance(samples, str | os.PathLike):
        return _read(local_path(samples))
    if isinstance(samples, Mapping):
        columns = {str(name): _values(samples[name]) for name in samples}
    elif isinstance(samples, Frame):
        columns = {str(name): _values(samples[name]) for name in samples.columns}  # type: ignore[index]
        columns = _index_of(samples, columns) | columns
    else:
        raise DataError(
            f"a table of samples is a CSV file, a mapping of columns or a DataFrame, and not "
            f"{type(samples).__name__}"
        )
    texts = {name: [*map(as_text, values)] for name, values in columns.items()}
    return _checked(texts, columns, "the table of samples")


def listed(names: Iterable[str]) -> str:
    """Return names separated by commas, with the number of those that are left out."""
    shown = list(names)
    text = ", ".join(shown[:MOST_LISTED])
    more = len(shown) - MOST_LISTED
    return f"{text} and {more} more" if more > 0 else text


def as_text(value: object) -> str:
    """Return a value of a table as text. Whole numbers have no decimal point."""
    if isinstance(value, float | np.floating) and value.is_integer():
        value = int(value)
    text = "" if value is None else str(value).strip()
    return "" if text.casefold() in _ABSENT else text


def _values(values: Iterable[object]) -> list[object]:
    """Return the values of a column. Numbers of 32 bits have no further digits.

    A column of pandas or polars yields 0.1 of 32 bits as 0.10000000149, its array does not.
    """
    array = np.asarray(values) if hasattr(values, "__array__") else None
    is_short = array is not None and array.dtype.kind == "f" and array.dtype.itemsize < 8
    return [*(array if is_short and array is not None else values)]


def _index_of(samples: Frame, columns: dict[str, list[object]]) -> dict[str, list[object]]:
    """Return the index of a DataFrame as a column, if it has the names of the samples."""
    index = getattr(samples, "index", None)
    name = getattr(index, "name", None)
    if index is None or not columns:
        return {}
    if name is not None:
        return {str(name): _values(index)}
    first = [*map(as_text, next(iter(columns.values())))]
    labels = _values(index)
    is_used = len({*first}) < len(first) and all(isinstance(label, str) for label in labels)
    return {"": labels} if is_used else {}


def _read(path: Path) -> SampleTable:
    """Read a CSV file whose columns are separated by commas, semicolons or tabs.

    Beside semicolons, numbers may have decimal commas. Names of samples stay as they are.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise DataError(
            f"{path} cannot be read ({why}); give a CSV file with a row for every sample"
        ) from error
    separator = separator_of(text.split("\n", 1)[0])
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    # the tables of this package keep spreadsheets from running a name by an apostrophe
    lines = [
        [_LINE_END.sub(" ", without_apostrophe(cell)) for cell in row] for row in rows if any(row)
    ]
    if len(lines) < 2:
        raise DataError(f"{path} has no row below the names of its columns; add one for a sample")
    header = [name.strip() for name in lines[0]]
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(header):
            raise DataError(
                f"row {number} of {path} has {len(line)} cells and the first row has "
                f"{len(header)}; give every row a cell for every column"
            )
    if len(set(header)) < len(header):
        raise DataError(f"two columns of {path} have the same name; give each its own")
    written = dict(zip(header, zip(*lines[1:], strict=True), strict=True))
    names, *others = ([*map(as_text, cells)] for cells in written.values())
    conditions = (with_decimal_points(cells, separator) for cells in others)
    return _checked(dict(zip(header, [names, *conditions], strict=True)), written, str(path))


def _checked(
    columns: dict[str, list[str]], written: Mapping[str, Sequence[object]], source: str
) -> SampleTable:
    """Return a table after looking at the names of its samples.

    Parameters
    ----------
    columns : dict of str to list of str
        Texts of the table, the names of the samples first.
    written : mapping of str to sequence
        Values of the table, before missing ones became empty texts.
    source : str
        Name of the table in messages.
    """
    if not columns:
        raise DataError(f"{source} has no columns; the first one has the names of the samples")
    first, *others = columns
    names = columns[first]
    if len({len(values) for values in columns.values()}) > 1:
        raise DataError(f"columns of {source} have different lengths")
    if not names or "" in names:
        raise DataError(f"the first column of {source}, {first!r}, lacks the name of a sample")
    spellings = {
        name: tuple(
            value.strip() if isinstance(value, str) and not text else ""
            for value, text in zip(written[name], columns[name], strict=True)
        )
        for name in others
    }
    table = SampleTable(
        tuple(names), {name: tuple(columns[name]) for name in others}, source, spellings
    )
    composed = [_composed(name) for name in names]
    repeated = [
        name for name, same in zip(names, composed, strict=True) if composed.count(same) > 1
    ]
    if repeated:
        table._refuse_repeated(repeated)
    return table


def _stem(name: str) -> str:
    """Return a name without the ending of an imported file."""
    return _FILE_ENDING.sub("", _composed(name))


def _composed(name: str) -> str:
    """Return a name without spaces at its ends, with composed letters.

    Names of files on macOS may write ü as u and a mark, and spreadsheets write one letter.
    """
    return unicodedata.normalize("NFC", name).strip()
