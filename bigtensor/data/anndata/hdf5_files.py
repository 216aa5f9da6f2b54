"""HDF5 files on disk, opened after another process has read their structure."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bigtensor.data.addresses.file_formats import optional_module
from bigtensor.errors import FileFormatError

if TYPE_CHECKING:
    import h5py

SECONDS_A_STEP = 60.0
"""Time in which the HDF5 library has to read one attribute or a few thousand names."""

_failures: dict[tuple[Path, int, int], str] = {}
"""Failures of the library by path, size and time of the files that this process has checked."""

_PROGRAM = Path(__file__).with_name("hdf5_walk.py")

_STALLED = re.compile(rb"^Timeout \(", re.MULTILINE)
_CRASHED = re.compile(rb"^(Fatal Python error|Windows fatal exception): ", re.MULTILINE)


def open_hdf5(path: str | os.PathLike[str], mode: str = "r") -> h5py.File:
    """Open an HDF5 file on disk.

    Some damage sends the HDF5 library into an endless loop that cannot even be interrupted, and
    other damage makes it crash. The structure of a file is therefore read in another process first,
    once in the life of this one as long as the file does not change.

    Parameters
    ----------
    path : str or path-like
        File on a disk.
    mode : {"r", "r+"}
        Read, or also change.

    Raises
    ------
    FileFormatError
        When the HDF5 library does not survive reading the file.
    OSError
        When it cannot be opened.
    """
    h5py = optional_module("h5py", "cytometry")
    check_structure(path)
    return h5py.File(path, mode)


def check_structure(path: str | os.PathLike[str]) -> None:
    """Refuse a file whose structure the HDF5 library does not survive reading.

    Parameters
    ----------
    path : str or path-like
        Anything but a regular file passes, and so does every file where there is no Python
        interpreter to run.

    Raises
    ------
    FileFormatError
    """
    try:
        resolved = Path(path).resolve()
        status = resolved.stat()
    except (OSError, ValueError):
        # opening it says why
        return
    if not stat.S_ISREG(status.st_mode):
        return
    version = (resolved, status.st_size, status.st_mtime_ns)
    if version not in _failures:
        _failures[version] = _failure(resolved)
    if _failures[version]:
        raise FileFormatError(
            f"{os.fspath(path)} is damaged, so that the HDF5 library {_failures[version]} when it "
            "reads attributes or names; copy or export the file again"
        )


def _failure(path: Path) -> str:
    """Return the failure of the library in a process that reads a file, empty without one."""
    if not _runs_python(sys.executable):
        return ""
    command = [sys.executable, "-I", str(_PROGRAM), str(path), str(SECONDS_A_STEP)]
    try:
        # an interrupt of this process does not reach a session of its own, and `run` then ends it
        ended = subprocess.run(
            [*command, *filter(None, sys.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            check=False,
        )
    except (OSError, ValueError):
        # there are no more processes, or the interpreter may not be run
        return ""
    # signals that others send say nothing of the file
    if _STALLED.search(ended.stderr):
        return f"makes no progress for {SECONDS_A_STEP:g} s"
    return "crashes" if _CRASHED.search(ended.stderr) else ""


def _runs_python(executable: str | None) -> bool:
    """Return False where Python is part of another program, which would be started again."""
    name = Path(executable or "").name.lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)
