"""Comparison of a worker's files under the path of the data with the driver's files."""

from __future__ import annotations

import hashlib
import heapq
import os
import socket
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from bigtensor.data.addresses.store_address import as_address
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.errors import StoreReadError

_METADATA = ("zarr.json", ".zarray", ".zattrs", ".zgroup")
"""Names of the metadata of arrays and groups, which are compared whole."""

_COMPARED_FILES = 16
"""Files whose contents are compared, besides the largest one and the metadata.

Files without compression have the same size for other values.
"""

_COMPARED_PIECES, _PIECE_NBYTES = 16, 4096
"""Pieces of such a file that are compared, and the bytes of a piece.

A ``.h5ad`` file holds metadata and other matrices besides the rows, so that one piece is not
enough.
"""


class OtherFilesError(StoreReadError):
    """Files of a worker that differ from what the driver found, which may have changed since."""


def contents_digest(address: str, folders: Iterable[str]) -> str | None:
    """Return a digest of files on a disk, which a copy on another machine shares.

    It holds the names and sizes of all files, the metadata, and pieces of a sample of the files. It
    holds no times, and no files whose names begin with a dot, which file managers and disks add.

    Parameters
    ----------
    address : str
        Path or URL of a store, or of a file.
    folders : iterable of str
        Folders in the store that hold the data. A file has none.

    Returns
    -------
    str, optional
        None for a URL, which names one place for all machines, unless it is of an archive on a
        disk. None for files that cannot be read, too. Reading the first rows raises the error that
        names them.
    """
    place = _place_on_disk(address)
    if place is None:
        return None
    try:
        return _digest_of_files(place, folders)
    except (FileNotFoundError, PermissionError):
        return None


def _place_on_disk(address: str) -> Path | None:
    """Return the path of data, or of the archive that holds them; None for another place."""
    place = as_address(address.rpartition("::")[2] if "://" in address else address)
    return None if isinstance(place, str) else place


def _digest_of_files(place: Path, folders: Iterable[str]) -> str:
    """Return the digest of a file, or of the files in folders below a path.

    Names of all files may exceed the memory, so that only a sum of their digests is kept. The files
    of the smallest digests are the sample.
    """
    total, largest = 0, (0, "")
    sample: list[tuple[int, str]] = []
    for name, size in _files(place, folders):
        digest = hashlib.sha256(repr((name, size)).encode())
        number = int.from_bytes(digest.digest())
        if name.rpartition("/")[2] in _METADATA:
            digest.update((place / name).read_bytes())
        total += int.from_bytes(digest.digest())
        largest = max(largest, (size, name))
        # the first of a heap is the smallest number, which is the largest digest
        heapq.heappush(sample, (-number, name))
        if len(sample) > _COMPARED_FILES:
            heapq.heappop(sample)
    digest = hashlib.sha256(str(total).encode())
    # an empty folder has no largest file
    compared = {largest[1], *(name for _, name in sample)} if sample else set()
    for name in sorted(compared):
        for piece in _pieces(place / name):
            digest.update(piece)
    return digest.hexdigest()


def _files(place: Path, folders: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the names and sizes of files below a path, or the size of the file at the path."""
    if place.is_file():
        yield "", place.stat().st_size
        return
    files = StoreFiles(place)
    for folder in folders:
        for name, size in files.sizes(folder):
            parts = name.split("/")
            if parts[-1] in _METADATA or not any(part.startswith(".") for part in parts):
                yield f"{folder}/{name}", size


def _pieces(path: Path) -> Iterator[bytes]:
    """Read pieces spread over a file."""
    with path.open("rb") as file:
        last = max(file.seek(0, os.SEEK_END) - _PIECE_NBYTES, 0)
        for index in range(_COMPARED_PIECES):
            file.seek(last * index // (_COMPARED_PIECES - 1))
            yield file.read(_PIECE_NBYTES)


@lru_cache(maxsize=256)
def require_same_contents(address: str, folders: tuple[str, ...], digest: str) -> None:
    """Require that a worker finds the data of the driver.

    Equal files are listed once a process. The cache keeps no errors, so that a worker with other
    files lists them in every task.

    Parameters
    ----------
    address, folders
        As for `contents_digest`.
    digest : str
        From the driver.

    Raises
    ------
    StoreReadError
        If the data are absent.
    OtherFilesError
        If the data differ.
    """
    machine, place = socket.gethostname(), _place_on_disk(address)
    if place is not None and not os.access(place, os.F_OK):
        raise StoreReadError(
            f"{address} does not exist for a worker on {machine}; put the data on a disk that all "
            "workers mount under this path, or in an object store"
        )
    if contents_digest(address, folders) not in (None, digest):
        raise OtherFilesError(
            f"{address} has other files for a worker on {machine} than for the driver, or "
            "none, so the worker would read other data; put the data on a disk that all workers "
            "mount under this path, or copy the whole store to the machine of the worker again"
        )
