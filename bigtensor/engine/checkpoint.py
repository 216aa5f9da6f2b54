"""Finished parts of a pass, stored once under a name made of everything they depend on."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor._version import __version__
from bigtensor.data.addresses.object_stores import (
    check_bucket,
    explain_remote,
    file_system,
    is_object_store,
    is_store_failure,
    lists_files,
    store_errors,
)
from bigtensor.data.addresses.store_address import as_address
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.row_sources import LazySource
from bigtensor.data.stores.leftovers import finished_name, is_leftover, unfinished_name
from bigtensor.engine.ranges import Part, RowRange
from bigtensor.errors import CheckpointError, ParameterError, hide_passwords
from bigtensor.statistics.base import Pass, State

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

FORMAT = 2
"""Version of the layout of a part; another version never matches."""

_MAGIC = b"bigtensor-state\n"

_PART = re.compile(r"(\d+)-(\d+)\.state")
_SUM = "sum.state"

_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)

WRITE_ATTEMPTS = 3
"""Writes of a file whose unfinished form another process took for a leftover and removed."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder, or any fsspec URL, that holds the parts of the passes of fits.

    Attributes
    ----------
    url : str
        Path of the folder, or URL.
    data : str
        The fingerprint of the data: parts of other data never match.
    """

    url: str
    data: str

    def for_pass(self, pass_: Pass[Any], parts: list[Part]) -> PassCheckpoint:
        """Return the place of the parts of one pass."""
        key = content_key((FORMAT, __version__, self.data, pass_.statistic, pass_.rows, parts))
        name = "".join(letter if letter.isalnum() else "-" for letter in pass_.name)
        return PassCheckpoint(f"{self.url.rstrip('/')}/{name}-{key[:32]}")


@dataclass(frozen=True)
class PassCheckpoint:
    """The parts of one pass, and its sum once all parts are there."""

    url: str

    def finished(self) -> list[RowRange]:
        """Return the first row of every stored part, whole or torn, and the row after its last."""
        parts = (_PART.fullmatch(name.rsplit("/", 1)[-1]) for name in self._names())
        return sorted((int(part[1]), int(part[2])) for part in parts if part)

    def load(self, part: RowRange | None) -> State | None:
        """Read one part, or the sum of all (None); a missing or torn one is None."""
        filesystem, path = file_system(self._path(part))
        try:
            content: bytes = filesystem.cat_file(path)
        except FileNotFoundError:
            return None
        except Exception as error:
            if not is_store_failure(error):
                raise
            raise CheckpointError(
                f"{path} in the checkpoint cannot be read: {self._explained(error)}"
            ) from hide_passwords(error)
        return decode_state(content, self._label(part))

    def store(self, part: RowRange | None, state: State) -> None:
        """Write one part, or the sum of all (None), under its name once it is whole."""
        filesystem, path = file_system(self._path(part))
        content = encode_state(state, self._label(part))
        try:
            if is_object_store(self.url):
                filesystem.pipe_file(path, content)
            else:
                _write_and_rename(filesystem, path, content)
        except Exception as error:
            if not is_store_failure(error):
                raise
            raise CheckpointError(self._not_written(error)) from hide_passwords(error)

    def drop_parts(self) -> None:
        """Remove the parts once their sum is stored, and the unfinished parts of killed runs.

        Other runs of the same fit may store parts at the same time, so that only what nobody will
        finish is removed. Files with other names are not of this pass and stay.
        """
        filesystem, _ = file_system(self.url)
        unwanted = [path for path in self._names() if self._is_unwanted(filesystem, path)]
        # another run of the same fit may have removed them, and what stays does no harm
        if is_object_store(self.url):
            with suppress(Exception):
                if unwanted:
                    filesystem.rm(unwanted)
            return
        for path in unwanted:
            with suppress(OSError):
                filesystem.rm_file(path)

    def _is_unwanted(self, filesystem: AbstractFileSystem, path: str) -> bool:
        """Return True for a part, or an unfinished file that nobody will finish."""
        name = path.rsplit("/", 1)[-1]
        unfinished = finished_name(name)
        if unfinished is None:
            return _PART.fullmatch(name) is not None
        own = unfinished == _SUM or _PART.fullmatch(unfinished) is not None
        return own and is_leftover(name, partial(filesystem.modified, path))

    def _names(self) -> list[str]:
        """List the files of the pass."""
        filesystem, root = file_system(self.url)
        try:
            return [str(name) for name in filesystem.ls(root, detail=False)]
        except FileNotFoundError:
            return []
        except Exception as error:
            if not is_store_failure(error):
                raise
            raise CheckpointError(
                f"the checkpoint {self.url} cannot be read ({self._explained(error)}); check its "
                "permissions, or give another folder"
            ) from hide_passwords(error)

    def _not_written(self, error: Exception) -> str:
        """Return why a part cannot be written, and the remedy."""
        if reason := explain_remote(self.url, error):
            return (
                f"the checkpoint cannot be written: {reason}. Stored parts are kept, and the same "
                "command continues from them"
            )
        return (
            f"the checkpoint {self.url} cannot be written ({self._explained(error)}). "
            f"{_remedy(error)}. Then run the same command again"
        )

    def _explained(self, error: Exception) -> str:
        """Return why the checkpoint failed."""
        return explain_remote(self.url, error) or getattr(error, "strerror", None) or str(error)

    def _path(self, part: RowRange | None) -> str:
        """Return the address of a part."""
        return f"{self.url}/{_SUM if part is None else f'{part[0]}-{part[1]}.state'}"

    def _label(self, part: RowRange | None) -> str:
        """Return the key of the pass and the rows of a part, which its digest covers."""
        return "/".join(self._path(part).rsplit("/", 2)[1:])


def _remedy(error: Exception) -> str:
    """Return what to do about a checkpoint that cannot be written."""
    if isinstance(error, OSError) and error.errno in _NOT_ALLOWED:
        return "Change its permissions, or give a folder that you may write to"
    return (
        "Stored parts are kept. Make room, or copy the checkpoint to another folder and give that "
        "folder"
    )


def _write_and_rename(filesystem: AbstractFileSystem, path: str, content: bytes) -> None:
    """Write a file that appears under its name once it is whole, on a disk.

    Another process may take the unfinished file for a leftover and remove it.
    """
    for attempt in range(1, WRITE_ATTEMPTS + 1):
        try:
            _write_whole(filesystem, path, content)
        except FileNotFoundError:
            if attempt == WRITE_ATTEMPTS:
                raise
        else:
            return


def _write_whole(filesystem: AbstractFileSystem, path: str, content: bytes) -> None:
    """Write a file under another name, and rename it."""
    unfinished = unfinished_name(path)
    try:
        filesystem.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        filesystem.pipe_file(unfinished, content)
        filesystem.mv(unfinished, path)
    except OSError:
        with suppress(OSError):
            filesystem.rm_file(unfinished)
        raise


def encode_state(state: State, label: str) -> bytes:
    """Return a state as bytes that tell when they are torn or have another label.

    A digest of the version, the label and the archive comes before the archive of arrays.
    """
    archive = io.BytesIO()
    # `numpy.savez` of NumPy 2.0 cannot be told to refuse objects
    with zipfile.ZipFile(archive, "w") as members:
        for name in state:
            with members.open(f"{json.dumps(name)}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(state[name]), allow_pickle=False)
    # several parts are encoded at the same time, so that no copy is made in vain
    content = archive.getbuffer()
    return b"".join((_MAGIC, _digest(content, label), content))


def decode_state(content: bytes, label: str) -> State | None:
    """Return the state that was encoded with this label, or None for torn and other bytes."""
    head = len(_MAGIC)
    digest, body = content[head : head + 32], memoryview(content)[head + 32 :]
    if content[:head] != _MAGIC or _digest(body, label) != digest:
        return None
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        return {json.loads(name): archive[name] for name in archive.files}


def _digest(content: memoryview, label: str) -> bytes:
    """Return the digest of a labelled archive."""
    digest = hashlib.sha256(f"{FORMAT}\n{label}\n".encode())
    digest.update(content)
    return digest.digest()


def content_key(value: object) -> str:
    """Return a digest of the contents of nested dataclasses, containers, arrays and numbers.

    Raises
    ------
    TypeError
        When something in there has no content that could be hashed.
    """
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, value: object) -> None:
    """Add one value, with its type and length, to a digest."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest.update(f"array {value.dtype.str} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value) and not isinstance(value, type):
        digest.update(f"{type(value).__module__}.{type(value).__qualname__} ".encode())
        for entry in fields(value):
            _feed(digest, entry.name)
            _feed(digest, getattr(value, entry.name))
    elif isinstance(value, Mapping):
        digest.update(f"mapping {len(value)} ".encode())
        for key in value:
            _feed(digest, key)
            _feed(digest, value[key])
    elif isinstance(value, tuple | list):
        digest.update(f"sequence {len(value)} ".encode())
        for item in value:
            _feed(digest, item)
    elif value is None or isinstance(value, str | int | float | bool | np.generic | np.dtype):
        digest.update(f"{type(value).__name__} {value!r} ".encode())
    else:
        raise TypeError(f"cannot hash the content of a {type(value).__name__}")


