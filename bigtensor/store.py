"""Dataclasses of arrays in a versioned Zarr group: how models and statistics are kept.

Nothing here knows a model, and nothing is pickled: `pack` takes frozen dataclasses apart into JSON
and named arrays, and `unpack` puts them together again. Every array and the description carry the
digest of their contents, so that a damaged file is refused instead of giving other numbers. Arrays
are stored as all of the package are, with checksums and a manifest.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np
import zarr
from numpy.typing import NDArray

from bigtensor._version import __version__
from bigtensor.data.addresses.read_errors import read_remedy
from bigtensor.data.addresses.store_address import Address, as_address
from bigtensor.data.stores.manifest import check_manifest, seal
from bigtensor.data.stores.outputs import whole_store, write_errors
from bigtensor.data.stores.stored_arrays import create_array, create_root
from bigtensor.data.stores.stored_kinds import stored_kind
from bigtensor.data.stores.zarr_groups import open_group
from bigtensor.errors import ModelFileError, StoreReadError, hide_passwords

FORMAT_VERSION = 9
"""Version of the layout of a group; others are refused."""

_MARK = "bigtensor_format"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of a group.

    Attributes
    ----------
    kind : str
        What the contents describe, such as ``"KernelMixture"``.
    attrs : dict
        Everything that JSON holds.
    arrays : dict of str to ndarray
        Arrays of the group by name.
    written_by : str
        Version of bigtensor that wrote the contents, by default this version.
    """

    kind: str
    attrs: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    written_by: str = __version__


Tree: TypeAlias = dict[str, Any] | list[Any] | str | float | int | bool | None
"""What JSON can hold."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A value taken apart.

    Attributes
    ----------
    tree : JSON value
        Everything but the arrays, which it names.
    arrays : dict of str to ndarray
        C-contiguous.
    objects : list
        Objects of other classes, such as user-defined kernels. No file holds them.
    """

    tree: Tree
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    objects: list[Any] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """Digest of the tree and the arrays, the same on every machine."""
        return _json_digest([self.tree, {name: _digest(self.arrays[name]) for name in self.arrays}])


def pack(value: object, classes: Iterable[type]) -> Packed:
    """Take a value apart into JSON and named arrays.

    Parameters
    ----------
    value : nested dataclasses, mappings, sequences, slices, arrays, numbers and strings
        Fields of dataclasses that their constructor does not take are left out. Keys of mappings
        are strings; sequences become tuples. An instance that occurs twice is one again when it
        is unpacked.
    classes : iterable of type
        Classes of dataclasses that are taken apart.
    """
    packable, arrays, objects = frozenset(classes), dict[str, NDArray[Any]](), list[Any]()
    paths: dict[int, str] = {}

    def apart(entry: object, path: str) -> Tree:
        if isinstance(entry, np.ndarray):
            # names of views may hold anything, so that a number makes the name of an array unique
            name = f"{len(arrays)}-{_UNSAFE.sub('_', path)[-80:]}"
            arrays[name] = np.array(entry, order="C")
            return {"array": name}
        if isinstance(entry, np.generic):
            return apart(entry.item(), path)
        if entry is None or isinstance(entry, bool | int | str):
            return entry
        if isinstance(entry, float):
            # JSON has no infinity and no NaN
            return entry if math.isfinite(entry) else {"float": repr(entry)}
        if isinstance(entry, slice):
            return {"slice": [entry.start, entry.stop, entry.step]}
        if isinstance(entry, tuple | list):
            return [apart(part, f"{path}.{place}") for place, part in enumerate(entry)]
        if isinstance(entry, Mapping):
            return {"mapping": [[key, apart(part, f"{path}.{key}")] for key, part in entry.items()]}
        if type(entry) not in packable:
            objects.append(entry)
            return {"object": len(objects) - 1}
        if id(entry) in paths:
            return {"same": paths[id(entry)]}
        paths[id(entry)] = path
        assert is_dataclass(entry)
        parts = {
            part.name: apart(getattr(entry, part.name), f"{path}.{part.name}")
            for part in fields(entry)
            if part.init
        }
        return {"class": type(entry).__name__, "fields": parts}

    return Packed(apart(value, "value"), arrays, objects)


def unpack(packed: Packed, classes: Iterable[type]) -> Any:
    """Put together what `pack` has taken apart.

    Parameters
    ----------
    packed : Packed
        Result of `pack`, or the same values from a file.
    classes : iterable of type
        As for `pack`.

    Raises
    ------
    LookupError, TypeError, ValueError
        When a class or an array is missing, or a class refuses its fields.
    """
    class_by_name, made = {entry.__name__: entry for entry in classes}, dict[str, Any]()

    def together(tree: object, path: str) -> Any:
        match tree:
            case list():
                return tuple(together(part, f"{path}.{place}") for place, part in enumerate(tree))
            case {"array": name}:
                return packed.arrays[name]
            case {"float": text}:
                return float(text)
            case {"slice": [start, stop, step]}:
                return slice(start, stop, step)
            case {"mapping": entries}:
                return {key: together(part, f"{path}.{key}") for key, part in entries}
            case {"object": place}:
                return packed.objects[place]
            case {"same": other}:
                return made[other]
            case {"class": name, "fields": dict() as parts}:
                values = {key: together(part, f"{path}.{key}") for key, part in parts.items()}
                made[path] = class_by_name[name](**values)
                return made[path]
            case None | bool() | int() | float() | str():
                return tree
        raise ValueError(f"{tree!r} describes nothing")

    return together(packed.tree, "value")


