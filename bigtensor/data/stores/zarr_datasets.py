"""Opening a store of samples: its group and its xarray Dataset, without reading a row."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any

import xarray as xr
import zarr

from bigtensor.data.addresses.object_stores import explain_remote, read_options
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM
from bigtensor.data.stores.stored_kinds import stored_kind
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.errors import LayoutError, StoreReadError, hide_passwords


def open_dataset(path: str) -> tuple[zarr.Group, xr.Dataset]:
    """Open a store of samples by its path or URL.

    Raises
    ------
    StoreReadError
        When there is none, or it is something else.
    """
    group = open_whole_group(path)
    return group, as_dataset(path, group)


def as_dataset(path: str, group: zarr.Group) -> xr.Dataset:
    """Return an opened group as xarray sees it, but for zeros of Zarr v2: see `_without_default`.

    Parameters
    ----------
    path : str
        Path or URL of the group.
    group : zarr.Group
        The opened group.

    Raises
    ------
    StoreReadError
        When xarray cannot read it.
    """
    # told whether the metadata are consolidated, xarray does not warn that they are not
    consolidated = group.metadata.consolidated_metadata is not None
    is_v2 = group.metadata.zarr_format == 2
    try:
        dataset: xr.Dataset = xr.open_zarr(
            path,
            chunks=None,
            consolidated=consolidated,
            zarr_format=group.metadata.zarr_format,
            storage_options=read_options(path) or None,
            decode_cf=not is_v2,
        )
        if is_v2:
            for name, variable in dataset.variables.items():
                variable.attrs = _without_default(variable, group[str(name)])
            dataset = xr.decode_cf(dataset)
    except Exception as error:
        if reason := explain_remote(path, error):
            raise StoreReadError(reason) from hide_passwords(error)
        kind = stored_kind(dict(group.attrs))
        if kind != "data":
            raise StoreReadError(
                f"{path} holds {kind}, and rows such as cells are expected in its place; give the "
                "store that 'bigtensor import' made"
            ) from error
        raise StoreReadError(
            f"{path} cannot be opened as a Zarr store of samples ({type(error).__name__}: "
            f"{error}); see that xarray.open_zarr reads it"
        ) from error
    return dataset


def _without_default(variable: xr.Variable, array: Any) -> dict[Any, Any]:
    """Return the attributes of an undecoded variable of Zarr v2, without a default fill value.

    For Zarr v2, xarray takes every fill value for the value that marks missing entries. xarray
    itself writes no fill value, or NaN, where the user names none. Zarr and other writers put 0
    there. Zero therefore marks missing entries only in packed numbers, which xarray or another
    writer of the CF conventions has written, or if the attribute ``_FillValue`` says it.

    Parameters
    ----------
    variable : Variable
        Opened by xarray, whose attribute ``_FillValue`` is the fill value of the array.
    array : zarr.Array
        The same array, with its own attributes.
    """
    attrs = dict(variable.attrs)
    if variable.dtype.kind not in "iufb" or attrs.get("_FillValue") != 0:
        return attrs
    if {"scale_factor", "add_offset"} & attrs.keys():
        return attrs
    del attrs["_FillValue"]
    marker = array.attrs.get("_FillValue")
    return attrs | {"_FillValue": marker} if isinstance(marker, Real) else attrs


def open_cells(path: str | os.PathLike[str]) -> xr.Dataset:
    """Open a store of samples of this package's layout.

    Raises
    ------
    StoreReadError
        When there is none.
    LayoutError
        When it has no X (sample, feature).
    """
    _, dataset = open_dataset(os.fspath(path))
    if "X" not in dataset or dataset["X"].dims != (SAMPLE_DIM, FEATURE_DIM):
        variables = {str(name): variable.dims for name, variable in dataset.data_vars.items()}
        raise LayoutError(
            f"{path} has no X ({SAMPLE_DIM}, {FEATURE_DIM}) but {variables}; give the store that "
            "'bigtensor import' made"
        )
    return dataset
