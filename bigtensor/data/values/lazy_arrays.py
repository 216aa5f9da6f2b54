"""Types of lazy data and of tables, whose libraries are not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

if TYPE_CHECKING:
    import pandas as pd


class LazyArray(Protocol):
    """A `dask.array.Array`: values of a graph, in chunks."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length along every dimension, NaN where it is not known."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Lengths of the chunks along every dimension."""

    @property
    def numblocks(self) -> tuple[int, ...]:
        """Number of chunks along every dimension."""

    def __getitem__(self, rows: slice, /) -> Self:
        """Return a part of the array, lazily."""

    def map_blocks(self, function: Callable[..., Any], *, dtype: DTypeLike) -> Self:
        """Apply a function to every chunk, lazily."""

    def astype(self, dtype: DTypeLike, *, copy: bool) -> Self:
        """Convert the values, lazily."""


class Table(Protocol):
    """A table of pandas, polars, pyarrow or Dask, with named columns."""

    @property
    def columns(self) -> Iterable[Any]:
        """Names of the columns."""

    def __getitem__(self, columns: str | list[Any], /) -> Any:
        """Return a column, or a table of some columns."""


class ConvertibleTable(Table, Protocol):
    """A table of another library than pandas in memory, such as polars or pyarrow."""

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as one of pandas."""


class LazyTable(Table, Protocol):
    """A `dask.dataframe.DataFrame`."""

    def to_dask_array(self, lengths: bool) -> LazyArray:
        """Return the values, after a count of the rows."""


class ArrowTable(Protocol):
    """A `pyarrow.Table`, which calls the data of the columns "columns"."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""

    def __getitem__(self, column: str, /) -> ArrayLike:
        """Return a column."""

    def select(self, columns: list[str]) -> Self:
        """Return a table of some columns."""


def is_lazy_array(data: object) -> TypeGuard[LazyArray]:
    """Return True for a Dask array or another object with a graph."""
    return hasattr(data, "__dask_graph__")


def is_table(data: object) -> TypeGuard[Table]:
    """Return True for a table with named columns: a pandas, polars, pyarrow or Dask table."""
    return hasattr(data, "columns") and hasattr(data, "__getitem__")


def is_convertible_table(data: object) -> TypeGuard[ConvertibleTable]:
    """Return True for a table of another library that can become a pandas DataFrame."""
    return is_table(data) and hasattr(data, "to_pandas")


def is_arrow_table(data: object) -> TypeGuard[ArrowTable]:
    """Return True for a table of pyarrow."""
    return hasattr(data, "column_names")
