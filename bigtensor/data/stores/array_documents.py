"""Metadata documents of arrays that others wrote, judged before anything is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeGuard

from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.errors import StoreReadError

OBJECT_CODECS = {"vlen-utf8", "vlen-bytes", "vlen-array", "json2", "msgpack2"}
"""Codecs of object arrays in Zarr v2 that parse strings, bytes or numbers, and never unpickle."""


def check_documents(files: StoreFiles, *, consolidated: bool | None) -> Literal[3] | None:
    """Refuse a store with an array that could run code, or whose sizes make no sense.

    Parameters
    ----------
    files : StoreFiles
        Files of the store.
    consolidated : bool or None
        True if Zarr takes the arrays from consolidated metadata. None: if such metadata exist.

    Returns
    -------
    {3, None}
        The format of the store if its root says so. Zarr looks for others in further requests.

    Raises
    ------
    StoreReadError
        With the name of the array.
    """
    root = files.document("zarr.json")
    if root is not None and not _has_attributes(root):
        raise StoreReadError(
            f"{files.url} was not opened: its attributes are {root['attributes']!r}, and no names "
            "with values; restore its metadata from a copy"
        )
    for name, document in _documents(files, root, consolidated):
        check_document(files.url, name, document)
    return None if root is None else 3


def check_document(url: str, name: str, document: Mapping[str, Any]) -> None:
    """Refuse an array that could run code, or whose sizes make no sense.

    Parameters
    ----------
    url : str
        The store, for the message.
    name : str
        The array.
    document : mapping
        Its metadata.

    Raises
    ------
    StoreReadError
    """
    fault = _fault(document)
    if fault:
        raise StoreReadError(f"{url} was not opened: the array {name!r} {fault}")


def _documents(
    files: StoreFiles, root: Mapping[str, Any] | None, consolidated: bool | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the documents of all arrays that Zarr could open.

    Zarr takes a child from consolidated metadata alone where the root has them. They are judged in
    any case, and the folders only where Zarr looks there.
    """
    roots = [document for document in (root, files.document(".zmetadata")) if document is not None]
    for document in roots:
        yield from _nested("", document)
    # Zarr prefers version 3 where both are there
    if consolidated is False or not roots or not _is_consolidated(roots[0]):
        yield from _walk(files)


def _is_consolidated(root: Mapping[str, Any]) -> bool:
    """Return True if the document of a group holds consolidated metadata."""
    consolidated = root.get("consolidated_metadata") if "node_type" in root else root
    return isinstance(consolidated, Mapping) and bool(consolidated.get("metadata"))


def _nested(name: str, document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the documents of arrays in a document."""
    pending: list[tuple[str, Any]] = [(name, document)]
    while pending:
        name, node = pending.pop()
        if not isinstance(node, Mapping):
            continue
        if node.get("node_type") == "array" or ("dtype" in node and "chunks" in node):
            yield name.removesuffix("/.zarray"), node
            continue
        for key, value in node.items():
            inside = key in ("metadata", "consolidated_metadata")
            if key != "attributes" and not key.endswith(".zattrs"):
                pending.append((name if inside else f"{name}/{key}".lstrip("/"), value))


def _walk(files: StoreFiles) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the documents of the arrays in all folders, except folders of chunks."""
    pending = [""]
    while pending:
        folder = pending.pop()
        prefix = f"{folder}/" if folder else ""
        documents = [files.document(f"{prefix}{name}") for name in ("zarr.json", ".zarray")]
        arrays = [
            array for document in documents if document for array in _nested(folder, document)
        ]
        yield from arrays
        if not any(name == folder for name, _ in arrays):
            pending += files.folders(folder)


def _fault(document: Mapping[str, Any]) -> str:
    """Return the fault of an array's document in words, or an empty text."""
    if "dtype" in document:
        codecs: Any = [document.get("filters"), document.get("compressor")]
        grids = [document.get("chunks")]
        kind = document["dtype"]
    else:
        codecs = document.get("codecs")
        grid = document.get("chunk_grid")
        grids = [*_values(grid, "chunk_shape"), *_values(codecs, "chunk_shape")]
        kind = document.get("data_type")
    ids = list(_strings(codecs))
    unpickling = [name for name in ids if "pickle" in name.lower()]
    objects = any(_is_object(name) for name in _strings(kind))
    if unpickling or (objects and not OBJECT_CODECS & set(ids)):
        means = f"the codec {unpickling[0]!r}" if unpickling else "objects without a safe codec"
        return (
            f"is stored with {means}, and decoding it could run code of whoever made the store. "
            "Ask for a copy with numbers and strings: only whoever trusts it should convert it"
        )
    if not _has_attributes(document):
        return f"has the attributes {document['attributes']!r}; restore its metadata from a copy"
    return _size_fault(document.get("shape"), grids)


def _has_attributes(document: Mapping[str, Any]) -> bool:
    """Return True if the attributes in a document are names with values, or absent."""
    return isinstance(document.get("attributes", {}), Mapping)


def _size_fault(shape: object, grids: list[object]) -> str:
    """Return the fault of a shape or its chunk shapes in words, or an empty text."""
    lengths = shape if _are_lengths(shape) else None
    if lengths is None:
        return f"has the shape {shape!r}; restore its metadata from a copy"
    for chunks in grids:
        if not _are_chunks(chunks, lengths):
            return (
                f"has chunks of {chunks!r} for the shape {shape!r}; restore its metadata from a "
                "copy"
            )
    return ""


def _are_chunks(chunks: object, lengths: Sequence[int]) -> bool:
    """Return True if chunks have a length along every dimension, zero only of an empty array."""
    return (
        _are_lengths(chunks)
        and len(chunks) == len(lengths)
        and not any(edge == 0 < length for edge, length in zip(chunks, lengths, strict=True))
    )


def _are_lengths(value: object) -> TypeGuard[Sequence[int]]:
    """Return True for a list of whole numbers, none negative."""
    return isinstance(value, list | tuple) and all(
        type(entry) is int and entry >= 0 for entry in value
    )


def _is_object(name: str) -> bool:
    """Return True if a type is of Python objects, which Zarr writes as ``|O``."""
    return name.lstrip("|<>=") in ("O", "object")


def _strings(value: object) -> Iterator[str]:
    """Yield all strings inside lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)


def _values(value: object, key: str) -> Iterator[object]:
    """Yield the values of a key inside lists and mappings."""
    if isinstance(value, Mapping):
        if key in value:
            yield value[key]
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _values(inner, key)
