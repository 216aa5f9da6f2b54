"""Variables along the samples, found by name beside the rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pandas as pd
import xarray as xr

from bigtensor.data.rows.rows_where import all_rows
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.anndata_datasets import (
    anndata_dataset,
    has_obs,
    obs_columns,
    obs_variable,
)
from bigtensor.data.sources.row_sources import LazySource, Source, ZarrSource
from bigtensor.data.sources.xarray_source import XarraySource
from bigtensor.data.stores.zarr_datasets import open_dataset
from bigtensor.errors import DataError


def named_variable(
    source: Source, part: object, name: str, sample_dim: str, remedy: str
) -> xr.DataArray:
    """Return a named variable along the samples, unread where it lies in a store of samples.

    Parameters
    ----------
    source : Source
        Described rows beside which the variable lies.
    part : object
        What the source was described from.
    name : str
        A variable, a part of its dates as in xarray (``"time.month"``), or a column of ``obs``.
    sample_dim : str
        Name of the sample dimension.
    remedy : str
        Ways to give the variable, for the message.

    Raises
    ------
    DataError
        When there is no such variable.
    """
    if has_obs(source):
        return obs_variable(source, name, sample_dim)
    dataset = _dataset(source, part)
    if name in dataset.variables and dataset[name].dims == (sample_dim,):
        return dataset[name]
    of_dates = _part_of_dates(dataset, name)
    if of_dates is not None and of_dates.dims == (sample_dim,):
        if isinstance(source, ZarrSource):
            raise DataError(
                f"{name!r} is no variable of {source.describe()}; parts of dates are computed by "
                "xarray, so give the Dataset of xarray.open_zarr in place of the path"
            )
        return of_dates
    names = _names_along(dataset, sample_dim)
    there = f"there are {', '.join(names)}" if names else "there are none"
    raise DataError(
        f"{source.describe()} has no variable {name!r} along {sample_dim!r}; {there}. {remedy}"
    )


def check_aligned(part: object, values: object, sample_dim: str, name: str) -> None:
    """Refuse values of rows that are labelled otherwise than the rows.

    Parameters
    ----------
    part : object
        The data set that holds the rows.
    values : object
        One value a row. The index of a DataArray or of a Series of pandas is looked at.
    sample_dim : str
        Name of the sample dimension.
    name : str
        Name of the values, for the message.

    Raises
    ------
    DataError
        When both have an index along the rows, of equal length, and the indexes differ. The
        positions that pandas takes where nothing else is known (a RangeIndex from 0) are no labels,
        unless the values have the positions of the rows in another order.
    """
    if not isinstance(values, xr.DataArray | pd.Series) or values.ndim != 1:
        return
    values_dim = str(values.dims[0]) if isinstance(values, xr.DataArray) else sample_dim
    rows, labels = _row_labels(part, sample_dim), _row_labels(values, values_dim)
    if rows is None or labels is None or len(rows) != len(labels) or rows.equals(labels):
        return
    in_table = isinstance(values, pd.Series)
    if in_table and _are_positions(labels):
        return
    of_xarray = isinstance(part, xr.DataArray | xr.Dataset)
    same_levels = labels.nlevels == rows.nlevels
    same_labels = same_levels and labels.is_unique and labels.isin(rows).all()
    # labels of another kind, or of a larger table, say nothing of positions
    if not of_xarray and _are_positions(rows) and not same_labels:
        return
    if in_table:
        raise DataError(
            f"{name} has other index labels than the rows of the data, or has them in another "
            "order; put it into their order with .reindex, or give .to_numpy() if the values go by "
            "position"
        )
    raise DataError(
        f"{name} has other labels along {values_dim!r} than the data along "
        f"{sample_dim!r}, or has them in another order; select the labels of the data with .sel, "
        "or give .to_numpy() if the values go by position"
    )


def check_each_aligned(parts: Sequence[object], values: object, sample_dim: str, name: str) -> None:
    """Check every data set with its entry of a list of values, as `check_aligned` does.

    One array of values for several data sets goes by position.
    """
    entries = values if isinstance(values, list) and len(parts) > 1 else [values]
    if len(entries) == len(parts):
        for part, own in zip(parts, entries, strict=True):
            check_aligned(part, own, sample_dim, name)


def _row_labels(data: object, dim: str) -> pd.Index[Any] | None:
    """Return the index of rows; None for data without one."""
    if isinstance(data, xr.DataArray | xr.Dataset):
        return data.indexes.get(dim)
    if isinstance(data, pd.DataFrame | pd.Series):
        return data.index
    names = getattr(data, "obs_names", None)
    return names if isinstance(names, pd.Index) else None


def _are_positions(labels: pd.Index[Any]) -> bool:
    """Return True for the index that pandas makes for rows without labels."""
    return isinstance(labels, pd.RangeIndex) and labels.start == 0 and labels.step == 1


def row_variable_names(source: Source, part: object, sample_dim: str) -> list[str]:
    """Return the names of the variables along the samples, or of the columns of ``obs``.

    Parameters
    ----------
    source : Source
        Described rows beside which the variables lie.
    part : object
        What the source was described from.
    sample_dim : str
        Name of the sample dimension.
    """
    if has_obs(source):
        return obs_columns(source)
    return _names_along(_dataset(source, part), sample_dim)


def variables_beside(samples: Samples, sample_dim: str) -> xr.Dataset:
    """Return the variables along the rows of samples, unread where they lie in a store.

    Parameters
    ----------
    samples : Samples
        Opened rows.
    sample_dim : str
        Name of the sample dimension.

    Returns
    -------
    Dataset
        Variables of the rows that meet the condition of the samples. Empty for several sources, and
        for rows without variables.
    """
    if len(samples.sources) != 1:
        return xr.Dataset()
    source = all_rows(samples.sources[0])
    dataset = anndata_dataset(source, sample_dim) if has_obs(source) else _dataset(source, None)
    names = _names_along(dataset, sample_dim)
    # the names of the rows are a coordinate
    dataset = dataset[names] if names else dataset.drop_vars([*dataset.data_vars])
    if source is samples.sources[0] or sample_dim not in dataset.dims:
        return dataset
    # eight bytes for every row that meets the condition
    return dataset.isel({sample_dim: samples.rows_of_sources(0, samples.rows)})


def _part_of_dates(dataset: xr.Dataset, name: str) -> xr.DataArray | None:
    """Return what xarray calls ``"time.month"``, or None if the name means no part of dates."""
    dates, _, field = name.partition(".")
    if not field or field.startswith("_") or dates not in dataset.variables:
        return None
    try:
        values = getattr(dataset[dates].dt, field)
    except (AttributeError, TypeError):
        return None
    return values if isinstance(values, xr.DataArray) else None


def _names_along(dataset: xr.Dataset, sample_dim: str) -> list[str]:
    """Return the names of the variables along the samples, but of the dimension itself."""
    return sorted(
        str(key)
        for key, variable in dataset.variables.items()
        if variable.dims == (sample_dim,) and key != sample_dim
    )


def _dataset(source: Source, part: object) -> xr.Dataset:
    """Return the Dataset with the row variables of a source."""
    if isinstance(part, xr.Dataset):
        return part
    if isinstance(source, ZarrSource):
        return open_dataset(source.url)[1]
    if isinstance(part, str | os.PathLike):
        return open_dataset(os.fspath(part))[1]
    if isinstance(source, XarraySource | LazySource) and source.variables is not None:
        variables: xr.Dataset = source.variables
        return variables
    if isinstance(source, XarraySource):
        return source.array.coords.to_dataset()
    return part.coords.to_dataset() if isinstance(part, xr.DataArray) else xr.Dataset()
