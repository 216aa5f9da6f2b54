"""Outputs that appear under their name when they are whole, and never before."""

import secrets
import shutil
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
        does not.
    """
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; make it first")
    if not path.exists():
        return
    if not overwrite:
        raise OutputError(f"{path} exists already; choose another name or allow overwriting")
    if not any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray")):
        raise OutputError(f"{path} exists and is not a Zarr store, so it will not be overwritten")


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
