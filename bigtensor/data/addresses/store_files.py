"""Files of a store by its address: metadata documents, and lists of all others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import zarr
from fsspec.implementations.local import LocalFileSystem
from zarr.storage import MemoryStore, StorePath

from bigtensor.data.addresses.object_stores import (
    explain_remote,
    file_system,
    lists_files,
    refused_status,
)
from bigtensor.data.addresses.store_address import with_home
from bigtensor.data.stores.chunk_files import ChunkFiles
from bigtensor.errors import StoreReadError, hide_passwords

_STAMPS = (
    "mtime",
    "ETag",
    "etag",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "updated",
    "created",
)
"""Names that file systems give to the time or the version of a file."""

_NO_LISTS = (403, 405)
"""Statuses of web servers that answer for files and list none."""

_DOCUMENTS = ("zarr.json", ".zarray")
"""Names of the metadata of an array, of which it has one."""

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
        self.url = with_home(os.fspath(url))
        self._filesystem, root = file_system(self.url, small_reads=True)
        self._root = root
        self._listing: dict[str, dict[str, Any]] | None = None

    def _place(self, name: str) -> str:
        """Return the path of a name below the root, or of the root.

        The root of an archive such as ZIP is empty, and with a slash before a name fsspec lists
        the root in place of the folder.
        """
        return "/".join(filter(None, (self._root, name)))

    def list_once(self) -> None:
        """List all files of an object store now, for all folders that are asked for later.

        A request lists a thousand objects, of one folder or of all.
        """
        if not isinstance(self._filesystem, LocalFileSystem) and lists_files(self._filesystem):
            self._listing = self._filesystem.find(self._root, detail=True)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn errors of Zarr and of file systems into an error that names the store."""
        try:
            yield
        except StoreReadError:
            raise
        except Exception as error:
            if reason := explain_remote(self.url, error):
                raise StoreReadError(reason) from hide_passwords(error)
            if self._is_array():
                raise StoreReadError(
                    f"{self.url} is a Zarr array and no group with names of dimensions; in Python "
                    f"give the array, dask.array.from_zarr({self.url!r}), whose rows are samples. "
                    "For the command line write it as a variable first: "
                    "xarray.Dataset({'X': (('sample', 'feature'), array)}).to_zarr('rows.zarr')"
                ) from hide_passwords(error)
            raise StoreReadError(
                f"{self.url} cannot be opened as a Zarr group ({type(error).__name__}: {error}); "
                "check the path. 'bigtensor import' makes a store of FCS, CSV, Parquet or AnnData "
                "files"
            ) from hide_passwords(error)

    def _is_array(self) -> bool:
        """Return True if the root of the store is an array."""
        root = self.document("zarr.json") or {}
        return root.get("node_type") == "array" or self.document(".zarray") is not None

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
            content = self._filesystem.cat_file(self._place(name))
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
        place = self._place(name)
        try:
            entries = self._filesystem.ls(place, detail=True)
        except Exception as error:
            # a web server refuses a list of names, or has no page of them
            absent = isinstance(error, FileNotFoundError) or refused_status(error) in _NO_LISTS
            if lists_files(self._filesystem) or not absent:
                raise
            raise StoreReadError(
                f"{self.url} cannot be opened, because its server lists no files and the store has "
                "no consolidated metadata, which list its arrays; ask whoever serves the store to "
                "run zarr.consolidate_metadata on it, or download it"
            ) from error
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

    def sizes(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield the name and the size of every file below a folder."""
        for name, info in self.infos(folder):
            yield name, stamped(name, info)[1]

    def _entries(self, folder: str) -> Iterator[tuple[str, Any]]:
        """Yield the files below a folder; on a disk without ever holding a list of them."""
        place = self._place(folder)
        if isinstance(self._filesystem, LocalFileSystem):
            yield from _walk(place, "")
            return
        if not lists_files(self._filesystem):
            yield from self._asked_for(folder)
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

    def _asked_for(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the files below a folder of a server that lists none, by asking for each.

        The names follow from the metadata of the arrays. The arrays below a group are those of the
        consolidated metadata of the root.
        """
        names = [
            f"{array}/{name}".removeprefix(f"{folder}/")
            for array, document in self._array_documents(folder)
            for name in (*_DOCUMENTS, *_chunk_names(array, document))
        ]
        with ThreadPoolExecutor(MOST_REQUESTS) as pool:
            infos = pool.map(lambda name: self._info(f"{folder}/{name}"), names)
            yield from ((name, info) for name, info in zip(names, infos, strict=True) if info)

    def _array_documents(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the names and the metadata of the array of this name, or of all arrays below."""
        root, older = self.documents(["zarr.json", ".zmetadata"])
        listed = {**_metadata_in(older), **_metadata_in((root or {}).get("consolidated_metadata"))}
        names = {name.removesuffix("/.zarray") for name in listed}
        below = sorted(name for name in names if name.startswith(f"{folder}/"))
        for array in (folder, *below):
            for document in self.documents([f"{array}/{name}" for name in _DOCUMENTS]):
                if document is not None and "shape" in document:
                    yield array, document

    def _info(self, name: str) -> dict[str, Any] | None:
        """Return the record of a file, None where there is none."""
        try:
            info: dict[str, Any] = self._filesystem.info(self._place(name))
        except FileNotFoundError:
            return None
        return info


def _metadata_in(consolidated: object) -> Mapping[str, Any]:
    """Return the documents that consolidated metadata hold by their names."""
    metadata = consolidated.get("metadata") if isinstance(consolidated, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


def _chunk_names(name: str, document: dict[str, Any]) -> Iterator[str]:
    """Return the names of the chunks or shards of an array."""
    return ChunkFiles(zarr.Array.from_dict(StorePath(MemoryStore(), name), document)).names()


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
