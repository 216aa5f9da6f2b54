"""Named arrays and JSON in a versioned Zarr group: how models and statistics are kept.

Nothing here knows a model, and nothing is pickled. Every array and the description carry the digest
of their contents, so that a damaged file is refused instead of giving other numbers. Arrays are
stored as all of the package are, with checksums and a manifest.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from bigtensor._version import __version__
from bigtensor.data.manifest import check_manifest, seal
from bigtensor.data.stored_arrays import create_array
from bigtensor.data.stores import open_group
from bigtensor.data.targets import check_target, move_into_place
from bigtensor.errors import ModelFileError, OutputError, StoreReadError

FORMAT_VERSION = 2
"""Version of the layout of a group; a newer one is refused."""

_MARK = "bigtensor_format"


@dataclass(frozen=True, eq=False)
class Contents:
    """What a group holds.

    Attributes
    ----------
    kind : str
        What the contents describe, such as ``"KernelMixture"``.
    attrs : dict
        Everything that JSON holds.
    arrays : dict of str to ndarray
    """

    kind: str
    attrs: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_group(path: str | Path, contents: Contents, *, overwrite: bool = False) -> Path:
    """Write a group that appears under its name when it is whole.

    Parameters
    ----------
    path : path
    contents : Contents
    overwrite : bool, default False
        Replace a Zarr group of this name.

    Returns
    -------
    Path

    Raises
    ------
    OutputError
        When the target exists, or the disk refuses.
    """
    target = Path(path)
    check_target(target, overwrite=overwrite)
    partial = target.with_name(f"{target.name}.partial-{secrets.token_hex(4)}")
    description = {
        "kind": contents.kind,
        "contents": contents.attrs,
        "digests": {name: _digest(array) for name, array in contents.arrays.items()},
    }
    try:
        group = zarr.create_group(
            partial,
            attributes={
                _MARK: FORMAT_VERSION,
                "version": __version__,
                "digest": _json_digest(description),
                **description,
            },
        )
        for name, array in contents.arrays.items():
            stored = create_array(group, name, shape=array.shape, dtype=array.dtype)
            stored[...] = array
        seal(partial)
        move_into_place(partial, target, overwrite=overwrite)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{target} cannot be written: {error}") from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return target


def read_group(path: str | Path) -> Contents:
    """Read a group and check every array against its digest.

    Raises
    ------
    ModelFileError
        When there is no such group, it is not one of ours, it is of a newer format, or an array
        is missing or damaged.
    """
    try:
        group = open_group(path, formats=(3,))
    except StoreReadError as error:
        raise ModelFileError(f"{path} holds no saved model: {error}") from error
    attrs = dict(group.attrs)
    version = attrs.get(_MARK)
    if not isinstance(version, int) or isinstance(version, bool):
        raise ModelFileError(f"{path} is a Zarr group, but not a model saved by bigtensor")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {version}, written by bigtensor {attrs.get('version')}; "
            f"this is bigtensor {__version__}, which reads up to version {FORMAT_VERSION}: upgrade "
            "bigtensor"
        )
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
    return Contents(description["kind"], description["contents"], arrays)


def _read_array(group: zarr.Group, name: str, digest: str, path: str | Path) -> NDArray[Any]:
    """Read one array and refuse it when its contents are not what was written."""
    try:
        stored: Any = group[name]
        array = np.asarray(stored[...])
    except Exception as error:
        raise ModelFileError(
            f"the array {name!r} of {path} cannot be read ({type(error).__name__}: {error}); the "
            "file is damaged: restore it from a copy or fit the model again"
        ) from error
    if _digest(array) != digest:
        raise ModelFileError(
            f"the array {name!r} of {path} is damaged: its contents are not what was written; "
            "restore the file from a copy or fit the model again"
        )
    return array


def _json_digest(attrs: Any) -> str:
    """Return the digest of what JSON holds, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(attrs, sort_keys=True).encode()).hexdigest()


def _digest(array: NDArray[Any]) -> str:
    """Return the digest of an array's type, shape and contents."""
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).hexdigest()
