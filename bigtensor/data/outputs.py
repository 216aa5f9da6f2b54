"""Outputs that appear under their name when they are whole, and never before.

A file or store is written under a name of its own and renamed once it is whole. The name tells the
machine and the process that write it. A killed process leaves such a file behind. It is a leftover
if the process has ended, or if nothing was written to it for a day. The next run that makes the
same output removes the leftover.

A process number is unique only within one running system and one PID namespace. The name of the
machine is not enough: two containers, or two machines that are copies of one, may share a name and
a folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from bigtensor.errors import BigtensorError, OutputError, Setting

LEFTOVER_AGE = timedelta(days=1)
"""Age of a leftover of another machine: longer than any write, and than clocks differ."""

_PAUSES = (0.02, 0.1, 0.5)
"""Seconds between attempts to remove a folder. Zarr writes several files of metadata at the same
time. If one of them cannot be written, others may still be written after the error."""

_NAME = re.compile(r"(?P<host>[0-9A-Za-z-]*)\.(?P<process>\d+)\.[0-9a-f]{8}\.unfinished")


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a target that cannot be made.

    Parameters
    ----------
    path : Path
        The store to make.
    overwrite : bool
        If True, an existing Zarr store may be replaced.

    Raises
    ------
    OutputError
        If the target exists (with `overwrite`: and is anything but a Zarr store), or its folder
        does not, or nothing can be made in it.
    """
    check_folder(path.parent)
    if not path.exists():
        return
    if not overwrite:
        raise _exists(path)
    if not any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray")):
        raise OutputError(f"{path} exists and is not a Zarr store, so it will not be overwritten")


def check_target_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be made.

    Parameters
    ----------
    path : Path
        The file to make.
    overwrite : bool
        If True, an existing file may be replaced.

    Raises
    ------
    OutputError
        If there is a folder of this name, or a file without `overwrite`, or the folder of the file
        does not exist, or nothing can be made in it.
    """
    check_folder(path.parent)
    if path.is_dir():
        raise OutputError(f"{path} is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise _exists(path)


def _exists(path: Path) -> OutputError:
    """Describe an output that may not be replaced."""
    return OutputError(
        f"{path} exists already; choose another name or give " + Setting("overwrite", True)
    )


def check_folder(folder: Path) -> None:
    """Refuse a folder in which no output can be made, by making and removing a file.

    Permissions alone do not tell: a disk may be read-only, or a share of another machine.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    OutputError
    """
    try:
        exists = folder.is_dir()
        if exists:
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OutputError(
            f"nothing can be written to the folder {folder} ({error.strerror or error}); give "
            "another one, or ask for the right to write there"
        ) from error
    if not exists:
        raise OutputError(f"the folder {folder} does not exist; make it first")


def check_room(path: Path, nbytes: int) -> None:
    """Refuse an output that is larger than the free space of its disk.

    Parameters
    ----------
    path : Path
        The output, in a folder that exists.
    nbytes : int
        Bytes that the output needs at least.

    Raises
    ------
    OutputError
    """
    free = shutil.disk_usage(path.parent).free
    if nbytes > free:
        raise OutputError(
            f"{path} needs at least {nbytes:,} bytes, and its disk has {free:,} bytes free; write "
            "fewer rows, make room or choose another disk"
        )


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system, such as a full disk, into an `OutputError`.

    Parameters
    ----------
    path : Path
        The output, for the message.

    Raises
    ------
    OutputError
    """
    try:
        yield
    except BigtensorError:
        raise
    except OSError as error:
        raise OutputError(
            f"could not write {path}: {error}; check that its folder exists, is writable and has "
            "free space"
        ) from error


