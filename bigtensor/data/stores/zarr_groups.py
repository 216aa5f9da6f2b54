"""Opening a Zarr store of any origin, without reading a row."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Container, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.storage import FsspecStore

from bigtensor._version import __version__
from bigtensor.data.addresses.object_stores import read_options
from bigtensor.data.addresses.read_errors import read_remedy, too_much_memory
from bigtensor.data.addresses.store_address import as_address, check_store_address
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.stores.array_documents import check_document, check_documents
from bigtensor.data.stores.leftovers import interrupted_replacement
from bigtensor.data.stores.manifest import check_finished, check_manifest
from bigtensor.data.stores.shard_indices import ShardIndexStore
from bigtensor.errors import StoreReadError, hide_passwords

LAYOUT = "bigtensor_layout"
"""Attribute of a store of rows with the version of its layout."""

LAYOUT_VERSION = 1
"""Version of the layout of stores that are written; later versions are refused."""

OPEN_ARRAYS = 256
"""Arrays that a process keeps open: their metadata, and no row."""


def open_group(
    path: str | os.PathLike[str],
    *,
    mode: Literal["r", "r+"] = "r",
    consolidated: bool | None = None,
    formats: Container[int] = (2, 3),
) -> zarr.Group:
    """Open a Zarr group that anybody may have written.

    No array of it can run code when it is decoded: those that could are refused here.

    Parameters
    ----------
    path : path or URL
        Zarr group.
    mode : {"r", "r+"}, default "r"
        Read, or also change.
    consolidated : bool, optional
        If True, use consolidated metadata. By default they are used if they exist.
    formats : container of int, default (2, 3)
        Versions of the Zarr format to accept.

    Raises
    ------
    StoreReadError
        When there is no group, it is unfinished, its metadata make no sense, or an array could run
        code.
    """
    _check_replacement(path)
    check_store_address(os.fspath(path))
    files = StoreFiles(path)
    with files.reading():
        version = check_documents(files, consolidated=consolidated)
        options = read_options(files.url) or None
        group = zarr.open_group(
            files.url,
            mode=mode,
            use_consolidated=consolidated,
            zarr_format=version,
            storage_options=options,
        )
        with warnings.catch_warnings():
            # of files that are no part of a Zarr group; to find them is not the task here
            warnings.simplefilter("ignore")
            dict(group.arrays())
    check_finished(files.url, group.attrs)
    if group.metadata.zarr_format not in formats:
        raise StoreReadError(
            f"{files.url} is a Zarr group of format {group.metadata.zarr_format}, which this "
            "package does not write; check the path"
        )
    return group


def _check_replacement(path: str | os.PathLike[str]) -> None:
    """Name the copies of a store that is absent because a run was killed while it replaced it."""
    place = as_address(path)
    # of a name that no path can have, the check of the address says what is wrong
    if isinstance(place, str) or os.path.lexists(place):
        return
    copies = interrupted_replacement(place)
    if copies is None:
        return
    earlier, new = copies
    message = (
        f"there is no store at {path}, because a run that was replacing it has not finished: the "
        f"earlier store is whole and is now {earlier}"
    )
    if new is not None:
        message += f", and the new store is whole and is {new}"
    which = "it" if new is None else "one of them"
    raise StoreReadError(
        f"{message}. If the run does not finish by itself, rename {which} to {place.name}"
    )


def new_opening() -> str:
    """Return the token of an opening of data, which tells it from all others: see `open_array`."""
    return uuid.uuid4().hex


def open_array(url: str, name: str, opening: str) -> zarr.Array[Any]:
    """Open one array of a group that `open_group` has opened before, once a process.

    Its metadata take less time to read than those of the group. They are judged again, because the
    group may have given consolidated ones. On an object store they are two of three requests of a
    read, so that the array stays open.

    Parameters
    ----------
    url, name : str
        Address of the group, and the name of the array in it.
    opening : str
        Token of the opening of the data. Data that are opened again are read afresh.
    """
    return _opened(url, name, opening, os.getpid())


@lru_cache(maxsize=OPEN_ARRAYS)
def _opened(url: str, name: str, opening: str, process: int) -> zarr.Array[Any]:  # noqa: ARG001
    """Open an array; a forked process has no connections of its parent."""
    remote = isinstance(as_address(url), str)
    if not remote:
        array = zarr.open_array(url, path=name, mode="r")
    else:
        options = read_options(url)
        inner = FsspecStore.from_url(url, storage_options=options, read_only=True)
        array = _open_remote(ShardIndexStore(inner), name)
    check_document(url, name, array.metadata.to_dict())
    return array


def _open_remote(store: ShardIndexStore, name: str) -> zarr.Array[Any]:
    """Open an array in one request if it is of Zarr v3, as nearly all are."""
    try:
        return zarr.open_array(store, path=name, mode="r", zarr_format=3)
    except FileNotFoundError:
        return zarr.open_array(store, path=name, mode="r")


@contextmanager
def opened_anew_after_errors() -> Iterator[None]:
    """Let the arrays be opened again after a read that failed, such as of a changed store."""
    try:
        yield
    except BaseException:
        _opened.cache_clear()
        raise


def read_rows(array: zarr.Array[Any], start: int, stop: int) -> NDArray[Any]:
    """Read rows of an array of an opened group.

    Raises
    ------
    StoreReadError
        When a chunk is absent or damaged.
    """
    try:
        return np.asarray(array[start:stop])
    except MemoryError as error:
        raise too_much_memory(f"{array.store_path} of rows {start:,} to {stop - 1:,}") from error
    except Exception as error:
        raise StoreReadError(
            f"rows {start:,} to {stop - 1:,} of {array.store_path} cannot be read "
            f"({type(error).__name__}: {error}); "
            + read_remedy(error, "restore the store from a copy or write it again")
        ) from hide_passwords(error)


def open_whole_group(path: str | os.PathLike[str]) -> zarr.Group:
    """Open a Zarr group for reading and compare it with its manifest if this package wrote it.

    Raises
    ------
    StoreReadError
        When it cannot be opened, a file is absent, truncated or changed, or it has a layout of a
        later version.
    """
    group = open_group(path)
    check_manifest(path)
    layout = group.attrs.get(LAYOUT, LAYOUT_VERSION)
    if isinstance(layout, int) and layout > LAYOUT_VERSION:
        raise StoreReadError(
            f"{path} has version {layout} of the layout of rows, and this is bigtensor "
            f"{__version__}, which reads version {LAYOUT_VERSION}: upgrade bigtensor"
        )
    return group
