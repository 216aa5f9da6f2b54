"""The manifest of a store that this package wrote: which arrays it has, and how large they are.

Chunks carry checksums of their own. The manifest tells what checksums cannot: which arrays there
are, how many files and bytes each has, and what their metadata say. It lies in a group of its own
inside the store, because xarray copies attributes from one store to another, and no groups. The
consolidated metadata of the store repeat it, so that it cannot be lost without being missed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

import zarr
from zarr.storage import MemoryStore, StorePath

from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.stores.chunk_files import ChunkFiles
from bigtensor.data.stores.consolidation import consolidate
from bigtensor.errors import ParameterError, Setting, StoreReadError

MANIFEST = "bigtensor_manifest"
"""Name of the group that holds the manifest as its attributes."""

UNFINISHED = "bigtensor_unfinished"
"""Attribute of a store on an object store until all of it is written: see `whole_store`."""

_METADATA = "zarr.json"

_GROUP = ""
"""Name of the group itself, beside the names of its arrays."""


def seal(
    path: str | os.PathLike[str],
    *,
    lost: Literal["raise", "restore", "drop"] = "raise",
    without: Collection[str] = (),
) -> None:
    """Record the arrays of a Zarr v3 group in its manifest, and consolidate its metadata.

    Parameters
    ----------
    path : path
        A group whose arrays were all made by
        `bigtensor.data.stores.stored_arrays.create_array`. It must not change afterwards; after
        a deliberate change it is sealed again.
    lost : {"raise", "restore", "drop"}, default "raise"
        Treatment of attributes that the manifest lists and the store no longer has. ``"raise"``
        refuses to seal and names them, ``"restore"`` writes them again with
        their recorded values, ``"drop"`` accepts their removal.
    without : collection of str, default ()
        Arrays that the manifest does not list, because they are about to be replaced.

    Raises
    ------
    StoreReadError
        If attributes were lost, or their values are to be restored and were not recorded.
    """
    if lost not in ("raise", "restore", "drop"):
        raise ParameterError(
            f"{lost!r} is no treatment of lost attributes; use "
            + Setting("lost", "raise", "restore", "drop")
        )
    group = zarr.open_group(os.fspath(path), mode="r+", use_consolidated=False)
    files = StoreFiles(path)
    earlier = files.document(f"{MANIFEST}/{_METADATA}")
    if lost != "drop":
        _settle_lost_attributes(files, group, earlier or {}, restore=lost == "restore")
    arrays: dict[str, Any] = {}
    # folders list their entries in any order
    for name, array in sorted(group.arrays()):
        if name in without:
            continue
        chunk_files, nbytes = _count_files(files, name, array)
        document = files.document(f"{name}/{_METADATA}")
        arrays[name] = {
            "files": chunk_files.present,
            "bytes": nbytes,
            "metadata": _digest(document),
        }
    attributes = {name: _digest(value) for name, value in _own_attributes(group).items()}
    manifest = {"arrays": arrays, "attributes": attributes}
    values = {
        name: _own_attributes(node)
        for name, node in _nodes(group).items()
        if node.attrs and name not in without
    }
    record: dict[str, Any] = {"manifest": manifest, "digest": _digest(manifest), "values": values}
    if earlier is None:
        group.create_group(MANIFEST, attributes=record, overwrite=True)
    else:
        # in place, so that a run that is killed here leaves one manifest or the other
        group[MANIFEST].update_attributes(record)
    consolidate(group.store, zarr_format=group.metadata.zarr_format)


def _settle_lost_attributes(
    files: StoreFiles, group: zarr.Group, manifest: Mapping[str, Any], *, restore: bool
) -> None:
    """Restore or refuse attributes that the manifest of a store lists and the store has lost."""
    record = manifest.get("attributes", {})
    # stores that were sealed by earlier versions list the names of their own attributes only
    listed = {_GROUP: dict.fromkeys(record.get("manifest", {}).get("attributes", {}))}
    values = record.get("values", {})
    lost: list[str] = []
    for node_name, node in _nodes(group).items():
        recorded = values.get(node_name, {})
        names = (listed.get(node_name, {}) | recorded).keys() - node.attrs.keys()
        if restore:
            node.attrs.update({name: recorded[name] for name in names & recorded.keys()})
            names -= recorded.keys()
        lost += [f"{node_name}/{name}".removeprefix("/") for name in names]
    if lost:
        raise _attributes_absent(files, lost, restorable=not restore)


def _own_attributes(node: zarr.Group | zarr.Array[Any]) -> dict[str, Any]:
    """Return the attributes of a group or an array that stay when the store is finished."""
    return {name: value for name, value in node.attrs.items() if name != UNFINISHED}


def _nodes(group: zarr.Group) -> dict[str, zarr.Group | zarr.Array[Any]]:
    """Return the group itself and its arrays by their names."""
    return {_GROUP: group, **dict(group.arrays())}


def check_manifest(path: str | os.PathLike[str]) -> None:
    """Compare a store with its manifest; a store without one is believed.

    No chunk is read. Arrays and attributes that were added later are passed over.

    Parameters
    ----------
    path : path or URL
        Zarr store.

    Raises
    ------
    StoreReadError
        When a file is absent or has another size, or metadata were changed.
    """
    files = StoreFiles(path)
    with files.reading():
        _compare(files)


def files_of(group: zarr.Group, variable: str) -> int | None:
    """Return the number of files of an array that the manifest of an opened group lists.

    Parameters
    ----------
    group : zarr.Group
        Of `bigtensor.data.stores.zarr_groups.open_whole_group`, which has compared them.
    variable : str
        Name of the array.

    Returns
    -------
    int, optional
        None without a manifest.
    """
    manifest: Any = group.get(MANIFEST)
    arrays: Any = {} if manifest is None else manifest.attrs["manifest"]["arrays"]
    return arrays[variable]["files"] if variable in arrays else None


def check_finished(url: str, attributes: Mapping[str, Any]) -> None:
    """Refuse a store whose writer has not come to its end.

    Parameters
    ----------
    url : str
        For the message.
    attributes : mapping
        Of the root of the store.

    Raises
    ------
    StoreReadError
    """
    if UNFINISHED in attributes:
        raise StoreReadError(
            f"{url} is unfinished, because a run is still writing it or ended too early; wait for "
            "that run, or run its command again, which replaces the store"
        )


def _compare(files: StoreFiles) -> None:
    """Compare a store with its manifest if it has one."""
    root = files.document(_METADATA) or {}
    manifest = _manifest(files, root)
    if manifest is None:
        return
    attributes = root.get("attributes", {})
    if lost := manifest["attributes"].keys() - attributes.keys():
        raise _attributes_absent(files, lost)
    for name, digest in manifest["attributes"].items():
        if _digest(attributes[name]) != digest:
            raise _changed(files, f"its attribute {name!r} is not what was written")
    listed = _listed(root)
    files.list_once()
    documents = files.documents([f"{name}/{_METADATA}" for name in manifest["arrays"]])
    for (name, entry), document in zip(manifest["arrays"].items(), documents, strict=True):
        if document is None or name not in (listed or manifest["arrays"]):
            raise _damaged(files, f"the array {name!r} or its {name}/{_METADATA} is absent")
        if any(
            _digest(repeated) != entry["metadata"]
            for repeated in (document, *_consolidated(listed, name))
        ):
            raise _changed(files, f"the metadata of the array {name!r} are not what was written")
        _check_files(files, name, document, entry)


def _manifest(files: StoreFiles, root: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of a store, None where it was not sealed."""
    own = files.document(f"{MANIFEST}/{_METADATA}")
    documents = [] if own is None else [own]
    if repeated := _consolidated(_listed(root), MANIFEST):
        if own is None:
            raise _damaged(files, f"its manifest {MANIFEST}/{_METADATA} is absent")
        documents += repeated
    manifest = None
    for document in documents:
        attributes = document.get("attributes", {})
        manifest = attributes.get("manifest")
        if manifest is None or _digest(manifest) != attributes.get("digest"):
            raise _changed(files, f"its manifest {MANIFEST}/{_METADATA} is not what was written")
    return manifest


