"""Creation of stored arrays: with checksums, and with every chunk written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import zarr
from numpy.typing import DTypeLike
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import Crc32cCodec, ZstdCodec

from bigtensor.data.stores.process_wide import ProcessWide

every_chunk = ProcessWide(lambda: zarr.config.set({"array.write_empty_chunks": True}))
"""While it is entered, arrays are opened so that chunks of nothing but the fill value are written:
an absent file is then always a lost one."""


def create_root(address: str, attributes: Mapping[str, Any]) -> zarr.Group:
    """Create the root of a store.

    Parameters
    ----------
    address : str
        Of `whole_store`, which may have marked the root as unfinished.
    attributes : mapping
        Anything that JSON can hold.
    """
    group = zarr.open_group(address, mode="a", zarr_format=3)
    return group.update_attributes(dict(attributes))


def create_array(
    group: zarr.Group,
    name: str,
    *,
    shape: tuple[int, ...],
    dtype: DTypeLike | Literal["string"],
    dimensions: Iterable[str] | None = None,
    chunks: tuple[int, ...] | Literal["auto"] = "auto",
    shards: tuple[int, ...] | None = None,
    compressors: Iterable[BytesBytesCodec] | None = None,
    fill_value: object = None,
    attributes: Mapping[str, Any] | None = None,
) -> zarr.Array[Any]:
    """Create an array whose chunks end with a checksum and are all written.

    Parameters
    ----------
    group : zarr.Group
        Of format 2, as users of AnnData have it, the array gets no checksum: other programs could
        not read it.
    name : str
        Name of the array in the group.
    shape : tuple of int
        Length along every dimension.
    dtype : dtype or "string"
        Type of the values. Strings have any length.
    dimensions : iterable of str, optional
        Names of the dimensions, for xarray.
    chunks, shards : tuple of int, optional
        Lengths of a chunk, and of a shard of several chunks, along every dimension.
    compressors : iterable of codec, optional
        By default Zstandard. The checksum comes after them.
    fill_value : scalar, optional
        By default that of `missing_value`.
    attributes : mapping, optional
        Attributes of the array.

    Returns
    -------
    zarr.Array
        To fill it later, open it with `open_to_write`.
    """
    options: dict[str, Any] = {}
    fill_value = missing_value(dtype) if fill_value is None else fill_value
    if fill_value is not None:
        options["fill_value"] = fill_value
    if group.metadata.zarr_format == 3:
        chosen = default_compressors() if compressors is None else [*compressors, Crc32cCodec()]
        options["compressors"] = chosen
        options["dimension_names"] = None if dimensions is None else tuple(dimensions)
    with every_chunk:
        return group.create_array(
            name,
            shape=shape,
            dtype=dtype,
            chunks=chunks,
            shards=shards,
            attributes=None if attributes is None else dict(attributes),
            **options,
        )


def default_compressors() -> list[BytesBytesCodec]:
    """Return Zstandard with a checksum of the compressed bytes."""
    return [ZstdCodec(), Crc32cCodec()]


def open_to_write(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """Open an array so that every chunk that is given is written."""
    with every_chunk:
        array = group[name]
    assert isinstance(array, zarr.Array)
    return array


def missing_value(dtype: DTypeLike | Literal["string"]) -> float | int | None:
    """Return the value of missing entries: NaN, -1, or the default of Zarr."""
    kind = "T" if dtype == "string" else np.dtype(dtype).kind
    return {"f": np.nan, "i": -1}.get(kind)
