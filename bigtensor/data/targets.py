"""Outputs that appear under their name when they are whole, and never before."""

import secrets
import shutil
import tempfile
from pathlib import Path

from bigtensor.errors import OutputError


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a target that cannot be made.

    Parameters
    ----------
    path : Path
        The store to make.
    overwrite : bool
        Whether an existing Zarr store may be replaced.

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
        raise OutputError(f"{path} exists already; choose another name or allow overwriting")
    if not any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray")):
        raise OutputError(f"{path} exists and is not a Zarr store, so it will not be overwritten")


def check_target_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be made.

    Parameters
    ----------
    path : Path
        The file to make.
    overwrite : bool
        Whether an existing file may be replaced.

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
        raise OutputError(f"{path} exists already; choose another name or allow overwriting")


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


def move_into_place(partial: Path, path: Path, *, overwrite: bool) -> None:
    """Rename a finished store; a store that it replaces is removed afterwards.

    Parameters
    ----------
    partial : Path
        The finished store under its temporary name, in the same folder as `path`.
    path : Path
        Its final name.
    overwrite : bool
        Whether an existing Zarr store may be replaced.

    Raises
    ------
    OutputError
        If the target has come into being meanwhile, see :func:`check_target`.
    """
    check_target(path, overwrite=overwrite)
    if not path.exists():
        partial.rename(path)
        return
    old = path.with_name(f"{path.name}.old-{secrets.token_hex(4)}")
    path.rename(old)
    partial.rename(path)
    shutil.rmtree(old)
