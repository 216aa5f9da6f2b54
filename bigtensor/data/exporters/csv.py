"""Answers as text: one line a row, written block by block from the store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.exporters.answered_rows import warn_of_other_rows
from bigtensor.data.exporters.answers import AnswerStore, open_answers
from bigtensor.data.exporters.labels import BLOCK_ROWS
from bigtensor.data.exporters.row_texts import is_number, row_texts
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM
from bigtensor.data.stores.outputs import whole_file, write_errors
from bigtensor.data.stores.zarr_datasets import open_cells
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.spreadsheet_cells import as_cell
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, ViewError

_MOST_VALUES = 1_048_576
"""Python numbers held at a time, because a block of rows with many columns holds too many."""


def write_answers_to_csv(
    answers: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    probabilities: bool = True,
    cells: str | os.PathLike[str] | None = None,
    features: Sequence[str] = (),
    block_rows: int = BLOCK_ROWS,
    progress: RowProgress = lambda *_: None,
) -> dict[str, str]:
    """Write the answers of a store to a CSV file that appears under its name when it is whole.

    Columns are ``row``, where wanted ``sample_id`` and features, and those of the answers:
    ``population`` if populations have names, ``label`` and ``probability_0``, ``probability_1``,
    ..., ``topic_share_0``, ``log_density``, ``surprise_CD3`` and so on. Names that a spreadsheet
    would take for a formula begin with an apostrophe. A feature with the name of
    another column, such as ``label``, is written as ``label_2``.

    Parameters
    ----------
    answers : path
        A store as `write` of a model makes it: arrays of numbers (rows,) or (rows, columns).
    target : path or URL
        An existing file is replaced.
    probabilities : bool, default True
        If True, write the probabilities too, if the store has any.
    cells : path, optional
        The store that was asked about, as an import makes it: its ``sample_id`` is written too.
    features : sequence of str, optional
        Features of `cells` whose values are written too.
    block_rows : int
        Rows that are held at a time.
    progress : callable, optional
        Called with the rows done and all rows.

    Returns
    -------
    dict of str to str
        Columns of features that have another name in the file, by the names of the features.

    Raises
    ------
    OutputError
        When the file cannot be written.
    StoreReadError, DataError
        When there are no answers, or they are damaged, or `cells` has other rows.
    ViewError
        When `cells` has no such feature.
    """
    store = open_answers(answers)
    if not probabilities:
        store = store.without("probability")
    cell_columns = None if cells is None else _Cells.open(cells, features, store)
    with (
        write_errors(target),
        whole_file(target) as partial,
        # JSON holds names with surrogates, which UTF-8 cannot
        partial.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
    ):
        for done, text in _lines(store, cell_columns, block_rows):
            file.write(text)
            progress(done, store.rows)
    return {} if cell_columns is None else cell_columns.renamed


@dataclass(frozen=True, eq=False)
class _Cells:
    """Columns of a store that are written beside the answers.

    Attributes
    ----------
    samples : DataArray, optional
        Sample of every row: codes, or without categories names or numbers.
    sample_names : (samples,) object array, optional
        Of the codes as they stand in the file; the last one is empty, for the code -1. None
        without categories.
    values : DataArray
        (sample, feature), of the chosen features.
    value_names : list of str
        Names of the columns of these features, which no other column has.
    store : str
        Where they lie.
    """

    samples: xr.DataArray | None
    sample_names: NDArray[Any] | None
    values: xr.DataArray
    value_names: list[str]
    store: str

    @classmethod
    def open(
        cls, cells: str | os.PathLike[str], features: Sequence[str], store: AnswerStore
    ) -> _Cells:
        """Open a store of samples, and find the columns to write."""
        dataset = open_cells(cells)
        values = dataset["X"]
        if values.shape[0] != store.rows:
            raise DataError(
                f"{cells} has {values.shape[0]:,} rows, but there are {store.rows:,} answers; "
                "give the store that was asked about"
            )
        warn_of_other_rows(dict(open_whole_group(store.path).attrs), cells)
        names = [str(name) for name in values[FEATURE_DIM].to_numpy()]
        unknown = [name for name in features if name not in names]
        if unknown:
            raise ViewError(
                f"{cells} has no feature {', '.join(unknown)}; it has {', '.join(names)}"
            )
        samples = dataset.get("sample_id")
        if samples is not None and samples.dims != (SAMPLE_DIM,):
            samples = None
        categories = None if samples is None else samples.attrs.get("categories")
        if not (categories is None or isinstance(categories, list)):
            raise DataError(
                f"the categories of 'sample_id' of {cells} are {categories!r}; expected a list of "
                "names: import the data again"
            )
        cell_names = None
        if categories is not None:
            cell_names = np.array([*(as_cell(str(name)) for name in categories), ""], object)
        chosen = values[:, [names.index(name) for name in features]]
        others = [
            "row",
            *["sample_id"] * (samples is not None),
            *["population"] * bool(store.label_names),
            *(name for columns in store.columns.values() for name in columns),
        ]
        value_names = unique_names([*others, *features])[len(others) :]
        return cls(samples, cell_names, chosen, value_names, os.fspath(cells))

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        features = [as_cell(name) for name in self.value_names]
        return ["sample_id"] * (self.samples is not None) + features

    @property
    def renamed(self) -> dict[str, str]:
        """Columns of features that have another name, by the names of the features."""
        features = [str(name) for name in self.values[FEATURE_DIM].to_numpy()]
        columns = zip(features, self.value_names, strict=True)
        return {feature: column for feature, column in columns if feature != column}

    def columns(self, rows: slice) -> list[NDArray[Any]]:
        """Return the columns of some rows."""
        columns = list(read_variable(self.values[rows], f"'X' of {self.store}").T)
        if self.samples is None:
            return columns
        codes = read_variable(self.samples[rows], f"'sample_id' of {self.store}")
        if self.sample_names is None:
            texts = row_texts(codes)
            cells = texts if is_number(codes.dtype) else [*map(as_cell, texts)]
            return [np.array(cells, object), *columns]
        n_categories = len(self.sample_names) - 1
        if codes.dtype.kind not in "iu" or np.any((codes < -1) | (codes >= n_categories)):
            raise DataError(
                f"'sample_id' of {self.store} holds codes that are none of its {n_categories} "
                "categories; import the data again"
            )
        return [self.sample_names[codes], *columns]


def _lines(store: AnswerStore, cells: _Cells | None, block_rows: int) -> Iterator[tuple[int, str]]:
    """Yield the number of rows written and lines of text. The first line is the header."""
    cell_names = [] if cells is None else cells.header
    answers = [as_cell(name) for columns in store.columns.values() for name in columns]
    # the last name is that of the label -1, of rows left out
    names = np.array([*map(as_cell, store.label_names), ""], object)
    named = ["population"] * bool(store.label_names)
    yield 0, ",".join(["row", *cell_names, *named, *answers]) + "\n"
    for start, block in store.blocks(block_rows):
        stop = start + len(block[0])
        beside = [] if cells is None else cells.columns(slice(start, stop))
        formats = ",".join(_format(column.dtype) for column in block)
        line = "%d," + "%s," * len([*cell_names, *named]) + formats + "\n"
        if named:
            # labels are the first answer
            beside.append(_names_of(block[0], names, store.path))
        piece = max(1, _MOST_VALUES // (1 + len(beside) + len(block)))
        for first in range(start, stop, piece):
            last = min(first + piece, stop)
            cut = slice(first - start, last - start)
            # a NumPy number is written with the fewest digits that keep its bits: 0.1 of a float32
            # is 0.10000000149011612 as a number of Python
            cells_beside = (column[cut] for column in beside)
            answers_of_rows = (column[cut].tolist() for column in block)
            rows = zip(range(first, last), *cells_beside, *answers_of_rows, strict=True)
            yield last, "".join(line % row for row in rows)


def _names_of(label: NDArray[Any], names: NDArray[Any], path: str) -> NDArray[Any]:
    """Return the name of every label."""
    if label.min(initial=0) < -1 or label.max(initial=-1) >= len(names) - 1:
        raise DataError(
            f"{path} has labels up to {label.max()} and {len(names) - 1} names; predict the labels "
            "again"
        )
    named: NDArray[Any] = names[label]
    return named


def _format(dtype: np.dtype[Any]) -> str:
    """Return the format of an answer, with as many digits as it can be trusted for."""
    if dtype.kind == "i":
        return "%d"
    return "%.6g" if dtype.itemsize <= 4 else "%.9g"
