"""Tables and array-likes in memory as matrices of numbers, and the names of their columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from bigtensor.data.values.categories import are_strings
from bigtensor.data.values.lazy_arrays import LazyArray, LazyTable
from bigtensor.data.values.plain_arrays import without_mask
from bigtensor.errors import DataError, LayoutError, ViewError

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

DATES_REMEDY = (
    "give dates and durations as numbers, such as days since the first one: "
    "(t - t.min()) / numpy.timedelta64(1, 'D')"
)
"""Remedy for dates among measured values, which works in NumPy, pandas and xarray."""

MOST_NUMBERED = 10_000_000
"""Largest number of features that are named by position. More are damaged metadata or samples."""


def as_matrix(data: npt.ArrayLike) -> NDArray[Any]:
    """Return an array-like or a pandas DataFrame as a matrix of rows and features.

    Parameters
    ----------
    data : array-like
        Missing values of nullable columns, such as ``pandas.NA``, become NaN.

    Returns
    -------
    (rows, features) array
        Objects that are strings, None and NaN stay objects. Masked integers keep their mask.

    Raises
    ------
    DataError
        When values are neither numbers nor strings.
    LayoutError
        When there are no two dimensions.
    """
    if hasattr(data, "to_dataset") and hasattr(data, "children"):
        raise LayoutError(
            f"the data are a {type(data).__name__}, a tree of data sets; give the data set of one "
            "node: tree.to_dataset(), or tree['name'].to_dataset()"
        )
    # a masked integer is -1 as a code and NaN as a measured value, so that its mask is kept
    masked_integers = isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "iub"
    try:
        array = np.asanyarray(data) if masked_integers else np.asarray(without_mask(data))
    except ValueError as error:
        raise LayoutError(
            f"the data are no matrix of rows and features ({error}); give every row as many "
            "values, several sequences as arrays of shape (steps, features), and documents as a "
            "sparse matrix of counts (of CountVectorizer of scikit-learn, or "
            "gensim.matutils.corpus2csc(corpus).T)"
        ) from error
    if array.dtype.kind == "U" and isinstance(data, list | tuple):
        # NumPy makes the text 'nan' of a NaN beside strings
        array = np.where(_missing(np.asarray(data, object)), np.nan, array.astype(object))
    if array.dtype == object and not array.ndim:
        raise LayoutError(
            f"the data are of the type {type(data).__name__}; give a table of rows and features, "
            "such as a NumPy array, a pandas DataFrame, an xarray Dataset or the path of a store"
        )
    if array.dtype == object:
        array = np.where(_missing(array), np.nan, array)
        if not are_strings(array.ravel().tolist()):
            array = _numbers(array, data)
    if array.ndim != 2:
        raise LayoutError(
            f"expected 2D array (rows, features), got {array.ndim}D array instead with shape "
            f"{array.shape}. Reshape your data either using array.reshape(-1, 1) if it has a "
            "single feature or array.reshape(1, -1) if it contains a single sample."
        )
    return array


def is_lazy_table(data: object) -> TypeGuard[LazyTable]:
    """Return True for a Dask DataFrame. Its library is not imported for this."""
    return hasattr(data, "to_dask_array") and hasattr(data, "columns")


def feature_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return names of features as strings without spaces around them.

    Parameters
    ----------
    names : iterable
        Strings, bytes, numbers or tuples, as xarray and pandas name columns.

    Raises
    ------
    ViewError
        When a feature has no name, or its name is no text.
    """
    listed = [name.decode() if isinstance(name, bytes) else name for name in names]
    for column, name in enumerate(listed):
        if name is None or name != name or not str(name).strip():
            raise ViewError(
                f"feature {column} (from 0) is named {str(name)!r}; give every feature a name"
            )
        # NumPy makes strings of whatever numbers a damaged array of characters holds
        if np.array([str(name)]).view(np.uint32).max() > sys.maxunicode:
            raise ViewError(
                f"the name of feature {column} (from 0) holds numbers that are no characters; "
                "restore the data from a copy or write them again"
            )
    return tuple(str(name).strip(" ") for name in listed)


def _missing(objects: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where objects are missing: None, NaN, and NA and NaT of pandas."""
    import pandas as pd

    return np.asarray(pd.isna(objects))


def _numbers(array: NDArray[Any], data: npt.ArrayLike) -> NDArray[Any]:
    """Return an array of objects as numbers, or say where the first object is no number."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            "the values are neither all numbers nor all names: "
            f"{_first_object(array, data) or error}"
        ) from error


def _first_object(array: NDArray[Any], data: npt.ArrayLike) -> str | None:
    """Describe the place of the first object that is no number."""
    if array.ndim != 2:
        return None
    names = getattr(data, "columns", range(array.shape[1]))
    for row, values in enumerate(array):
        for name, value in zip(names, values, strict=True):
            try:
                float(value)
            except (TypeError, ValueError):
                remedy = (
                    "give numbers for names (TensorTrainDensity takes codes of at most ten "
                    "categories beside numbers as categories)"
                )
                if isinstance(value, date | timedelta):
                    remedy = DATES_REMEDY
                return (
                    f"row {row} of column {name!r} is {str(value)!r}; for a model of categories, "
                    "make all columns of a pandas DataFrame categorical, "
                    f"table.astype('category'); for a model of numbers, {remedy}, or leave the "
                    "column out"
                )
    return None


def numbered_features(width: int, owner: str, remedy: str) -> tuple[str, ...]:
    """Return names of features by their position: ``x0``, ``x1``, ...

    Parameters
    ----------
    width : int
        Number of features.
    owner : str
        Holder of the features, for the message.
    remedy : str
        What the user can do, for the message.

    Raises
    ------
    LayoutError
        When there are more than `MOST_NUMBERED`, before names are made.
    """
    if width > MOST_NUMBERED:
        raise LayoutError(
            f"{owner} has {width:,} features and no names for them; at most {MOST_NUMBERED:,} can "
            "be named by position. " + remedy
        )
    return tuple(f"x{column}" for column in range(width))


def with_dense_chunks(array: LazyArray) -> LazyArray:
    """Return a lazy array whose sparse chunks, if it has any, are dense ones."""
    if not hasattr(getattr(array, "_meta", None), "toarray"):
        return array
    return array.map_blocks(_dense, dtype=array.dtype)


def _dense(chunk: NDArray[Any] | csr_array | csr_matrix) -> NDArray[Any]:
    """Return some rows of a lazy matrix as a dense array."""
    return np.asarray(chunk.toarray()) if hasattr(chunk, "toarray") else chunk
