"""Opening a store of samples: its group, and what xarray makes of it, without reading a row."""

from __future__ import annotations

import xarray as xr
import zarr

from bigtensor.data.stores import open_whole_group
from bigtensor.errors import StoreReadError


def open_dataset(path: str) -> tuple[zarr.Group, xr.Dataset]:
    """Open a store of samples by its path or URL.

    Raises
    ------
    StoreReadError
        When there is none, or it is something else.
    """
    group = open_whole_group(path)
    # told whether the metadata are consolidated, xarray does not warn that they are not
    consolidated = group.metadata.consolidated_metadata is not None
    try:
        return group, xr.open_zarr(path, chunks=None, consolidated=consolidated)
    except Exception as error:
        raise StoreReadError(
            f"{path} cannot be opened as a Zarr store of samples ({type(error).__name__}: "
            f"{error}); see that xarray.open_zarr reads it"
        ) from error
