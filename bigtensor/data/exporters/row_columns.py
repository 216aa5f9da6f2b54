"""Columns of a store of rows that are written beside answers: which row it is, and its values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.anndata.obs_names import has_obs_names, stored_obs_names, stored_rows
from bigtensor.data.exporters.labels import BLOCK_ROWS
from bigtensor.data.exporters.row_texts import (
    cells_of_codes,
    is_number,
    names_as_cells,
    row_texts,
)
from bigtensor.data.sources.anndata_source import holds_anndata
from bigtensor.data.stores.layout import (
    FEATURE_DIM,
    SAMPLE_DIM,
    SAMPLES,
    SEQUENCE,
    SOURCE_ROW,
)
from bigtensor.data.stores.zarr_datasets import open_cells
from bigtensor.data.values.categories import ATTRIBUTE, stored_categories
from bigtensor.data.values.spreadsheet_cells import as_cell
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, LayoutError, ViewError

_IDENTITIES = (SOURCE_ROW, SAMPLES, SEQUENCE)
"""Variables that join a row to the files and sequences that it came from. Every table has them."""


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of the table.

    Attributes
    ----------
    name : str
        Feature, or variable of the rows.
    header : str
        Name of the column, which no other column has.
    variable : DataArray, optional
        (sample,); None for a feature.
    names : (categories + 1,) object array, optional
        Names of the codes as they stand in the file. The last one is empty, for the code -1.
    """

    name: str
    header: str
    variable: xr.DataArray | None
    names: NDArray[Any] | None

    def cells(self, values: NDArray[Any], store: str) -> NDArray[Any]:
        """Return values as cells of the file. Features without categories stay numbers."""
        if self.names is not None:
            return cells_of_codes(values, self.names, f"{self.name!r} of {store}")
        if self.variable is None:
            return values
        texts = row_texts(values)
        if values.dtype.kind == "f":
            # integers with missing values are stored as floats
            texts = [text.removesuffix(".0") for text in texts]
        return np.array(texts if is_number(values.dtype) else [*map(as_cell, texts)], object)


@dataclass(frozen=True, eq=False)
class RowColumns:
    """Columns of a store of rows, which are read block by block.

    Attributes
    ----------
    columns : list of _Column
        In their order in the file.
    values : DataArray
        (sample, feature), of the features among the columns.
    store : str
        Path or URL.
    renamed : dict of str to str
        Columns of features and variables that have another name, by the names of these.
    """

    columns: list[_Column]
    values: xr.DataArray
    store: str
    renamed: dict[str, str]

    @classmethod
    def open(
        cls,
        cells: str | os.PathLike[str],
        names: Sequence[str],
        *,
        rows: int,
        others: Sequence[str],
    ) -> RowColumns:
        """Open a store of rows, and find the columns to write.

        Parameters
        ----------
        cells : path or URL
            Store of rows.
        names : sequence of str
            Features, or variables of the rows. A feature comes before a variable of its name.
        rows : int
            Number of answers, which has to be the number of rows.
        others : sequence of str
            Names of the other columns of the file.

        Raises
        ------
        DataError
            When the store has another number of rows, or no such feature or variable.
        """
        dataset = open_cells(cells)
        store = os.fspath(cells)
        values = dataset["X"]
        if values.shape[0] != rows:
            raise _other_rows(store, values.shape[0], rows)
        features = [str(name) for name in values[FEATURE_DIM].to_numpy()]
        variables = {
            str(name): dataset[name]
            for name, variable in dataset.variables.items()
            if variable.dims == (SAMPLE_DIM,)
        }
        if unknown := [name for name in names if name not in {*features, *variables}]:
            raise ViewError(
                f"{cells} has no feature or variable of the rows {', '.join(unknown)}; it has "
                f"the features {', '.join(features)}"
                + (f" and the variables {', '.join(variables)}" if variables else "")
            )
        identities = [name for name in _IDENTITIES if name in variables]
        chosen = [name for name in names if name in features or name not in identities]
        used = [name for name in chosen if name in features]
        values = values[:, [features.index(name) for name in used]]
        categories = stored_categories(values.attrs, used, store, values.dtype)
        taken = [*others, *identities]
        headers = unique_names([*taken, *chosen])[len(taken) :]
        columns = [
            _Column(name, name, variables[name], _names_of_codes(variables[name], store))
            for name in identities
        ]
        for name, header in zip(chosen, headers, strict=True):
            if name not in features:
                own = _names_of_codes(variables[name], store)
                columns.append(_Column(name, header, variables[name], own))
                continue
            own = None if categories is None else names_as_cells(categories[used.index(name)])
            columns.append(_Column(name, header, None, own))
        renamed = {
            name: header for name, header in zip(chosen, headers, strict=True) if name != header
        }
        return cls(columns, values, store, renamed)

    @property
    def header(self) -> list[str]:
        """The names of the columns as cells of the file."""
        return [as_cell(column.header) for column in self.columns]

    def check_names(self) -> None:
        """Require a name for every code of the variables.

        Raises
        ------
        DataError, StoreReadError
        """
        for column in self.columns:
            if column.variable is None or column.names is None:
                continue
            for start in range(0, column.variable.size, BLOCK_ROWS):
                codes = column.variable[start : start + BLOCK_ROWS]
                column.cells(read_variable(codes, f"{column.name!r} of {self.store}"), self.store)

    def read(self, rows: slice) -> list[NDArray[Any]]:
        """Return the columns of some rows."""
        features = iter(())
        if self.values.shape[1]:
            features = iter(read_variable(self.values[rows], f"'X' of {self.store}").T)
        cells = []
        for column in self.columns:
            stored = (
                next(features)
                if column.variable is None
                else read_variable(column.variable[rows], f"{column.name!r} of {self.store}")
            )
            cells.append(column.cells(stored, self.store))
        return cells


