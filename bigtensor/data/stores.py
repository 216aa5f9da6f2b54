"""Opening a Zarr store: its group, and what xarray makes of it, without reading a row."""

from __future__ import annotations

import xarray as xr
import zarr

from bigtensor.data.store_address import check_store_address
from bigtensor.errors import StoreReadError


def open_dataset(path: str) -> tuple[zarr.Group, xr.Dataset]:
    """Open a store by its path or URL.

    Raises
    ------
    StoreReadError
        When there is none, or it is something else.
    """
    check_store_address(path)
    try:
        group = zarr.open_group(path, mode="r")
        # told whether the metadata are consolidated, xarray does not warn that they are not
        consolidated = group.metadata.consolidated_metadata is not None
        return group, xr.open_zarr(path, chunks=None, consolidated=consolidated)
    except Exception as error:
        raise StoreReadError(
            f"{path} cannot be opened as a Zarr store of samples ({type(error).__name__}: "
            f"{error}); 'bigtensor import' makes one from FCS, CSV, Parquet or AnnData files"
        ) from error
