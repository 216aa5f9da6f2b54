"""Sequences of rows, named in the data or given by the caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bigtensor.array_types import IntArray
from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.addresses.repeated_reads import ReadTally, read_repeatedly
from bigtensor.data.rows.data_like import DataLike, DataSetLike, RowVariableLike
from bigtensor.data.rows.row_variables import named_variable
from bigtensor.data.rows.rows_where import all_rows
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.anndata_source import AnndataFileSource
from bigtensor.data.sources.csr_source import CsrSource, StoredCsrSource
from bigtensor.data.sources.row_sources import ArraySource, LazySource, Source, ZarrSource
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.data.stores.zarr_groups import open_group
from bigtensor.data.values.integer_ids import integer_ids
from bigtensor.data.values.lazy_arrays import (
    Table,
    is_arrow_table,
    is_lazy_array,
    is_table,
)
from bigtensor.data.values.matrices import is_lazy_table
from bigtensor.errors import DataError, ParameterError, Setting

_REMEDY = (
    "'bigtensor import' keeps one with --sequence; for data in memory, the id of every row can be "
    "given as an array"
)

ROWS_OF_IDS = 2**20
"""Ids that are read at once."""

_NAMES, _INTEGERS = "OUST", "iu"


@dataclass(frozen=True, eq=False)
class Lengths:
    """Numbers of rows of consecutive sequences.

    Parameters
    ----------
    rows : (sequences,) integer array-like
        Number of rows of every sequence, in their order.

    Raises
    ------
    ParameterError
        When the lengths are no positive integers.
    """

    rows: Any

    def __post_init__(self) -> None:
        lengths = np.atleast_1d(np.asarray(self.rows))
        if lengths.ndim != 1 or lengths.dtype.kind not in _INTEGERS or lengths.min(initial=1) < 1:
            raise ParameterError(
                Setting("lengths")
                + f" is {_shown(self.rows)}; expected the number of rows of every sequence, each "
                "an integer of at least 1, or give the id of every row as the parameter "
                + Setting("sequence")
            )
        object.__setattr__(self, "rows", lengths)

    def ids(self, rows: int) -> IntArray:
        """Return the position of the sequence of every row: ``(rows,)``.

        Raises
        ------
        ParameterError
            When the lengths do not add up to the rows.
        """
        total = int(self.rows.sum())
        if total != rows:
            raise ParameterError(
                Setting("lengths")
                + f" adds up to {total:,} rows in {len(self.rows):,} sequences, and the data have "
                f"{rows:,} rows; give the length of every sequence, in the order of the rows, "
                "or the id of every row as the parameter " + Setting("sequence")
            )
        return np.repeat(np.arange(len(self.rows), dtype=np.int64), self.rows)


def in_sequences(
    data: DataLike,
    sequence: str | RowVariableLike | Lengths | None,
    lengths: npt.ArrayLike | None,
) -> tuple[DataLike, str | RowVariableLike | Lengths | None]:
    """Return data without a column of ids, and what says where sequences end.

    Parameters
    ----------
    data : object
        As for `bigtensor.open_samples`.
    sequence : str or (rows,) array-like, optional
        Name of a variable or column, or the id of every row.
    lengths : array-like of int, optional
        In place of `sequence`.

    Returns
    -------
    data : object
        Tables that have a column of the name are returned without it.
    sequence : str, (rows,) array or Lengths, optional
        Name of a variable, ids of rows, or numbers of rows. None for data without sequences.

    Raises
    ------
    ParameterError
        When both are given, or lengths are no positive integers.
    DataError
        When a table has no such column.
    """
    if lengths is not None:
        if sequence is not None:
            raise ParameterError(
                Setting("sequence")
                + " and "
                + Setting("lengths")
                + " both say where sequences end; give one of them"
            )
        return data, Lengths(lengths)
    return without_id_column(data, sequence)


def without_id_column(
    data: DataLike, sequence: str | RowVariableLike | Lengths | None
) -> tuple[DataLike, str | RowVariableLike | Lengths | None]:
    """Return tables without their column of ids, and the ids; other data as they are.

    Parameters
    ----------
    data : object
        A table of pandas, polars, pyarrow or Dask, a list of tables, or other data.
    sequence : str, array or Lengths, optional
        Name of the column of ids. Arrays and `Lengths` are returned as they are.

    Raises
    ------
    DataError
        When a table has no such column.
    """
    if not isinstance(sequence, str):
        return data, sequence
    several = isinstance(data, list | tuple)
    data_sets: list[object] = [*data] if isinstance(data, list | tuple) else [data]
    tables = [table for table in data_sets if is_table(table)]
    if not tables or len(tables) < len(data_sets):
        return data, sequence
    parts = [_split(table, sequence) for table in tables]
    if not several:
        return parts[0]
    return [table for table, _ in parts], np.concatenate([ids for _, ids in parts])


def split_column(data: DataLike, name: str) -> tuple[DataLike, RowVariableLike] | None:
    """Return tables without a column, and the column; None where a table has none of this name.

    Parameters
    ----------
    data : object
        As for `without_id_column`.
    name : str
        Name of the column.
    """
    tables: list[object] = [*data] if isinstance(data, list | tuple) else [data]
    if not tables or not all(is_table(table) and name in _columns(table) for table in tables):
        return None
    others, column = without_id_column(data, name)
    return others, cast("RowVariableLike", column)


def with_sequences(
    samples: Samples,
    parts: Sequence[object],
    sequence: str | RowVariableLike | Lengths,
    sample_dim: str,
) -> Samples:
    """Return samples whose blocks show the sequence of every row.

    Parameters
    ----------
    samples : Samples
        Samples without sequences.
    parts : sequence
        What every source was described from.
    sequence : str, (rows,) array-like or Lengths
        The name of a variable along the samples or of a column of ``obs``, or the id of every row
        in memory. Integers stay as they are. Names in memory become codes in the order in which
        they appear in their data set.
    sample_dim : str
        Name of the sample dimension.

    Raises
    ------
    DataError
        When there is no such variable, a row has no id, or ids are neither integers nor names.
    ParameterError
        When an array has not one entry a row, or lengths do not add up to the rows.
    StoreReadError
        When the variable cannot be read.
    """
    if isinstance(sequence, str):
        variables = [
            with_whole_ids(named_variable(source, part, sequence, sample_dim, _REMEDY))
            for source, part in zip(samples.sources, parts, strict=True)
        ]
    else:
        variables = _ids_by_source(samples, sequence, sample_dim)
    identified = [
        _identified(source, variable)
        for source, variable in zip(samples.sources, variables, strict=True)
    ]
    names = identified[0][1] if len(identified) == 1 else None
    return replace(samples, sources=tuple(source for source, _ in identified), sequence_names=names)


def with_whole_ids(variable: xr.DataArray) -> xr.DataArray:
    """Return integer ids as integers, also if they have a marker of missing ones.

    xarray decodes integers beside such a marker (``_FillValue``) to floats.

    Parameters
    ----------
    variable : (rows,) DataArray
        Ids of the sequences of the rows.

    Raises
    ------
    DataError
        When a row has no id. Of lazy ids, the task that reads the row raises it.
    """
    stored = np.dtype(variable.encoding.get("dtype", variable.dtype))
    scaled = {"scale_factor", "add_offset"} & variable.encoding.keys()
    if variable.dtype.kind != "f" or stored.kind not in _INTEGERS or scaled:
        return variable
    if variable.chunks is not None:
        return variable.copy(data=variable.data.map_blocks(_whole_ids, dtype=np.int64))
    return variable.copy(data=_whole_ids(read_variable(variable, f"{variable.name!r}")))


def names_of_sequences(samples: Samples) -> tuple[str, ...] | None:
    """Return the names of the integer ids 0, 1, ... of sequences; None where ids are numbers.

    Parameters
    ----------
    samples : Samples
        Of one source. Codes of different sources have names of their own.
    """
    source = all_rows(samples.sources[0])
    if len(samples.sources) > 1 or samples.sequence_names is not None:
        return samples.sequence_names
    if not isinstance(source, ZarrSource) or source.sequence is None:
        return None
    attrs = open_group(source.url)[source.sequence].attrs
    return _listed_names(attrs.get("categories"))


def names_by_id(samples: Samples) -> dict[int, str] | None:
    """Return the names that the integer ids of tasks stand for; None where ids are integers.

    All ids are read again, some rows at a time; one name a sequence is held.

    Parameters
    ----------
    samples : Samples
        With ids in stores or in graphs, which tasks hash.
    """
    names: dict[int, str] = {}
    for source in samples.sources:
        for first in first_ids(source):
            if first.dtype.kind in _INTEGERS:
                return None
            names.update(zip(integer_ids(first).tolist(), map(str, first.tolist()), strict=True))
    return names


def first_ids(source: Source) -> Iterator[NDArray[Any]]:
    """Yield the ids with which sequences start, as they are stored, of some rows at a time."""
    last: NDArray[Any] | None = None
    for ids in pieces_of_ids(source):
        is_first = np.concatenate([[True], ids[1:] != ids[:-1]])
        is_first[0] = last is None or bool(ids[0] != last[0])
        if is_first.any():
            yield ids[is_first]
        last = ids[-1:]


def pieces_of_ids(source: Source) -> Iterator[NDArray[Any]]:
    """Yield the ids of the rows as they are stored, some rows at a time.

    Parameters
    ----------
    source : Source
        Described rows. Nothing is yielded for rows without sequences.
    """
    if isinstance(source, LazySource):
        ids = source.sequence
        if ids is not None:
            # ids beside a graph may be in memory
            lengths = getattr(ids, "chunks", ((len(ids),),))[0]
            stops = np.cumsum(lengths)
            pieces = (ids[stop - n : stop] for n, stop in zip(lengths, stops, strict=True) if n)
            yield from (np.asarray(piece) for piece in pieces)
        return
    for start in range(0, source.rows, ROWS_OF_IDS):
        stop = min(start + ROWS_OF_IDS, source.rows)
        ids = read_repeatedly(partial(source.read_sequence, start, stop), ReadTally())
        if ids is not None:
            yield np.asarray(ids)


def _split(table: Table, name: str) -> tuple[DataSetLike, RowVariableLike]:
    """Return a table without a column, and the column as an array."""
    columns = _columns(table)
    others = [column for column in columns if column != name]
    if len(others) == len(columns):
        raise DataError(
            f"the table has no column {name!r} to use as "
            + Setting("sequence")
            + f"; it has {[str(column) for column in others]}, and a level of the index becomes a "
            "column by .reset_index(level)"
        )
    column = table[name]
    if is_arrow_table(table):
        return table.select(others), np.asarray(column)
    if not is_lazy_table(table):
        return table[others], np.asarray(column)
    if not isinstance(column.dtype, np.dtype):
        # Dask warns of what it does with types of pandas
        column = column.astype(object)
    return table[others], column.to_dask_array(lengths=True)


def _columns(table: Table) -> list[Any]:
    """Return the names of the columns of a table."""
    return [*(table.column_names if is_arrow_table(table) else table.columns)]


def _ids_by_source(
    samples: Samples, sequence: RowVariableLike | Lengths, sample_dim: str
) -> list[xr.DataArray]:
    """Return the ids of every row, source by source."""
    ids = sequence.ids(samples.rows) if isinstance(sequence, Lengths) else sequence
    if isinstance(ids, list | tuple) and any(map(np.ndim, ids)):
        ids = _joined(ids, samples)
    attrs = ids.attrs if isinstance(ids, xr.DataArray) else {}
    values = ids.data if isinstance(ids, xr.DataArray) else ids
    array = values if is_lazy_array(values) else np.asarray(values)
    if array.shape != (samples.rows,):
        raise ParameterError(
            Setting("sequence")
            + f" has the shape {array.shape}; expected ({samples.rows},), the id of every row, or "
            "the name of a variable"
        )
    return [
        xr.DataArray(array[offset : offset + source.rows], dims=[sample_dim], attrs=attrs)
        for source, offset in zip(samples.sources, samples.offsets, strict=True)
    ]


def _joined(parts: Sequence[Any], samples: Samples) -> NDArray[Any]:
    """Return the ids of several data sets, one list or array a data set, one behind the other."""
    rows = [source.rows for source in samples.sources]
    entries = [np.shape(part) for part in parts]
    if entries != [(count,) for count in rows]:
        raise ParameterError(
            Setting("sequence")
            + f" is a list of ids of the shapes {entries}, and the data sets have {rows} rows; "
            "give a list of the ids of every data set, one id a row"
        )
    return np.concatenate([np.asarray(part) for part in parts])


def _identified(source: Source, variable: xr.DataArray) -> tuple[Source, tuple[str, ...] | None]:
    """Return a source with the ids of its rows, and the names of these ids."""
    owner = f"the sequences {str(variable.name or '')!r} of {source.describe()}".replace(" ''", "")
    names = _listed_names(variable.attrs.get("categories"))
    if isinstance(source, ZarrSource):
        return _identified_store(source, variable), names
    if variable.chunks is not None and isinstance(source, LazySource):
        _check_dtype(variable.dtype, owner)
        return replace(source, sequence=variable.data), names
    if isinstance(source, XarraySource) and variable.dtype.kind in _INTEGERS:
        # not read before the rows are
        return replace(source, sequence=variable), names
    ids, id_names = _integers(read_variable(variable, owner), owner)
    names = id_names if names is None else names
    if isinstance(source, XarraySource):
        return replace(source, sequence=xr.DataArray(ids, dims=[source.sample_dim])), names
    assert isinstance(
        source, ArraySource | LazySource | CsrSource | StoredCsrSource | AnndataFileSource
    )
    return replace(source, sequence=ids), names


def _identified_store(source: ZarrSource, variable: xr.DataArray) -> Source:
    """Return a store whose tasks read the variable."""
    stored: Any = None
    if variable.name is not None:
        stored = open_group(source.url).get(str(variable.name))
    if stored is None:
        raise DataError(
            "an array of ids and "
            + Setting("lengths")
            + f" go with data in memory; {source.describe()} is a store: name its variable along "
            "the samples with " + Setting("sequence")
        )
    _check_dtype(variable.dtype, f"the variable {variable.name!r} of {source.describe()}")
    return replace(source, sequence=str(variable.name))


def _check_dtype(dtype: np.dtype[Any], owner: str) -> None:
    """Raise an error for ids that are neither integers nor names."""
    if dtype.kind not in _INTEGERS + _NAMES:
        raise DataError(
            f"{owner} is {dtype}; ids of sequences are integers or names: convert with "
            ".astype('int64') or .astype(str)"
        )


def _integers(ids: NDArray[Any], owner: str) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return ids in memory as integers, and the names that these integers are codes of."""
    if ids.dtype == object and pd.api.types.infer_dtype(ids, skipna=False) == "integer":
        ids = ids.astype(np.int64)
    if ids.dtype.kind in _INTEGERS:
        return ids, None
    missing = pd.isna(ids)
    if missing.any():
        raise DataError(
            f"row {int(missing.argmax()):,} of {owner} has no id, and {int(missing.sum()):,} rows "
            "in all have none; give every row the id of its sequence, or leave these rows out"
        )
    _check_dtype(ids.dtype, owner)
    codes, names = pd.factorize(ids)
    return codes.astype(np.int64), tuple(map(str, names))


def _whole_ids(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers that are stored as floats."""
    missing = int(np.count_nonzero(np.isnan(ids)))
    if missing:
        raise DataError(
            f"{missing:,} rows have no id of a sequence, because theirs is the marker of missing "
            "values (_FillValue); give every row the id of its sequence, or leave these rows out"
        )
    return ids.astype(np.int64)


def _listed_names(categories: object) -> tuple[str, ...] | None:
    """Return the names of codes in an attribute; None where there are none."""
    if not isinstance(categories, list | tuple | np.ndarray):
        return None
    return tuple(map(str, categories))


def _shown(value: object) -> str:
    """Return a parameter in words that do not grow with it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
