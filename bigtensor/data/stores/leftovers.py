"""Unfinished outputs on a disk: their names, and the removal of those that killed runs left.

The name tells the machine and the process that write the output. A killed process leaves such a
file behind. It is a leftover if the process has ended. A process of another machine cannot be
looked up, so that its output is a leftover if nothing was written to it for a day. The next run
that makes the same output removes the leftover.

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
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

LEFTOVER_AGE = timedelta(days=1)
"""Age of a leftover whose process cannot be looked up. It is longer than clocks differ."""

_PAUSES = (0.02, 0.1, 0.5)
"""Seconds between attempts to remove a folder. Zarr writes several files of metadata at the same
time. If one of them cannot be written, others may still be written after the error."""

STORE_ROOTS = ("zarr.json", ".zgroup", ".zarray")
"""Names of which a Zarr store has one at its root."""

_NAME = re.compile(r"(?P<host>[0-9A-Za-z-]*)\.(?P<process>\d+)\.[0-9a-f]{8}\.unfinished")


def unfinished_name(name: str) -> str:
    """Return the name to write a file under until it is whole."""
    return f"{name}.{_process_space()}.{os.getpid()}.{uuid.uuid4().hex[:8]}.unfinished"


def finished_name(name: str) -> str | None:
    """Return the name that an unfinished file will get, or None for any other file."""
    match = re.fullmatch(rf"(?P<finished>.+?)\.{_NAME.pattern}", name)
    return None if match is None else match["finished"]


def replaced_name(name: str) -> str:
    """Return the name of a store that another one is replacing, before `unfinished_name`."""
    return f"{name}.replaced"


def interrupted_replacement(target: Path) -> tuple[Path, Path | None] | None:
    """Return what a run left that was killed between the two renames of an overwrite.

    Parameters
    ----------
    target : Path
        Name of a store on a disk, which is absent.

    Returns
    -------
    earlier : Path
        The whole store that was to be replaced.
    new : Path, optional
        The new store of the same process. It is whole too, because the earlier store gets its
        temporary name when the new one is complete.
    """
    try:
        names = sorted(os.listdir(target.parent))  # noqa: PTH208
    except (OSError, ValueError):
        return None
    stores = [name for name in names if _is_store(target.with_name(name))]
    for name in stores:
        if finished_name(name) == replaced_name(target.name):
            writer = _writer(name)
            same = (other for other in stores if _writer(other) == writer)
            new = next((other for other in same if finished_name(other) == target.name), None)
            return target.with_name(name), None if new is None else target.with_name(new)
    return None


def _writer(name: str) -> tuple[str, str] | None:
    """Return the machine and the process that an unfinished name tells."""
    match = _NAME.search(name)
    return None if match is None else (match["host"], match["process"])


def _is_store(path: Path) -> bool:
    """Return True for an unfinished folder that has the root of a Zarr store."""
    if finished_name(path.name) is None:
        return False
    return any((path / root).exists() for root in STORE_ROOTS)


def unfinished_path(target: Path) -> Path:
    """Return a path beside an output to write it under, after removing leftovers of that output.

    An output that is itself unfinished, because something is added to it afterwards, gets another
    name of the same output.
    """
    remove_leftovers(target)
    return target.with_name(unfinished_name(finished_name(target.name) or target.name))


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
        Name of a file or store, finished or not.
    last_write : callable
        Asked where the name does not tell.
    """
    match = _NAME.search(name)
    if match is None:
        return False
    least_age = LEFTOVER_AGE
    if match["host"] == _process_space():
        process = int(match["process"])
        runs = _runs(process)
        if runs is False:
            return True
        if runs:
            # an import may read for days between two writes, and it began before the first of them
            age = _age(process)
            if age is None:
                return False
            least_age += age
    # some file systems keep no time of the last write
    with suppress(FileNotFoundError, NotImplementedError):
        written = last_write()
        return datetime.now(UTC) - written.replace(tzinfo=written.tzinfo or UTC) > least_age
    return False


def living_writer(name: str) -> int | None:
    """Return the number of another process of this machine that writes an unfinished output.

    Parameters
    ----------
    name : str
        Of `unfinished_name`.

    Returns
    -------
    int, optional
        None if it has ended, is this process or one of another machine.
    """
    match = _NAME.search(name)
    if match is None or match["host"] != _process_space():
        return None
    process = int(match["process"])
    return process if process != os.getpid() and _runs(process) is not False else None


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


def _runs(process: int) -> bool | None:
    """Return True if a process of this space has this number; None where this cannot be asked.

    A number may be in use again: see `_age`.
    """
    if os.name == "nt":
        # there, signal 0 is Ctrl-C
        return None
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _age(process: int) -> timedelta | None:
    """Return the time since the start of a process; None outside Linux.

    Containers use few process numbers, again and again. A process that is younger than an output is
    not the one that wrote it.
    """
    try:
        # the name of the program, in parentheses, may hold anything
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        seconds = uptime - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
    return timedelta(seconds=max(seconds, 0.0))