def _listed(root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the documents that the consolidated metadata of a group repeat."""
    consolidated = root.get("consolidated_metadata") or {}
    listed: Mapping[str, Any] = consolidated.get("metadata") or {}
    return listed


def _consolidated(listed: Mapping[str, Any], name: str) -> list[Any]:
    """Return the document of an array where consolidated metadata repeat it."""
    return [listed[name]] if name in listed else []


def _check_files(
    files: StoreFiles, name: str, document: dict[str, Any], entry: Mapping[str, int]
) -> None:
    """Compare the number and the size of the files of an array with the manifest."""
    # the document is that of the array, which is therefore not opened again
    array = zarr.Array.from_dict(StorePath(MemoryStore(), name), document)
    chunk_files, nbytes = _count_files(files, name, array)
    if chunk_files.present < entry["files"]:
        raise _damaged(files, chunk_files.describe_absent(name))
    if nbytes is not None and nbytes != entry["bytes"]:
        raise _changed(
            files,
            f"the files of {name!r} have {nbytes:,} bytes in place of {entry['bytes']:,}, so that "
            "one of them is truncated or was changed",
        )


def _count_files(
    files: StoreFiles, name: str, array: zarr.Array[Any]
) -> tuple[ChunkFiles, int | None]:
    """Return the chunks or shards of an array that are there, and their bytes.

    A web server may leave out the size of a file. The bytes are None then.
    """
    chunk_files = ChunkFiles(array)
    sizes = [info["size"] for chunk, info in files.infos(name) if chunk_files.count(chunk)]
    return chunk_files, None if None in sizes else sum(map(int, sizes))


def _damaged(files: StoreFiles, reason: str) -> StoreReadError:
    """Return the error for a store that differs from its manifest."""
    return StoreReadError(
        f"{files.url} is damaged: {reason}: restore it from a copy or write the store again"
    )


def _changed(files: StoreFiles, reason: str) -> StoreReadError:
    """Return the error for a file of a store that differs from the manifest."""
    return StoreReadError(
        f"{files.url} is damaged: {reason}. Restore the store from a copy or write it again. If it "
        "was changed on purpose, bigtensor.data.stores.manifest.seal(path) accepts the change"
    )


def _attributes_absent(
    files: StoreFiles, names: Iterable[str], *, restorable: bool = True
) -> StoreReadError:
    """Return the error for a store without attributes that its manifest lists."""
    remedy = (
        "bigtensor.data.stores.manifest.seal(path, "
        + Setting("lost", "restore")
        + ") writes them again"
        if restorable
        else "their values were not recorded: restore the store from a copy or write it again"
    )
    return StoreReadError(
        f"{files.url} is damaged: its attributes {sorted(names)} are absent. Adding a variable "
        "with xarray's to_zarr(mode='a') erases attributes; "
        + remedy
        + ". If they were removed on purpose, seal(path, "
        + Setting("lost", "drop")
        + ") accepts their removal"
    )


def _digest(value: object) -> str:
    """Return the digest of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
