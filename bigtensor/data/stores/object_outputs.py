"""Outputs on object stores, which cannot rename: whole or marked as unfinished.

The document of the root says first that the store is unfinished, and loses this mark last, in one
write, when the manifest is there. Readers refuse a store with the mark. A single file is written at
once, because it appears under its name when all of it has arrived.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bigtensor.data.addresses.object_stores import (
    check_bucket,
    file_system,
    lists_files,
    refuse_cache,
    store_errors,
)
from bigtensor.data.addresses.store_files import stamped
from bigtensor.data.stores.leftovers import living_writer, unfinished_name
from bigtensor.data.stores.manifest import UNFINISHED
from bigtensor.errors import OutputError, Setting

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_ROOT = "zarr.json"
_ROOTS = (_ROOT, ".zgroup", ".zarray")
"""Documents of which every Zarr store has one."""

_PATTERN = frozenset("*?[")
"""Letters that make a pattern of a name."""


def check_object_target(url: str, *, overwrite: bool) -> None:
    """Refuse a store that cannot be made, by making and removing an object beside it.

    Parameters
    ----------
    url : str
        URL of the store to make.
    overwrite : bool
        If True, an existing Zarr store may be replaced.

    Raises
    ------
    OutputError
    """
    _check_place(url)
    _refuse_existing(url, overwrite=overwrite)


def check_object_file(url: str, *, overwrite: bool) -> None:
    """Refuse a file that cannot be made, in the same way."""
    _check_place(url)
    filesystem, path = file_system(url)
    with store_errors(url, OutputError):
        if not overwrite and filesystem.exists(path):
            raise exists_already(url)


@contextmanager
def whole_object_store(url: str, *, overwrite: bool) -> Iterator[str]:
    """Mark a store as unfinished until all of it is written, and remove it after an error.

    Parameters
    ----------
    url : str
        URL of the store to make.
    overwrite : bool
        If True, an existing Zarr store is removed first. An unfinished store is removed in any
        case, because the run that began it has ended or is told at its end.

    Yields
    ------
    str
        The address to write to.
    """
    _refuse_existing(url, overwrite=overwrite)
    mark = unfinished_name("store")
    with store_errors(url, OutputError):
        filesystem, root = _output_system(url)
        _put_document(filesystem, root, _marked(mark))
        _remove(filesystem, root, but=f"{root}/{_ROOT}")
        _refuse_remains(filesystem, url, root)
    try:
        yield url
        with store_errors(url, OutputError):
            _take_mark_away(filesystem, url, root, mark)
    except BaseException:
        with suppress(Exception):
            document = _document(filesystem, root)
            # a document without a mark is of a store that another run has finished meanwhile
            if document is None or _mark(document) == mark:
                discard_objects(url)
        raise


def discard_objects(url: str) -> None:
    """Remove a store, the document of its root after everything else.

    A store whose removal ends halfway still says that it is unfinished. What workers wrote
    meanwhile is removed at the end.
    """
    filesystem, root = file_system(url)
    document = f"{root}/{_ROOT}"
    _remove(filesystem, root, but=document)
    with suppress(FileNotFoundError):
        filesystem.rm_file(document)
    _remove(filesystem, root)


@contextmanager
def whole_object(url: str) -> Iterator[Path]:
    """Give a file on this machine to write, and put it into the object store at the end."""
    with TemporaryDirectory(prefix="bigtensor-") as folder:
        path = Path(folder, url.rpartition("/")[2])
        yield path
        with store_errors(url, OutputError):
            filesystem, target = _output_system(url)
            filesystem.put_file(str(path), target)


def finished_version(url: str) -> str | None:
    """Return the version of a file or of a finished store; None without any, and out of reach."""
    with suppress(Exception):
        filesystem, root = file_system(url, probe=True)
        document = _document(filesystem, root)
        if document is not None:
            return None if _mark(document) else repr(document)
        return repr(stamped(url, filesystem.info(root)))
    return None


def is_unfinished(url: str) -> bool:
    """Return True if a store has the mark of a run that has not finished it."""
    with store_errors(url, OutputError):
        return _mark(_document(*file_system(url))) is not None


def remove_from_listing(url: str, name: str) -> None:
    """Remove a group and what is in it from the consolidated metadata of a store.

    Readers of consolidated metadata look at no other document. They would go on to see arrays of a
    group that is being replaced, and read fill values where their chunks are gone.

    Parameters
    ----------
    url : str
        The store. Without consolidated metadata nothing is written.
    name : str
        The group.
    """
    with store_errors(url, OutputError):
        filesystem, root = file_system(url)
        document = _document(filesystem, root) or {}
        listing = (document.get("consolidated_metadata") or {}).get("metadata") or {}
        keys = [key for key in listing if key == name or key.startswith(f"{name}/")]
        for key in keys:
            del listing[key]
        if keys:
            _put_document(filesystem, root, document)


def has_root(url: str) -> bool:
    """Return True if a store still has the document of its root."""
    filesystem, root = file_system(url)
    return bool(filesystem.exists(f"{root}/{_ROOT}"))


def _check_place(url: str) -> None:
    """Refuse a place that cannot be reached or written."""
    with store_errors(url, OutputError):
        filesystem, root = _output_system(url, probe=True)
        check_bucket(url, filesystem, root)
        probe = f"{root}.{uuid.uuid4().hex[:8]}.unfinished"
        filesystem.pipe_file(probe, b"")
        # some may write and not remove
        with suppress(PermissionError):
            filesystem.rm_file(probe)


def _output_system(url: str, *, probe: bool = False) -> tuple[AbstractFileSystem, str]:
    """Return the file system of an output, and the path inside it."""
    filesystem, root = file_system(url, probe=probe)
    refuse_cache(url, filesystem)
    if not lists_files(filesystem):
        raise OutputError(
            f"{url} is on a web server, where nothing can be written; give a path, or the URL "
            "of an object store such as s3://bucket/name"
        )
    return filesystem, root


def _refuse_existing(url: str, *, overwrite: bool) -> None:
    """Refuse to replace a store that is whole, unless asked to, or anything else."""
    with store_errors(url, OutputError):
        filesystem, root = file_system(url)
        document = _document(filesystem, root)
        if mark := _mark(document):
            if process := living_writer(mark):
                raise OutputError(
                    f"{url} is being written by process {process} of this machine; wait until it "
                    "ends, or choose another name"
                )
            return
        if document is None and not filesystem.exists(root):
            return
        if not any(filesystem.exists(f"{root}/{name}") for name in _ROOTS):
            raise no_zarr_store(url)
        if not overwrite:
            raise exists_already(url)


def exists_already(url: Path | str) -> OutputError:
    """Describe an output that may not be replaced."""
    return OutputError(
        f"{url} exists already; choose another name or give " + Setting("overwrite", True)
    )


def no_zarr_store(url: Path | str) -> OutputError:
    """Describe a file or folder that is never replaced, because it is no store."""
    return OutputError(
        f"{url} exists and is not a Zarr store, so it will not be overwritten; choose another name"
    )


def _take_mark_away(filesystem: AbstractFileSystem, url: str, root: str, mark: str) -> None:
    """Write the document of the root without the mark of this run."""
    document = _document(filesystem, root)
    if document is None or _mark(document) != mark:
        raise begun_again(url)
    del document["attributes"][UNFINISHED]
    _put_document(filesystem, root, document)


def begun_again(url: str) -> OutputError:
    """Describe an output that a second run has begun before the first one has finished it."""
    return OutputError(
        f"{url} was begun again by another run while this one was writing it; give each run "
        "its own output"
    )


def _marked(mark: str) -> dict[str, Any]:
    """Return the document of a group that has nothing but the mark."""
    return {"zarr_format": 3, "node_type": "group", "attributes": {UNFINISHED: mark}}


def _mark(document: dict[str, Any] | None) -> str | None:
    """Return the mark of a document."""
    attributes = {} if document is None else document.get("attributes") or {}
    mark = attributes.get(UNFINISHED)
    return mark if isinstance(mark, str) else None


def _document(filesystem: AbstractFileSystem, root: str) -> dict[str, Any] | None:
    """Read the document of a root, None where there is none."""
    try:
        content = filesystem.cat_file(f"{root}/{_ROOT}")
    except FileNotFoundError:
        return None
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _put_document(filesystem: AbstractFileSystem, root: str, document: dict[str, Any]) -> None:
    """Write the document of a root at once."""
    filesystem.pipe_file(f"{root}/{_ROOT}", json.dumps(document, indent=2).encode())


def _remove(filesystem: AbstractFileSystem, root: str, *, but: str = "") -> None:
    """Remove all objects below a root except for one."""
    paths = _names(filesystem, root, but)
    # fsspec takes a name with these letters for a pattern
    patterns = [path for path in paths if _PATTERN & set(path)]
    plain = [path for path in paths if not _PATTERN & set(path)]
    with suppress(FileNotFoundError):
        if plain:
            filesystem.rm(plain)
    for path in patterns:
        with suppress(FileNotFoundError):
            filesystem.rm_file(path)


def _refuse_remains(filesystem: AbstractFileSystem, url: str, root: str) -> None:
    """Refuse a place that still holds objects of an earlier store after their removal.

    A client of S3 reports no error for objects that it may not remove. The new store would take
    them for its own.
    """
    remaining = _names(filesystem, root, f"{root}/{_ROOT}")
    if remaining:
        raise OutputError(
            f"{len(remaining):,} objects of an earlier store at {url} could not be removed, such "
            f"as {remaining[0]}; ask for the right to remove objects, or give another name"
        )


def _names(filesystem: AbstractFileSystem, root: str, but: str) -> list[str]:
    """List all objects below a root except for one."""
    return [path for path in filesystem.find(root) if path.lstrip("/") != but.lstrip("/")]
