"""The address of a store: a path or a URL, checked before anything is opened."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from bigtensor.errors import MissingDependencyError, StoreReadError

_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp requests",
    "https": "aiohttp requests",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
}
"""Package to install for a protocol."""


def check_store_address(path: str) -> None:
    """Refuse an address that cannot lead to a Zarr store.

    Parameters
    ----------
    path : str
        A path, or a URL such as ``s3://bucket/cells.zarr``.

    Raises
    ------
    MissingDependencyError
        When the protocol of a URL needs a package that is not installed.
    StoreReadError
        When the protocol is unknown, nothing is there, it may not be read, or it is a file.
    """
    filesystem, root = file_system(path)
    if isinstance(filesystem, LocalFileSystem):
        _check_folder(path, Path(root))
        return
    try:
        exists = filesystem.exists(root)
    except Exception as error:
        raise StoreReadError(
            f"{path} cannot be reached ({type(error).__name__}: {error}); check the address, the "
            "connection and the permissions"
        ) from error
    if not exists:
        raise StoreReadError(f"there is no store at {path}; check the path")


def file_system(path: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path inside it.

    Parameters
    ----------
    path : str
        A path or a URL.

    Raises
    ------
    MissingDependencyError
        When the protocol of a URL needs a package that is not installed.
    StoreReadError
        When the protocol is unknown, or the path is empty.
    """
    if not path.strip():
        raise StoreReadError(f"{path!r} is no address of a store; give a path or a URL")
    protocol = fsspec.core.split_protocol(path)[0]
    try:
        filesystem, root = fsspec.core.url_to_fs(path)
    except ImportError as error:
        package = _PACKAGES.get(str(protocol))
        remedy = f"pip install {package}" if package else "install the package that it names"
        raise MissingDependencyError(
            f"{path} needs a package that could not be imported ({error}): {remedy}"
        ) from error
    except Exception as error:
        raise StoreReadError(
            f"{path} cannot be opened ({error}); expected a path, or a URL that begins with s3://, "
            "gs://, https:// or another protocol of fsspec"
        ) from error
    return filesystem, root


def _check_folder(path: str, folder: Path) -> None:
    """Refuse a place on disk that is no folder, or may not be read."""
    try:
        with os.scandir(folder):
            return
    except NotADirectoryError as error:
        if folder.is_file():
            raise StoreReadError(
                f"{path} is a file; a Zarr store is a folder. 'bigtensor import' makes one from "
                "FCS, CSV, Parquet or AnnData files"
            ) from error
        raise StoreReadError(f"there is no store at {path}; check the path") from error
    except PermissionError as error:
        raise StoreReadError(
            f"{path} may not be read (permission denied); ask its owner for permission"
        ) from error
    except (OSError, ValueError) as error:
        lost = getattr(error, "errno", None) in (errno.ENOENT, errno.ELOOP)
        if lost and folder.is_symlink():
            raise StoreReadError(
                f"{path} is a link to {folder.readlink()}, which does not exist; mend the link"
            ) from error
        raise StoreReadError(f"there is no store at {path}; check the path") from error
