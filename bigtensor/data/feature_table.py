"""The variable of an xarray object that holds the features, its dimensions and feature names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bigtensor.data.addresses.read_errors import read_variable
from bigtensor.data.rows.date_order import holds_dates
from bigtensor.data.values.categories import holds_strings
from bigtensor.data.values.matrices import feature_names, numbered_features
from bigtensor.errors import LayoutError, Setting

VALUES = "X"
"""The variable that holds the features, when a data set has several two-dimensional ones."""


def values_of(dataset: xr.Dataset, sample_dim: str) -> xr.DataArray:
    """Choose the variable that holds the features.

    Parameters
    ----------
    dataset : Dataset
        Measured variables, and variables along the samples.
    sample_dim : str
        Name of the sample dimension.

    Raises
    ------
    LayoutError
        When no variable, or more than one, can hold the features.
    """
    tables = [
        variable
        for variable in dataset.data_vars.values()
        if variable.ndim == 2 and sample_dim in variable.dims
    ]
    numeric = [variable for variable in tables if variable.dtype.kind in "fiub"]
    candidates = numeric or [table for table in tables if holds_strings(table)]
    named = [variable for variable in candidates if variable.name == VALUES]
    cube = dataset.get(VALUES)
    if cube is not None and cube.ndim > 2 and sample_dim in cube.dims:
        # another table, such as labels with the dimension time, is not what is meant
        raise LayoutError(
            f"expected {VALUES!r} with the dimension {sample_dim!r} and one for the features, got "
            f"{dict(cube.sizes)}; " + layout_remedy([cube], sample_dim)
        )
    if len(candidates) == 1 or named:
        return (named or candidates)[0]
    if not candidates:
        variables = {
            str(name): f"{variable.dtype} {variable.dims}"
            for name, variable in dataset.data_vars.items()
        }
        raise LayoutError(
            f"no two-dimensional numeric variable has the sample dimension {sample_dim!r}; there "
            f"are {variables}; " + layout_remedy([*dataset.data_vars.values()], sample_dim)
        )
    names = [str(variable.name) for variable in candidates]
    raise LayoutError(
        f"several variables could hold the features: {names}; rename the one to use to {VALUES!r}, "
        "or in Python pass it alone; if every variable is a feature, use "
        f".to_dataarray('feature').stack(sample={_stacked_dims(candidates[0], sample_dim)}) in "
        "xarray"
    )


def _stacked_dims(variable: xr.DataArray, sample_dim: str) -> list[str]:
    """Return dimensions in the order to stack: the last one runs along a sequence."""
    dims = sorted(variable.dims, key=lambda dim: dim == sample_dim)
    return sorted(map(str, dims), key=lambda dim: holds_dates(variable.indexes.get(dim)))


def layout_remedy(variables: Sequence[xr.DataArray], sample_dim: str) -> str:
    """Return what to do about variables of which none can hold the features.

    Parameters
    ----------
    variables : sequence of DataArray
        Variables of a data set, or one array.
    sample_dim : str
        Name of the sample dimension.
    """
    along = sorted((one for one in variables if sample_dim in one.dims), key=_distance_from_table)
    if not along:
        return _remedy_without_samples(variables, sample_dim)
    nearest = along[0]
    name = nearest.name or "the array"
    if nearest.ndim == 2:
        return f"{name} holds {nearest.dtype}; store it as real numbers"
    if nearest.ndim > 2:
        others = [str(dim) for dim in nearest.dims if dim != sample_dim]
        is_grid = any(one is nearest for one in _grids(variables))
        joined = _joined(variables, "variable") if is_grid else ""
        others = ["variable"] * bool(joined) + others
        # names of the stacked dimension tell one grid point from another: no reset_index
        return (
            f"{name} has {nearest.ndim} dimensions; give it two, such as with "
            f"{joined}.stack({_new_dim(nearest)}={others}) in xarray"
        )
    return (
        "put the features into one variable, such as with Dataset.to_dataarray('feature') in xarray"
    )


def _remedy_without_samples(variables: Sequence[xr.DataArray], sample_dim: str) -> str:
    """Return what to do about variables of which none has the sample dimension."""
    grids = _grids(variables)
    if joined := _joined(variables, "feature"):
        return (
            f"if every variable is a feature, use {joined}.stack("
            f"{sample_dim}={_stacked_dims(grids[0], sample_dim)}) in xarray"
        )
    if len(grids) == 1 and grids[0].ndim > 2:
        return _remedy_for_grid(grids[0], sample_dim)
    return (
        f"rename the dimension that counts the samples to {sample_dim!r}, or in Python name it "
        "with " + Setting("sample_dim")
    )


def _remedy_for_grid(grid: xr.DataArray, sample_dim: str) -> str:
    """Return ways to make a table of one variable of more than two dimensions."""
    dims = _stacked_dims(grid, sample_dim)
    for dim in dims:
        index = grid.indexes.get(dim)
        if dim in ("feature", "variable") or getattr(index, "inferred_type", "") == "string":
            stacked = [other for other in dims if other != dim]
            return f"if {dim!r} holds the features, use .stack({sample_dim}={stacked}) in xarray"
    # dates are last
    rows = dims[-1] if holds_dates(grid.indexes.get(dims[-1])) else str(grid.dims[0])
    others = [dim for dim in dims if dim != rows]
    return (
        f"if {rows!r} counts the samples, use .stack(feature={others}) in xarray and in Python "
        "give "
        + Setting("sample_dim", rows)
        + "; if every entry is a sample of one feature, use .expand_dims('feature').stack("
        f"{sample_dim}={dims})"
    )


def _grids(variables: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """Return the numeric variables of the most dimensions, and of at least two."""
    numeric = [one for one in variables if one.dtype.kind in "fiub"]
    most = max((one.ndim for one in numeric), default=0)
    return [one for one in numeric if one.ndim == most > 1]


def _joined(variables: Sequence[xr.DataArray], new_dim: str) -> str:
    """Return the expression that makes features of variables of equal dimensions, or nothing."""
    grids = _grids(variables)
    is_named = any(one.name == VALUES for one in grids)
    if len(grids) < 2 or is_named or len({frozenset(one.dims) for one in grids}) > 1:
        return ""
    names = [str(one.name) for one in grids]
    # a mask of fewer dimensions would be a feature, too
    chosen = "" if len(grids) == len(variables) else f"dataset[{names}]"
    return f"{chosen}.to_dataarray({new_dim!r})"


def _new_dim(variable: xr.DataArray) -> str:
    """Return a name for stacked features that no dimension has."""
    return "features" if "feature" in variable.dims else "feature"


def _distance_from_table(variable: xr.DataArray) -> tuple[bool, int]:
    """Return a key that sorts tables first, arrays of more dimensions next, and vectors last."""
    return variable.ndim < 2, variable.ndim


def feature_dim_of(array: xr.DataArray, sample_dim: str) -> Hashable:
    """Return the dimension that is not the samples.

    Parameters
    ----------
    array : DataArray
        Of two dimensions.
    sample_dim : str
        Name of the sample dimension.
    """
    return next(dim for dim in array.dims if dim != sample_dim)


def feature_names_of(array: xr.DataArray, sample_dim: str) -> tuple[str, ...]:
    """Return the feature names from the coordinate of the feature dimension.

    Parameters
    ----------
    array : DataArray
        Of two dimensions.
    sample_dim : str
        Name of the sample dimension.
    """
    dim = feature_dim_of(array, sample_dim)
    index = array.indexes.get(dim)
    if isinstance(index, pd.MultiIndex):
        return feature_names(_with_short_numbers(index).to_numpy())
    if dim in array.coords:
        names = f"the names of the features {str(dim)!r} of {array.name!r}"
        return feature_names(read_variable(array.coords[dim], names))
    remedy = (
        f"If {str(dim)!r} are the samples, give "
        + Setting("sample_dim", str(dim))
        + "; otherwise restore the metadata from a copy"
    )
    return numbered_features(array.sizes[dim], repr(array.name), remedy)


def _with_short_numbers(index: pd.MultiIndex) -> pd.MultiIndex:
    """Return stacked coordinates with 10.1 in place of 10.100000381469727, the nearest float32.

    Names of the same place are then equal for coordinates of 32 and 64 bits, and for those of 32
    bits that xarray has promoted to 64.
    """
    for position, level in enumerate(index.levels):
        if level.dtype in (np.float32, np.float64):
            short = [_short_number(number) for number in level.to_numpy()]
            # numbers of 64 bits may lie beside the nearest ones of 32
            if len({*short}) == len(short):
                index = index.set_levels(short, level=position)
    return index


def _short_number(number: np.floating[Any]) -> float:
    """Return the shortest number of the same float32, if it is one, and the number otherwise."""
    with np.errstate(over="ignore"):
        single = np.float32(number)
    return float(str(single)) if single == number else float(number)
