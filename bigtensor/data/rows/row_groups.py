"""Groups of rows, such as patients or files, named in the data or by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.rows.data_like import RowVariableLike
from bigtensor.data.rows.row_variables import named_variable
from bigtensor.data.rows.samples import RowGroups, Samples
from bigtensor.data.sources.anndata_source import AnndataFileSource
from bigtensor.data.sources.csr_source import CsrSource, StoredCsrSource
from bigtensor.data.sources.row_sources import ArraySource, Coding, LazySource, Source, ZarrSource
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.data.stores.zarr_groups import open_group
from bigtensor.errors import DataError, ParameterError

MOST_GROUPS = 10_000
"""A variable with more values is taken for a measurement."""

_REMEDY = (
    "'bigtensor add' adds one to a store; for data in memory, the group of every row can be given "
    "as an array"
)

_STEP = 2**20
"""Rows that are looked at together for the values of a variable without categories."""


def with_groups(
    samples: Samples, parts: Sequence[object], groups: str | RowVariableLike, sample_dim: str
) -> Samples:
    """Return samples whose blocks show the group of every row, beside its sequence.

    Parameters
    ----------
    samples : Samples
        Samples without groups.
    parts : sequence
        What every source was described from.
    groups : str, or (rows,) array-like
        The name of a variable along the samples, a part of its dates (``"time.month"``), or the
        group of every row in memory. Integers with the attribute ``categories`` are codes. All
        other numbers and strings are names themselves, which one reading of the variable finds.
        Some values stand for no group, see `stands_for_none`.
    sample_dim : str
        Name of the sample dimension.

    Returns
    -------
    Samples
        Groups of one name are one group, even if their codes differ between sources.

    Raises
    ------
    DataError
        When there is no such variable, or it holds something else or far too many values.
    ParameterError
        When an array has not one entry a row.
    StoreReadError
        When the variable cannot be read.
    """
    if isinstance(groups, str):
        variables = [
            named_variable(source, part, groups, sample_dim, _REMEDY)
            for source, part in zip(samples.sources, parts, strict=True)
        ]
        # of "time.month", as in xarray, "month"
        name = str(variables[0].name)
    else:
        name = str(getattr(groups, "name", None) or "group")
        variables = _groups_by_source(samples, groups, sample_dim)
    listed = [
        _listed(source, variable, name)
        for source, variable in zip(samples.sources, variables, strict=True)
    ]
    names = tuple(dict.fromkeys(entry for pairs in listed for _, entry in pairs))
    if not names:
        raise DataError(
            f"no row of {samples.describe()} has a group in {name!r}; name another variable"
        )
    code = {entry: position for position, entry in enumerate(names)}
    sources = tuple(
        _coded(
            source,
            variable,
            Coding(tuple(value for value, _ in pairs), tuple(code[entry] for _, entry in pairs)),
        )
        for source, variable, pairs in zip(samples.sources, variables, listed, strict=True)
    )
    value_of = {entry: value for pairs in listed for value, entry in pairs}
    has_names = any(map(_are_codes, variables))
    numbers = None if has_names else _numbers([value_of[entry] for entry in names])
    return replace(samples, sources=sources, groups=RowGroups(name, names, numbers))


def _groups_by_source(
    samples: Samples, groups: RowVariableLike, sample_dim: str
) -> list[xr.DataArray]:
    """Return the groups of every row in memory, source by source."""
    attrs = groups.attrs if isinstance(groups, xr.DataArray) else {}
    array = as_names(groups)
    if array.shape != (samples.rows,):
        raise ParameterError(
            f"the groups of rows have shape {array.shape}; expected ({samples.rows},), one a row, "
            "or the name of a variable"
        )
    return [
        xr.DataArray(array[offset : offset + source.rows], dims=[sample_dim], attrs=attrs)
        for source, offset in zip(samples.sources, samples.offsets, strict=True)
    ]


def _listed(source: Source, variable: xr.DataArray, name: str) -> list[tuple[Any, str]]:
    """Return the values of a variable and their names, values ascending."""
    kind = variable.dtype.kind
    categories = variable.attrs.get("categories")
    if _are_codes(variable):
        if not isinstance(categories, list | tuple | np.ndarray):
            raise DataError(
                f"the categories of {name!r} of {source.describe()} are {categories!r}; expected "
                "a list of names"
            )
        return list(enumerate(str(entry) for entry in categories))
    if kind not in "iufbOUST":
        raise DataError(
            f"{name!r} of {source.describe()} is {variable.dtype}; groups are integer codes with "
            "the attribute 'categories', or names: strings or numbers"
            + (f". Of dates of xarray, name a part, such as '{name}.month'" if kind == "M" else "")
        )
    values: set[Any] = set()
    for start in range(0, source.rows, _STEP):
        piece = variable[start : start + _STEP]
        stored = read_variable(piece, f"{name!r} of {source.describe()}")
        values |= _distinct(piece.copy(data=stored), source, name)
        if len(values) > MOST_GROUPS:
            raise DataError(
                f"{name!r} of {source.describe()} has more than {MOST_GROUPS:,} different values; "
                "groups are patients or files, not measurements: name another variable"
            )
    numeric = all(isinstance(value, Real) for value in values)
    order = sorted(values) if numeric else sorted(values, key=_in_words)
    return [(value, _in_words(value)) for value in order]


def _are_codes(variable: xr.DataArray) -> bool:
    """Return True for integers that are codes of named categories."""
    return variable.dtype.kind in "iu" and variable.attrs.get("categories") is not None


def _numbers(values: list[Any]) -> tuple[float, ...] | None:
    """Return the numbers of groups, as integers if all are whole; None if some are names."""
    if not all(isinstance(value, Real) for value in values):
        return None
    are_whole = all(not isinstance(value, bool) and float(value).is_integer() for value in values)
    return tuple(map(int, values)) if are_whole else tuple(values)


def as_names(values: RowVariableLike) -> NDArray[Any]:
    """Return the names of rows as an array, in which missing ones stay what they are.

    Parameters
    ----------
    values : (rows,) array-like
        Of a list, NumPy would make texts of numbers and of None among texts.
    """
    array = np.asarray(values)
    is_list = isinstance(values, list | tuple)
    return np.asarray(values, object) if is_list and array.dtype.kind in "US" else array


def stands_for_none(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for values that name nothing: negative whole numbers, NaN, None, empty strings.

    Negative codes count as whole numbers in floats too: NaN beside them has made them floats.
    Infinite numbers name nothing either.

    Parameters
    ----------
    values : (n,) array
        Numbers, strings, or objects.
    """
    if values.dtype.kind in "iufb":
        return np.asarray((values < 0) & (np.floor(values) == values) | ~np.isfinite(values))
    if values.dtype.kind != "O":
        return np.asarray((values == values.dtype.type()) | pd.isna(values))
    return np.fromiter((_names_nothing(value) for value in values.tolist()), bool, len(values))


