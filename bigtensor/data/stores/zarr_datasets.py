"""Opening a store of samples: its group and its xarray Dataset, without reading a row."""

from __future__ import annotations

import os

import xarray as xr
import zarr

from bigtensor.data.addresses.object_stores import read_options
from bigtensor.data.stores.layout import FEATURE_DIM, SAMPLE_DIM
from bigtensor.data.stores.stored_kinds import stored_kind
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.errors import LayoutError, StoreReadError


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
    """Return an opened group as xarray sees it.

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
    try:
        dataset: xr.Dataset = xr.open_zarr(
            path,
            chunks=None,
            consolidated=consolidated,
            zarr_format=group.metadata.zarr_format,
            storage_options=read_options(path) or None,
        )
    except Exception as error:
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