def move_into_place(partial: Path, path: Path, *, overwrite: bool) -> None:
    """Rename a finished store; a store that it replaces is removed afterwards.

    Parameters
    ----------
    partial : Path
        The finished store under its temporary name, in the same folder as `path`.
    path : Path
        Its final name.
    overwrite : bool
        If True, an existing Zarr store may be replaced.

    Raises
    ------
    OutputError
        If the target has come into being meanwhile, see :func:`check_target`.
    """
    check_target(path, overwrite=overwrite)
    replaced = path.with_name(f"{path.name}.replaced")
    if path.exists():
        old = path.with_name(unfinished_name(replaced.name))
        path.rename(old)
        partial.rename(path)
        discard(old)
    else:
        partial.rename(path)
    # a run that was killed between these steps left the earlier store, which is kept until now
    remove_leftovers(replaced)


def unfinished_name(name: str) -> str:
    """Return the name to write a file under until it is whole."""
    return f"{name}.{_process_space()}.{os.getpid()}.{uuid.uuid4().hex[:8]}.unfinished"


def finished_name(name: str) -> str | None:
    """Return the name that an unfinished file will get, or None for any other file."""
    found = re.fullmatch(rf"(?P<finished>.+?)\.{_NAME.pattern}", name)
    return None if found is None else found["finished"]


def unfinished_path(target: Path) -> Path:
    """Return a path beside an output to write it under, after removing leftovers of that output.

    An output that is itself unfinished, because something is added to it afterwards, gets another
    name of the same output.
    """
    remove_leftovers(target)
    return target.with_name(unfinished_name(finished_name(target.name) or target.name))


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a file its name when it is whole, and remove it if it is not.

    Parameters
    ----------
    target : Path
        A file of this name is replaced.

    Yields
    ------
    Path
        The path to write the file under.
    """
    unfinished = unfinished_path(target)
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        discard(unfinished)


def remove_leftovers(target: Path) -> None:
    """Remove the unfinished outputs of killed runs on a local or mounted disk."""
    try:
        names = os.listdir(target.parent)  # noqa: PTH208
    except OSError:
        # whoever makes the output says what is wrong with its folder
        return
    for name in names:
        path = target.with_name(name)
        if finished_name(name) == target.name and is_leftover(name, partial(_last_write, path)):
            discard(path)


def is_leftover(name: str, last_write: Callable[[], datetime]) -> bool:
    """Return True if nobody will finish an unfinished file or store.

    Parameters
    ----------
    name : str
    last_write : callable
        Asked where the name does not tell.
    """
    found = _NAME.search(name)
    if found is None:
        return False
    if found["host"] == _process_space() and not _runs(int(found["process"])):
        return True
    # some file systems keep no time of the last write
    with suppress(FileNotFoundError, NotImplementedError):
        written = last_write()
        return datetime.now(UTC) - written.replace(tzinfo=written.tzinfo or UTC) > LEFTOVER_AGE
    return False


def discard(path: Path) -> None:
    """Remove an unfinished file or store.

    Of a store, the metadata go first: a worker that is still writing sees that and removes the
    rest.
    """
    with suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        (path / "zarr.json").unlink(missing_ok=True)
    for pause in _PAUSES:
        if not path.exists():
            return
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(pause)


def _last_write(path: Path) -> datetime:
    """Return the time of the newest file or folder of an output; a folder alone shows its own."""
    newest = max(entry.stat().st_mtime for entry in (path, *path.rglob("*")))
    return datetime.fromtimestamp(newest, UTC)


def _process_space() -> str:
    """Return the name of this machine and a digest of the space of its process numbers.

    A boot of Linux and a PID namespace have identifiers. Elsewhere, the hardware address stands for
    the machine.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        space = boot + os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        space = str(uuid.getnode())
    host = re.sub("[^0-9A-Za-z-]", "-", platform.node())
    return f"{host}-{hashlib.sha256(space.encode()).hexdigest()[:12]}"


def _runs(process: int) -> bool:
    """Return True if a process of this space has this number. A number may be in use again."""
    if os.name == "nt":
        # there, signal 0 is Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
