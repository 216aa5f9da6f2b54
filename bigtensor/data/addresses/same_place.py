"""Compare places of outputs and inputs, however their addresses are spelled."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

from fsspec.implementations.local import LocalFileSystem

from bigtensor.data.addresses.object_stores import file_system
from bigtensor.data.addresses.store_address import as_address
from bigtensor.errors import BigtensorError


def would_replace(out: str | os.PathLike[str], source: str | os.PathLike[str]) -> bool:
    """Return True if writing an output would remove an input.

    Parameters
    ----------
    out : path or URL
        Output.
    source : path or URL
        Input, which may lie inside the output.

    Examples
    --------
    >>> would_replace("file:///data/cells.zarr", "/data/other/../cells.zarr")
    True
    >>> would_replace("/data/labels.zarr", "/data/cells.zarr")
    False
    """
    (kind, place), (source_kind, source_place) = _place(out), _place(source)
    return kind == source_kind and source_place.is_relative_to(place)


def _place(address: str | os.PathLike[str]) -> tuple[str, PurePosixPath]:
    """Return the kind of file system of an address, and the path in it without links."""
    place = as_address(address)
    if not isinstance(place, str):
        return "file", PurePosixPath(place.resolve().as_posix())
    try:
        filesystem, root = file_system(place)
    except BigtensorError:
        # an address that cannot be opened is refused where it is used
        return "", PurePosixPath(place)
    # file systems of fsspec that keep copies of files hold the one that they read
    while getattr(filesystem, "fs", None) is not None:
        filesystem = filesystem.fs
    if isinstance(filesystem, LocalFileSystem):
        return "file", PurePosixPath(os.path.realpath(root))
    # paths of some file systems lack the name of the server
    server = getattr(filesystem, "host", None) or getattr(filesystem, "account_name", None) or ""
    # slashes may be repeated: many servers take them for one
    parts = [part for part in root.split("/") if part]
    return f"{type(filesystem).__name__} {server}", PurePosixPath("/", *parts)
