"""Inspection of the layout of a store: chunks that cost too much, files that are absent."""

from __future__ import annotations

from math import prod
from pathlib import PurePosixPath
from typing import Any

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


def inspect_store(source: ZarrSource, group: zarr.Group, sample_dim: str, feature_dim: str) -> None:
    """Warn of chunks that make a store slow or heavy to read, and look for absent files.

    Zarr reads the fill value where the file of a chunk is absent, without an error. A writer may
    leave out chunks that hold nothing else; the layout of this package never does, because its
    fill value is no data.

    Parameters
    ----------
    source : ZarrSource
        Described rows of the store.
    group : zarr.Group
        The opened store of the source.
    sample_dim, feature_dim : str
        The dimensions of the values.

    Raises
    ------
    StoreReadError
        When a file is absent from a store of this package's layout.

    Warns
    -----
    LayoutWarning
        When chunks are far too small or too large, or files are absent from another store.
    """
    _inspect_chunks(source, group, sample_dim, feature_dim)
    for variable in filter(None, (source.variable, *row_variables(source))):
        _inspect_files(source, group, variable)


def _inspect_chunks(
    source: ZarrSource, group: zarr.Group, sample_dim: str, feature_dim: str
) -> None:
    """Warn of chunks that are far too small or too large."""
    array: Any = group[source.variable]
    width, itemsize = len(source.features), source.dtype.itemsize
    if source.rows * width * itemsize < SMALL_DATA_NBYTES:
        return
    shape = array.chunks[::-1] if source.transposed else array.chunks
    chunk_nbytes, unit_nbytes = prod(shape) * itemsize, shape[0] * width * itemsize
    words = f"{source.describe()}: a chunk of {source.variable!r} holds {shape[0]:,} rows of "
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
    path = PurePosixPath(source.url)
    better = f"{source.url.removesuffix(path.suffix)}-rechunked{path.suffix or '.zarr'}"
    rows = chunk_rows(width, itemsize)
    warn(
        f"{words}; {trouble}. Import the data again with 'bigtensor import', or rewrite the store "
        f"once: xarray.open_zarr({source.url!r}).drop_encoding().chunk({{{sample_dim!r}: {rows}, "
        f"{feature_dim!r}: -1}}).to_zarr({better!r})",
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