def open_checkpoint(checkpoint: str | os.PathLike[str], samples: Samples) -> Checkpoint:
    """Return the checkpoint for these samples and views; lazy arrays cannot be told apart."""
    if any(isinstance(source, LazySource) for source in samples.sources):
        raise ParameterError(
            "a checkpoint needs data that can be told from other data, and a lazy array keeps its "
            "name when the files under it change; give the path of the store, or write the array "
            "to one with to_zarr first"
        )
    url = os.fspath(checkpoint)
    if not lists_files(file_system(url)[0]):
        raise CheckpointError(
            f"the checkpoint {url} is on a web server, where nothing can be written; give a "
            "folder, or the URL of an object store such as s3://bucket/parts"
        )
    _refuse_path_without_folder(url)
    if is_object_store(url):
        filesystem, root = file_system(url, probe=True)
        with store_errors(url, CheckpointError):
            check_bucket(url, filesystem, root)
    return Checkpoint(url, content_key((samples.fingerprint(), samples.views)))


def _refuse_path_without_folder(url: str) -> None:
    """Refuse a path on a disk that leads through a file or a broken link, before any pass."""
    place = as_address(url)
    if isinstance(place, str):
        return
    entry = next((path for path in (place, *place.parents) if os.path.lexists(path)), None)
    if entry is not None and not entry.is_dir():
        kind = "a file" if entry.exists() else "a link to nothing"
        raise CheckpointError(
            f"the checkpoint {url} cannot be made, because {entry} is {kind}, and a checkpoint is "
            "a folder; give another folder"
        )
