"""Files that a worker finds under the path of the data, compared with those of the driver."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from bigtensor.data.addresses.store_address import as_address
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.errors import StoreReadError

_COMPARED_PIECES, _PIECE_NBYTES = 16, 4096
"""Pieces of the largest file that are compared, and the bytes of a piece.

Files without compression have the same size for other values. A ``.h5ad`` file holds metadata and
other matrices besides the rows, so that one piece is not enough.
"""


def contents_digest(address: str, folders: Iterable[str]) -> str | None:
    """Return a digest of files on a disk, which a copy on another machine shares.

    It holds names, sizes and pieces of the largest file, and no times.

    Parameters
    ----------
    address : str
        Path or URL of a store, or of a file.
    folders : iterable of str
        Folders in the store that hold the data. A file has none.

    Returns
    -------
    str, optional
        None for a URL, which names one place for all machines, and for files that cannot be read.
        The error of the first rows names these.
    """
    place = as_address(address)
    if isinstance(place, str):
        return None
    try:
        return _digest_of_files(StoreFiles(address), place, folders)
    except (FileNotFoundError, PermissionError):
        return None


def _digest_of_files(files: StoreFiles, place: Path, folders: Iterable[str]) -> str:
    """Return the digest of the files below a path."""
    sizes = {f"{folder}/{name}": size for folder in folders for name, size in files.sizes(folder)}
    if place.is_file():
        sizes[""] = place.stat().st_size
    digest = hashlib.sha256(repr(sorted(sizes.items())).encode())
    if sizes:
        # of files of one size, the first
        largest = max(sorted(sizes), key=sizes.__getitem__)
        for piece in _pieces(place / largest, sizes[largest]):
            digest.update(piece)
    return digest.hexdigest()


def _pieces(path: Path, nbytes: int) -> Iterator[bytes]:
    """Read pieces spread over a file."""
    last = max(nbytes - _PIECE_NBYTES, 0)
    with path.open("rb") as file:
        for index in range(_COMPARED_PIECES):
            file.seek(last * index // (_COMPARED_PIECES - 1))
            yield file.read(_PIECE_NBYTES)


@lru_cache(maxsize=256)
def require_same_contents(address: str, folders: tuple[str, ...], digest: str) -> None:
    """Require that a worker finds the data of the driver. The files are listed once a process.

    Parameters
    ----------
    address, folders
        As for `contents_digest`.
    digest : str
        From the driver.

    Raises
    ------
    StoreReadError
        If the data are absent or differ.
    """
    machine = socket.gethostname()
    if not os.access(as_address(address), os.F_OK):
        raise StoreReadError(
            f"{address} does not exist for a worker on {machine}; put the data on a disk that all "
            "workers mount under this path, or in an object store"
        )
    if contents_digest(address, folders) not in (None, digest):
        raise StoreReadError(
            f"{address} has other files for a worker on {machine} than for the driver, so the "
            "worker would read other data; put the data on a disk that all workers mount under "
            "this path, or copy the whole store to the machine of the worker again"
        )
