"""Named categories of features that are integer codes: given with the data, or found in them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from operator import or_
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.errors import LayoutError, LayoutWarning, warn

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FeatureCategories = tuple[tuple[str, ...], ...]
"""The names of code 0, 1, ... of every feature, in the order of the features."""

MISSING_CODE = -1
"""The code of a missing entry."""

ATTRIBUTE = "categories"
"""Attribute of the values: a mapping of every feature to the names of its codes, or its JSON."""

MOST_CATEGORIES = 65_536
"""A feature of integers with more values is taken for a measurement."""


def stored_categories(
    attrs: Mapping[Any, Any], features: Sequence[str], owner: str, dtype: np.dtype[Any]
) -> FeatureCategories | None:
    """Return the categories in the attributes of integer values; None where there are none.

    Parameters
    ----------
    attrs : mapping
        Attributes of the values.
    features : sequence of str
        Names of the features, in their order.
    owner : str
        The words that name the data in messages.
    dtype : dtype
        Type of the values.

    Raises
    ------
    LayoutError
        When the attribute is something else, or a feature is not in it.

    Warns
    -----
    LayoutWarning
        When the values are no integers, so that the names are ignored.
    """
    named = _mapping(attrs.get(ATTRIBUTE))
    if named is None:
        return None
    if dtype.kind not in "iu":
        # another program may use an attribute of this name for something else
        if isinstance(named, Mapping):
            warn(
                f"the attribute {ATTRIBUTE!r} of {owner} is ignored, because the values are "
                f"{dtype}; names of categories need integer codes in all features, with "
                f"{MISSING_CODE} for missing entries: convert the values to integers",
                LayoutWarning,
            )
        return None
    if not isinstance(named, Mapping):
        raise LayoutError(
            f"the attribute {ATTRIBUTE!r} of {owner} is {type(named).__name__}; expected a mapping "
            "of every feature to the names of its codes"
        )
    categories = []
    for feature in features:
        names = named.get(feature)
        if not isinstance(names, list | tuple | np.ndarray):
            raise LayoutError(
                f"the attribute {ATTRIBUTE!r} of {owner} has no list of names for the feature "
                f"{feature!r}; give the names of its code 0, 1, ..."
            )
        categories.append(tuple(str(name) for name in names))
    return tuple(categories)


def categories_of_answer(attrs: Mapping[Any, Any]) -> dict[str, tuple[str, ...]]:
    """Return the names of the codes of every feature in the attributes of an answer of codes.

    Parameters
    ----------
    attrs : mapping
        Attributes of the answer, such as imputed entries. Labels have a list of names in place of
        a mapping, so that the result is empty.
    """
    named = _mapping(attrs.get(ATTRIBUTE))
    if not isinstance(named, Mapping):
        return {}
    return {str(feature): tuple(map(str, names)) for feature, names in named.items()}


def _mapping(attribute: Any) -> Any:
    """Return an attribute with the JSON text of a mapping decoded, and any other as it is."""
    if not isinstance(attribute, str):
        return attribute
    # labelled answers in memory have text, because NetCDF files hold no mappings
    try:
        return json.loads(attribute)
    except json.JSONDecodeError:
        return attribute


def counted_categories(codes: NDArray[Any]) -> FeatureCategories | None:
    """Return the categories of integers in memory without names: 0, 1, ... up to the largest.

    Parameters
    ----------
    codes : (rows, features) integer array
        Integers. `MISSING_CODE` stands for a missing entry.

    Returns
    -------
    tuple of tuple of str, optional
        None where a value is below -1 or too large for a code.
    """
    if not codes.size or codes.min() < MISSING_CODE or codes.max() >= MOST_CATEGORIES:
        return None
    return tuple(tuple(map(str, range(int(top) + 1))) for top in codes.max(axis=0))


def holds_strings(array: xr.DataArray) -> bool:
    """Return True for a matrix of strings, also of objects whose first row is strings.

    Parameters
    ----------
    array : DataArray
        Of objects one row is read.

    Raises
    ------
    StoreReadError
        When that row is damaged.
    """
    if array.dtype.kind != "O" or array.ndim != 2:
        return array.dtype.kind in "UST"
    return are_strings(
        read_variable(array[:1], f"the first row of {array.name!r}").ravel().tolist()
    )


def are_strings(cells: Sequence[Any]) -> bool:
    """Return True if every cell is a string or missing (None or NaN)."""
    return any(isinstance(cell, str) for cell in cells) and all(
        isinstance(cell, str) or cell is None or cell != cell for cell in cells
    )


def coded_strings(values: NDArray[Any]) -> tuple[NDArray[np.int32], FeatureCategories]:
    """Return the codes of a matrix of strings, and the categories of its features.

    Parameters
    ----------
    values : (rows, features) array of strings or objects
        Strings. None and NaN are missing entries.

    Returns
    -------
    codes : (rows, features) int32 array
        -1 for None, NaN and the empty string.
    categories : tuple of tuple of str
        In alphabetical order.
    """
    codes = np.full(values.shape, MISSING_CODE, np.int32)
    categories = []
    for column in range(values.shape[1]):
        cells = ["" if cell is None or cell != cell else str(cell) for cell in values[:, column]]
        names = sorted({*cells} - {""})
        place = {"": MISSING_CODE} | {name: code for code, name in enumerate(names)}
        codes[:, column] = [place[cell] for cell in cells]
        categories.append(tuple(names))
    return codes, tuple(categories)


def coded_table(table: object) -> tuple[NDArray[np.int32], FeatureCategories] | None:
    """Return the codes of a pandas DataFrame of categorical columns and strings, also of objects.

    Parameters
    ----------
    table : object
        Anything; pandas is not imported for it.

    Returns
    -------
    codes : (rows, features) int32 array
        `MISSING_CODE` for missing entries.
    categories : tuple of tuple of str
        Those of categorical columns in their own order, others in alphabetical order. Boolean
        columns beside them have the categories False and True.
        None is returned for another object, where another column is neither, and for a table of
        booleans alone.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(table, pandas.DataFrame) or not len(table.columns):
        return None
    columns = [table.iloc[:, place] for place in range(table.shape[1])]
    named = [_holds_names(pandas, column) for column in columns]
    boolean = [bool(column.dtype == bool) for column in columns]
    if not any(named) or not all(map(or_, named, boolean)):
        return None
    coded = [
        pandas.Categorical(column, [False, True] if two else None)
        for column, two in zip(columns, boolean, strict=True)
    ]
    codes = np.column_stack([column.codes for column in coded]).astype(np.int32)
    return codes, tuple(tuple(map(str, column.categories)) for column in coded)


def _holds_names(pandas: ModuleType, column: pd.Series) -> bool:
    """Return True for a column of categories or strings."""
    if isinstance(column.dtype, pandas.CategoricalDtype | pandas.StringDtype):
        return True
    objects = bool(column.dtype == object)
    return objects and str(pandas.api.types.infer_dtype(column, skipna=True)) == "string"