def _names_nothing(value: Any) -> bool:
    """Return True if an object stands for none."""
    if isinstance(value, Real):
        number = float(value)
        return not np.isfinite(number) or (number < 0 and number.is_integer())
    return value in ("", b"") if isinstance(value, str | bytes) else bool(np.all(pd.isna(value)))


def _distinct(piece: xr.DataArray, source: Source, name: str) -> set[Any]:
    """Return the different values of some rows that stand for a group."""
    stored = piece.to_numpy()
    if stored.dtype.kind in "iufb":
        stored = np.unique(stored)
    try:
        distinct = {_plain(value) for value in stored[~stands_for_none(stored)].tolist()}
    except TypeError:
        distinct = {None}
    strange = [value for value in distinct if not isinstance(value, str | bytes | Real)]
    if strange:
        raise DataError(
            f"{name!r} of {source.describe()} holds objects that are no names, such as "
            f"{strange[0]!r}; groups are strings or numbers"
        )
    return distinct


def _plain(value: object) -> object:
    """Return a number of NumPy, which an array of objects may hold, as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _in_words(value: object) -> str:
    """Return the name of a value."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def _coded(source: Source, variable: xr.DataArray, coding: Coding) -> Source:
    """Return a source that reads the codes of its groups."""
    if isinstance(source, ZarrSource):
        return _coded_store(source, variable, coding)
    if isinstance(source, LazySource):
        data = variable.data
        lazy = hasattr(data, "__dask_graph__")
        codes = data.map_blocks(coding, dtype=np.int32) if lazy else coding(np.asarray(data))
        return replace(source, group=codes)
    stored = read_variable(variable, f"{variable.name!r} of {source.describe()}")
    held: NDArray[np.int32] = coding(stored)
    if isinstance(source, XarraySource):
        return replace(source, group=xr.DataArray(held, dims=[source.sample_dim]))
    assert isinstance(source, ArraySource | CsrSource | StoredCsrSource | AnndataFileSource)
    return replace(source, group=held)


def _coded_store(source: ZarrSource, variable: xr.DataArray, coding: Coding) -> Source:
    """Return a store whose tasks read the variable and code it."""
    stored: Any = None
    if variable.name is not None:
        stored = open_group(source.url).get(str(variable.name))
    if stored is None:
        raise DataError(
            f"an array of groups goes with data in memory; {source.describe()} is a store: name "
            "its variable along the samples instead"
        )
    numbers = [dtype.kind in "iufb" for dtype in (stored.dtype, variable.dtype)]
    if numbers[0] != numbers[1] or {"scale_factor", "add_offset"} & {*variable.encoding}:
        raise DataError(
            f"{variable.name!r} of {source.describe()} is stored as {stored.dtype} and stands for "
            f"{variable.dtype}; store integer codes with the attribute 'categories', or names"
        )
    return replace(source, group=str(variable.name), coding=coding)
