"""The address of a store: a path or a URL, checked before anything is opened."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from zipfile import is_zipfile

from fsspec import AbstractFileSystem, available_protocols
from fsspec.implementations.local import LocalFileSystem

from bigtensor.data.addresses.object_stores import (
    check_bucket,
    file_system,
    is_network_failure,
    lists_files,
    refuse_cache,
    refused_status,
    store_errors,
)
from bigtensor.data.stores.leftovers import STORE_ROOTS
from bigtensor.errors import ParameterError, StoreReadError

Address = Path | str
"""A path on a local or mounted disk, or a URL of another place."""


def as_address(address: str | os.PathLike[str]) -> Address:
    """Return the path that an address stands for, or the URL where it lies elsewhere.

    Parameters
    ----------
    address : path or URL
        ``file://`` and ``local://`` stand for paths, and ``~`` for the user's folder.

    Examples
    --------
    >>> as_address("s3://bucket/cells.zarr")
    's3://bucket/cells.zarr'
    >>> str(as_address("file:///data/cells.zarr"))
    '/data/cells.zarr'
    """
    text = os.fspath(address)
    scheme, separator, rest = text.partition("://")
    if separator and scheme not in ("file", "local"):
        return text.rstrip("/")
    return Path(with_home(rest if separator else text))


def with_home(path: str) -> str:
    """Return a path or URL whose leading ``~`` is the folder of the user, if there is this user."""
    # of pathlib, the name of no user is an error
    return os.path.expanduser(path)  # noqa: PTH111


def local_path(address: str | os.PathLike[str]) -> Path:
    """Return the path of a file on a local or mounted disk.

    Parameters
    ----------
    address : path or URL
        See `as_address`.

    Raises
    ------
    ParameterError
        If the address is a URL of another place.
    """
    place = as_address(address)
    if isinstance(place, str):
        raise ParameterError(
            f"{place} is a URL; copy the file to a local or mounted disk, and give its path"
        )
    return place


def resolved(address: str | os.PathLike[str]) -> Address:
    """Return the address without links, for comparison and for tasks in other folders."""
    place = as_address(address)
    return place if isinstance(place, str) else place.resolve()


def name_of(address: Address) -> str:
    """Return the last name of an address."""
    return address.name if isinstance(address, Path) else address.rpartition("/")[2]


def beside(address: Address, name: str) -> Address:
    """Return the address of another name in the same folder."""
    if isinstance(address, Path):
        return address.with_name(name)
    return f"{address.rpartition('/')[0]}/{name}"


def inside(address: Address, name: str) -> Address:
    """Return the address of a name in a folder."""
    return address / name if isinstance(address, Path) else f"{address}/{name}"


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
        When the protocol is unknown, no server answers, nothing is there, it may not be read, or it
        is a file.
    """
    if "://" in path and _is_text(path):
        raise _no_store(path)
    filesystem, root = file_system(path, probe=True)
    if isinstance(filesystem, LocalFileSystem):
        _check_folder(path, Path(root))
        return
    refuse_cache(path, filesystem)
    with store_errors(path):
        if lists_files(filesystem):
            exists = filesystem.exists(root)
        else:
            # a web server need not answer for a folder
            exists = any(filesystem.exists(f"{root}/{name}") for name in STORE_ROOTS)
        if not exists:
            check_bucket(path, filesystem, root)
            _check_answer(filesystem, root)
            raise _no_store(path)


def _no_store(path: str) -> StoreReadError:
    """Return the error of an address where nothing is."""
    protocol, _, rest = path.partition(":/")
    remedy = "check the path"
    if _is_text(path):
        remedy += ", or count the words of texts first, such as by CountVectorizer of scikit-learn"
        path = repr(path[:80])
    elif "://" not in path and rest and protocol in available_protocols():
        remedy = f"give the URL as text, {protocol}://{rest}, because a Path drops a slash of it"
    elif "://" not in path and not (path.startswith("~") or Path(path).is_absolute()):
        # the current folder may have been removed
        with suppress(OSError):
            path = f"{path} in the folder {Path.cwd()}"
    return StoreReadError(f"there is no store at {path}; {remedy}")


def _is_text(path: str) -> bool:
    """Return True for words without a folder or protocol in front and a suffix behind them."""
    first, *others = path.split()
    is_file = Path(path).suffix.removeprefix(".").isidentifier()
    return bool(others) and not {"/", os.sep} & {*first} and not is_file


def _check_answer(filesystem: AbstractFileSystem, root: str) -> None:
    """Raise a failure or a refusal that `exists` takes for an absent store, as for HTTP."""
    # many web servers refuse to list a folder, whose files they serve
    place = root if lists_files(filesystem) else f"{root}/{STORE_ROOTS[0]}"
    failure: BaseException | None = None
    try:
        filesystem.info(place)
    except Exception as error:
        failure = error
    while failure and not (is_network_failure(failure) or refused_status(failure)):
        failure = failure.__cause__
    # behind the handler, because an error would otherwise be the context of its own cause
    if failure is not None:
        raise failure


def _check_folder(path: str, folder: Path) -> None:
    """Refuse a place on disk that is no folder, or may not be read."""
    try:
        with os.scandir(folder):
            return
    except NotADirectoryError as error:
        if is_zipfile(folder):
            raise StoreReadError(
                f"{path} is a ZIP archive; give 'zip://::{path}' if it holds the files of a store, "
                f"or 'zip://NAME.zarr::{path}' if it holds a folder NAME.zarr"
            ) from error
        if folder.is_file():
            raise StoreReadError(
                f"{path} is a file; a Zarr store is a folder. 'bigtensor import' makes one from "
                "FCS, CSV, Parquet or AnnData files, and with --counts from counts of words. To "
                "read NetCDF files, give the Dataset of xarray.open_dataset"
            ) from error
        raise _no_store(path) from error
    except PermissionError as error:
        raise StoreReadError(
            f"{path} may not be read (permission denied); ask its owner for permission"
        ) from error
    except (OSError, ValueError) as error:
        lost = getattr(error, "errno", None) in (errno.ENOENT, errno.ELOOP)
        if lost and folder.is_symlink():
            raise StoreReadError(
                f"{path} is a link to {folder.readlink()}, which does not exist; correct the link"
            ) from error
        raise _no_store(path) from error