@contextmanager
def description_errors(contents: Contents) -> Iterator[None]:
    """Turn errors of contents that this version cannot use into a `ModelFileError`."""
    try:
        yield
    except (LookupError, TypeError, ValueError) as error:
        writer = contents.written_by
        other = f", or use bigtensor {writer}" if writer != __version__ else ""
        raise ModelFileError(
            f"the description of this {contents.kind}, written by bigtensor {writer}, cannot be "
            f"used by bigtensor {__version__} ({type(error).__name__}: {error}): fit the model "
            f"again{other}"
        ) from error


def write_group(
    path: str | os.PathLike[str], contents: Contents, *, overwrite: bool = False
) -> Address:
    """Write a group that appears under its name when it is whole.

    Parameters
    ----------
    path : path or URL
        Group to make.
    contents : Contents
        Kind, attributes and arrays to write.
    overwrite : bool, default False
        Replace a Zarr group of this name.

    Returns
    -------
    Path or str
        A URL stays a string.

    Raises
    ------
    OutputError
        When the target exists, or the disk or the object store refuses.
    """
    description = {
        "kind": contents.kind,
        "contents": contents.attrs,
        "digests": {name: _digest(array) for name, array in contents.arrays.items()},
    }
    attributes = {
        _MARK: FORMAT_VERSION,
        "version": __version__,
        "digest": _json_digest(description),
        **description,
    }
    with write_errors(path), whole_store(path, overwrite=overwrite) as unfinished:
        group = create_root(unfinished, attributes)
        for name, array in contents.arrays.items():
            stored = create_array(group, name, shape=array.shape, dtype=array.dtype)
            stored[...] = array
        seal(unfinished)
    return as_address(path)


def read_group(path: str | os.PathLike[str], *, statistics: bool = False) -> Contents:
    """Read a group, by its path or URL, and check every array against its digest.

    Parameters
    ----------
    path : path or URL
        Of the group.
    statistics : bool, default False
        Messages say that statistics are expected, in place of a model.

    Raises
    ------
    ModelFileError
        When there is no such group, it is not one of ours, it is of a newer format, or an array
        is missing or damaged.
    """
    try:
        group = open_group(path, formats=(3,))
    except StoreReadError as error:
        expected = "statistics" if statistics else "saved model"
        raise ModelFileError(f"{path} holds no {expected}: {error}") from error
    attrs = dict(group.attrs)
    version = attrs.get(_MARK)
    if not isinstance(version, int) or isinstance(version, bool):
        expected = (
            "statistics are expected in its place; give a store that 'bigtensor accumulate --out' "
            "or the method save of statistics wrote"
            if statistics
            else "a model is expected in its place; give the store that 'bigtensor fit --out' or "
            "the method save of a model wrote"
        )
        raise ModelFileError(f"{path} holds {stored_kind(attrs)}, and {expected}")
    check_format(path, version, attrs.get("version"))
    description: Any = {name: attrs.get(name) for name in ("kind", "contents", "digests")}
    if _json_digest(description) != attrs.get("digest"):
        raise ModelFileError(
            f"{path} is damaged: its description is not what was written; restore the file from a "
            "copy or fit the model again"
        )
    try:
        check_manifest(path)
    except StoreReadError as error:
        raise ModelFileError(str(error)) from error
    digests: Mapping[str, str] = description["digests"]
    arrays = {name: _read_array(group, name, digest, path) for name, digest in digests.items()}
    return Contents(description["kind"], description["contents"], arrays, str(attrs.get("version")))


def check_format(where: str | os.PathLike[str], version: int, written_by: object) -> None:
    """Refuse contents of another format version.

    Parameters
    ----------
    where : path or str
        Names the contents in the message.
    version : int
        Format version of the contents.
    written_by : str
        The version of bigtensor.

    Raises
    ------
    ModelFileError
    """
    if version == FORMAT_VERSION:
        return
    remedy = (
        "upgrade bigtensor"
        if version > FORMAT_VERSION
        else f"fit the model again, or use bigtensor {written_by}"
    )
    raise ModelFileError(
        f"{where} has format version {version}, written by bigtensor {written_by}; this is "
        f"bigtensor {__version__}, which reads version {FORMAT_VERSION}: {remedy}"
    )


def _read_array(
    group: zarr.Group, name: str, digest: str, path: str | os.PathLike[str]
) -> NDArray[Any]:
    """Read one array and refuse it when its contents are not what was written."""
    try:
        stored: Any = group[name]
        array = np.asarray(stored[...])
    except Exception as error:
        raise ModelFileError(
            f"the array {name!r} of {path} cannot be read ({type(error).__name__}: {error}); "
            + read_remedy(
                error, "the file is damaged: restore it from a copy or fit the model again"
            )
        ) from hide_passwords(error)
    if _digest(array) != digest:
        raise ModelFileError(
            f"the array {name!r} of {path} is damaged: its contents are not what was written; "
            "restore the file from a copy or fit the model again"
        )
    return array


def _json_digest(attrs: object) -> str:
    """Return the digest of what JSON holds, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(attrs, sort_keys=True).encode()).hexdigest()


def _digest(array: NDArray[Any]) -> str:
    """Return the digest of an array's type, shape and contents."""
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()
