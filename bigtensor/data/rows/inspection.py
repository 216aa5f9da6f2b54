"""Inspection of the layout of a store: chunks that cost too much, files that are absent."""

from __future__ import annotations

from collections.abc import Hashable
from math import prod
from pathlib import PurePosixPath
from typing import Any

import xarray as xr
import zarr

from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.sources.row_sources import ZarrSource, row_variables
from bigtensor.data.stores.chunk_files import ChunkFiles
from bigtensor.data.stores.layout import chunk_rows
from bigtensor.data.stores.manifest import files_of
from bigtensor.data.stores.zarr_groups import LAYOUT
from bigtensor.errors import LayoutWarning, StoreReadError, warn

SMALL_DATA_NBYTES = 64 * 2**20
"""Data of this size are read within a second or so, whatever their chunks."""

SMALL_CHUNK_NBYTES = 64 * 2**10
"""Below this a chunk costs more to find than to decode: measured, a third of the full rate at
64 KiB and a sixth at 16 KiB."""

LARGE_UNIT_NBYTES = 128 * 2**20
"""Rows that are decoded together: a task holds several times as many bytes, and cannot start
reading in the middle of them."""


def inspect_files(source: ZarrSource, group: zarr.Group) -> None:
    """Look for absent files.

    Zarr reads the fill value where the file of a chunk is absent, without an error. A writer may
    leave out chunks that hold nothing else; the layout of this package never does, because its
    fill value is no data.

    Parameters
    ----------
    source : ZarrSource
        Described rows of the store.
    group : zarr.Group
        The opened store of the source.

    Raises
    ------
    StoreReadError
        When a file is absent from a store of this package's layout.

    Warns
    -----
    LayoutWarning
        When files are absent from another store.
    """
    for variable in filter(None, (source.variable, *row_variables(source))):
        _inspect_files(source, group, variable)


def stored_chunks(values: xr.DataArray) -> dict[Hashable, int]:
    """Return the length of a chunk on disk along every dimension.

    Parameters
    ----------
    values : DataArray
        A variable of an opened store.
    """
    return dict(zip(values.dims, values.encoding.get("chunks") or values.shape, strict=True))


def inspect_chunks(address: str, values: xr.DataArray, sample_dim: str) -> None:
    """Warn of chunks that make a store slow or heavy to read.

    Parameters
    ----------
    address : str
        Path or URL of the store.
    values : DataArray
        The two-dimensional variable of the values as xarray decodes it, because tasks hold, and
        a rewritten store gets, decoded numbers.
    sample_dim : str
        Name of the sample dimension.

    Warns
    -----
    LayoutWarning
        When chunks are far too small or too large.
    """
    (feature_dim,) = (dim for dim in values.dims if dim != sample_dim)
    rows, width = values.sizes[sample_dim], values.sizes[feature_dim]
    itemsize, chunks = values.dtype.itemsize, stored_chunks(values)
    shape = (chunks[sample_dim], chunks[feature_dim])
    if values.nbytes < SMALL_DATA_NBYTES:
        return
    chunk_nbytes, unit_nbytes = prod(shape) * itemsize, shape[0] * width * itemsize
    words = f"{address} ({rows:,} rows): a chunk of {values.name!r} holds {shape[0]:,} rows of "
    words += f"{shape[1]} of the {width} features ({chunk_nbytes / 2**20:.3g} MiB)"
    if unit_nbytes > LARGE_UNIT_NBYTES:
        trouble = (
            f"{unit_nbytes / 2**20:.3g} MiB have to be read together, so that a task needs several "
            "times as much memory and few tasks can run side by side"
        )
    elif chunk_nbytes <= SMALL_CHUNK_NBYTES:
        trouble = "chunks this small make reading several times slower"
    else:
        return
    path = PurePosixPath(address)
    better = f"{address.removesuffix(path.suffix)}-rechunked{path.suffix or '.zarr'}"
    warn(
        f"{words}; {trouble}. Import the data again with 'bigtensor import', or rewrite the store "
        f"once: xarray.open_zarr({address!r}).drop_encoding().chunk({{{sample_dim!r}: "
        f"{chunk_rows(width, itemsize)}, {feature_dim!r}: -1}}).to_zarr({better!r})",
        LayoutWarning,
    )


def _inspect_files(source: ZarrSource, group: zarr.Group, variable: str) -> None:
    """Compare the files of a variable with those that its shape asks for."""
    array: Any = group[variable]
    chunk_files = ChunkFiles(array)
    if files_of(group, variable) == chunk_files.expected:
        return
    for name in StoreFiles(source.url).names(variable):
        chunk_files.count(name)
    if not chunk_files.absent:
        return
    axis = int(source.transposed and variable == source.variable)
    words = f"{source.url}: {chunk_files.describe_absent(variable, axis)}"
    if LAYOUT in group.attrs:
        raise StoreReadError(f"{words}: restore it from a copy or import the data again")
    warn(
        f"{words}. They are read as {array.fill_value}: right if whoever wrote the store left out "
        "chunks that hold nothing else, and wrong if files were lost; then restore them from a "
        "copy or write the store again",
        LayoutWarning,
    )