@dataclass(frozen=True, eq=False)
class NameColumn:
    """Names of the rows of AnnData, which are read block by block.

    Attributes
    ----------
    path : str
        Path or URL.
    """

    path: str

    header: ClassVar[list[str]] = ["obs_names"]
    renamed: ClassVar[dict[str, str]] = {}

    @classmethod
    def open(cls, cells: str | os.PathLike[str], *, rows: int) -> NameColumn | None:
        """Open AnnData; None if its rows have no names.

        Raises
        ------
        DataError
            When there is another number of rows than of answers.
        """
        path = os.fspath(cells)
        if (stored := stored_rows(path)) != rows:
            raise _other_rows(path, stored, rows)
        return cls(path) if has_obs_names(path) else None

    def read(self, rows: slice) -> list[NDArray[Any]]:
        """Return the names of some rows as cells of the file."""
        names = stored_obs_names(self.path, [rows])
        assert names is not None
        return [np.array([*map(as_cell, names[0].tolist())], object)]


def has_row_columns(cells: str | os.PathLike[str]) -> bool:
    """Return True for rows with ids, after a look at them, or with names of AnnData.

    Raises
    ------
    StoreReadError
        When the store cannot be read.
    DataError
        When ids are codes without a name.
    """
    if holds_anndata(cells):
        return has_obs_names(os.fspath(cells))
    try:
        rows = open_cells(cells)["X"].shape[0]
    except LayoutError:
        return False
    RowColumns.open(cells, (), rows=rows, others=()).check_names()
    return True


def _other_rows(store: str, stored: int, answered: int) -> DataError:
    """Return the error for a store with another number of rows than of answers."""
    return DataError(
        f"{store} has {stored:,} rows, but there are {answered:,} answers; give the store that was "
        "asked about"
    )


def _names_of_codes(variable: xr.DataArray, store: str) -> NDArray[Any] | None:
    """Return the names of codes as cells of the file; None for a variable without categories."""
    categories = variable.attrs.get(ATTRIBUTE)
    if not (categories is None or isinstance(categories, list)):
        raise DataError(
            f"the categories of {str(variable.name)!r} of {store} are {categories!r}; expected a "
            "list of names: import the data again"
        )
    return None if categories is None else names_as_cells([str(name) for name in categories])
