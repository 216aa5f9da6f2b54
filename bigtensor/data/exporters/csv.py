"""Answers as text: one line a row, written block by block from the store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.exporters.answered_rows import warn_of_other_rows
from bigtensor.data.exporters.answers import AnswerStore, open_answers
from bigtensor.data.exporters.labels import BLOCK_ROWS
from bigtensor.data.exporters.row_columns import NameColumn, RowColumns
from bigtensor.data.exporters.row_texts import cells_of_codes, names_as_cells
from bigtensor.data.sources.anndata_source import holds_anndata
from bigtensor.data.stores.outputs import whole_file, write_errors
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.spreadsheet_cells import as_cell
from bigtensor.errors import DataError, Setting

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

    Columns are ``row``, of `cells` ``source_row``, ``sample_id`` and ``sequence``, features and
    variables (of AnnData ``obs_names``), and those of the answers:
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
        The store that was asked about, as an import makes it. If it has ``source_row``,
        ``sample_id`` or ``sequence``, these are written too: ``row`` counts the rows of the store
        from 0, and ``source_row`` those of the files before rows were selected.
    features : sequence of str, optional
        Features and variables of the rows of `cells` to write too. Codes with categories are
        written as names.
    block_rows : int
        Rows that are held at a time.
    progress : callable, optional
        Called with the rows done and all rows.

    Returns
    -------
    dict of str to str
        Columns of features and variables that have another name in the file, by their own names.

    Raises
    ------
    OutputError
        When the file cannot be written.
    StoreReadError, DataError
        When there are no answers, or they are damaged, or `cells` has other rows.
    ViewError
        When `cells` has no such feature or variable.
    """
    store = open_answers(answers)
    if not probabilities:
        store = store.without("probability")
    cell_columns = None if cells is None else _beside(cells, features, store)
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


def _beside(
    cells: str | os.PathLike[str], features: Sequence[str], store: AnswerStore
) -> RowColumns | NameColumn | None:
    """Open the columns that stand between the number of the row and the answers."""
    others = [
        "row",
        *["population"] * bool(store.label_names),
        *(name for columns in store.columns.values() for name in columns),
    ]
    columns: RowColumns | NameColumn | None
    if holds_anndata(cells):
        if features:
            raise DataError(
                f"{cells} is AnnData, of which names alone stand beside answers: leave "
                + Setting("features")
                + " out, and join other columns by obs_names"
            )
        columns = NameColumn.open(cells, rows=store.rows)
    else:
        columns = RowColumns.open(cells, features, rows=store.rows, others=others)
    warn_of_other_rows(dict(open_whole_group(store.path).attrs), cells)
    return columns


def _lines(
    store: AnswerStore, cells: RowColumns | NameColumn | None, block_rows: int
) -> Iterator[tuple[int, str]]:
    """Yield the number of rows written and lines of text. The first line is the header."""
    cell_names = [] if cells is None else cells.header
    answers = [as_cell(name) for columns in store.columns.values() for name in columns]
    # the last name is that of the label -1, of rows left out
    names = names_as_cells(store.label_names)
    named = ["population"] * bool(store.label_names)
    codes = [None if own is None else names_as_cells(own) for own in store.names_of_codes]
    yield 0, ",".join(["row", *cell_names, *named, *answers]) + "\n"
    for start, block in store.blocks(block_rows):
        stop = start + len(block[0])
        beside = [] if cells is None else cells.read(slice(start, stop))
        block = [
            column if own is None else cells_of_codes(column, own, f"an answer of {store.path}")
            for column, own in zip(block, codes, strict=True)
        ]
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
    if dtype.kind == "O":
        return "%s"
    if dtype.kind == "i":
        return "%d"
    return "%.6g" if dtype.itemsize <= 4 else "%.9g"
