"""Files of a store by its address: metadata documents, and lists of all others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from fsspec.implementations.local import LocalFileSystem

from bigtensor.data.addresses.object_stores import file_system
from bigtensor.errors import StoreReadError, hide_passwords

_STAMPS = ("mtime", "ETag", "etag", "LastModified", "last_modified", "updated", "created")
"""Names that file systems give to the time or the version of a file."""


MOST_REQUESTS = 16
"""Documents that are asked for at the same time."""


class StoreFiles:
    """Files of a store on a disk or behind a URL, read without Zarr.

    Parameters
    ----------
    url : str or path-like
        The root of the store.
    """

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self.url = os.fspath(url)
        self._filesystem, root = file_system(self.url, small_reads=True)
        self._root = root.rstrip("/")
        self._listing: dict[str, dict[str, Any]] | None = None

    def list_once(self) -> None:
        """List all files of an object store now, for all folders that are asked for later.

        A request lists a thousand objects, of one folder or of all.
        """
        if not isinstance(self._filesystem, LocalFileSystem):
            self._listing = self._filesystem.find(self._root, detail=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors of Zarr and of file systems into an error that names the store."""
        try:
            yield
        except StoreReadError:
            raise
        except Exception as error:
            raise StoreReadError(
                f"{self.url} cannot be opened as a Zarr group ({type(error).__name__}: {error}); "
                "check the path. 'bigtensor import' makes a store of FCS, CSV, Parquet or AnnData "
                "files"
            ) from hide_passwords(error)

    def document(self, name: str) -> dict[str, Any] | None:
        """Read a metadata document.

        Parameters
        ----------
        name : str
            Its name below the root.

        Returns
        -------
        dict or None
            None where there is no such file.

        Raises
        ------
        StoreReadError
            When the file holds no JSON object.
        """
        try:
            content = self._filesystem.cat_file(f"{self._root}/{name}")
        # fsspec 2025.7 raises KeyError for a file that a ZIP archive does not hold
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, KeyError):
            return None
        try:
            document = json.loads(content)
        # deep nesting exceeds the stack of the parser
        except (ValueError, RecursionError) as error:
            raise self._damaged(name, f"{type(error).__name__}: {error}") from error
        if not isinstance(document, dict):
            raise self._damaged(name, f"it holds a {type(document).__name__}, not an object")
        return document

    def documents(self, names: Sequence[str]) -> list[dict[str, Any] | None]:
        """Read several documents; see `document`. An object store answers them side by side."""
        if isinstance(self._filesystem, LocalFileSystem):
            return [self.document(name) for name in names]
        with ThreadPoolExecutor(MOST_REQUESTS) as pool:
            return list(pool.map(self.document, names))

    def _damaged(self, name: str, reason: str) -> StoreReadError:
        """Describe a document that cannot be read."""
        return StoreReadError(
            f"{self.url} cannot be read: {name} is not a document of Zarr metadata ({reason}); "
            "restore the file from a copy or write the store again"
        )

    def folders(self, name: str) -> list[str]:
        """Return the folders in a folder, as names below the root."""
        place = f"{self._root}/{name}".rstrip("/")
        entries = self._filesystem.ls(place, detail=True)
        names = [entry["name"].rstrip("/") for entry in entries if entry["type"] == "directory"]
        folders = [f"{name}/{path.rsplit('/', 1)[-1]}".lstrip("/") for path in names]
        return sorted(folder for folder in folders if folder != name)

    def names(self, folder: str) -> Iterator[str]:
        """Yield the names of all files below a folder, from there, in any order."""
        return (name for name, _ in self._entries(folder))

    def infos(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the names of all files below a folder with their records in the file system."""
        for name, entry in self._entries(folder):
            yield name, self._filesystem.info(entry) if isinstance(entry, os.DirEntry) else entry

    def stamps(self, folder: str) -> Iterator[tuple[str, int, str]]:
        """Yield the name, the size and the time or version of every file below a folder."""
        for name, info in self.infos(folder):
            yield stamped(f"{folder}/{name}", info)

    def _entries(self, folder: str) -> Iterator[tuple[str, Any]]:
        """Yield the files below a folder; on a disk without ever holding a list of them."""
        place = f"{self._root}/{folder}"
        if isinstance(self._filesystem, LocalFileSystem):
            yield from _walk(place, "")
            return
        # object stores list thousands of names a request, but fsspec gives them all at once
        listing = self._listing
        if listing is None:
            listing = self._filesystem.find(place, detail=True)
        # at the root of an archive such as ZIP, names begin without a slash
        below = f"{place}/".lstrip("/")
        for name, info in listing.items():
            if name.lstrip("/").startswith(below):
                yield name.lstrip("/").removeprefix(below), info


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the files below a folder on a disk with their names from there."""
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            if entry.is_dir():
                yield from _walk(entry.path, f"{prefix}{entry.name}/")
            else:
                yield f"{prefix}{entry.name}", entry


def stamped(name: str, info: Mapping[str, Any]) -> tuple[str, int, str]:
    """Return the name, the size and the time or version of a file.

    Parameters
    ----------
    name : str
        Name of the file, which is returned as it is.
    info : mapping
        From a file system of fsspec.
    """
    stamps = [info[key] for key in _STAMPS if info.get(key)]
    return name, int(info["size"] or 0), repr(stamps[:1])
