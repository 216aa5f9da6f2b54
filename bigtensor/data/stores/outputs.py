"""Outputs that appear under their name when they are whole, and never before.

On a disk a file or a store is written under a name of its own beside the target, and renamed once
it is whole. An object store cannot rename: see `bigtensor.data.stores.object_outputs`. Every writer
of the package writes inside `whole_store` or `whole_file`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bigtensor.data.addresses.object_stores import explain_failure, is_store_failure
from bigtensor.data.addresses.read_errors import OF_ONE_PROCESS
from bigtensor.data.addresses.store_address import as_address
from bigtensor.data.stores.leftovers import (
    STORE_ROOTS,
    discard,
    remove_leftovers,
    replaced_name,
    unfinished_name,
    unfinished_path,
)
from bigtensor.data.stores.object_outputs import (
    check_object_file,
    check_object_target,
    discard_objects,
    exists_already,
    has_root,
    no_zarr_store,
    whole_object,
    whole_object_store,
)
from bigtensor.errors import BigtensorError, OutputError, hide_passwords


@contextmanager
def whole_store(address: str | os.PathLike[str], *, overwrite: bool) -> Iterator[str]:
    """Give a store its name when it is whole, and remove it if it is not.

    Parameters
    ----------
    address : path or URL
        Store to make.
    overwrite : bool
        If True, an existing Zarr store is replaced: on a disk when the new one is whole, on an
        object store when the new one is begun.

    Yields
    ------
    str
        The address to write the store to; its root is made by
        `bigtensor.data.stores.stored_arrays.create_root`.

    Raises
    ------
    OutputError
        See `check_target`. `write_errors` turns errors of writing into it.
    """
    target = as_address(address)
    if isinstance(target, str):
        with whole_object_store(target, overwrite=overwrite) as url:
            yield url
        return
    check_target(target, overwrite=overwrite)
    unfinished = unfinished_path(target)
    try:
        yield str(unfinished)
        with write_errors(target):
            _move_into_place(unfinished, target, overwrite=overwrite)
    finally:
        discard(unfinished)


@contextmanager
def whole_file(address: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a file its name when it is whole, and remove it if it is not.

    Parameters
    ----------
    address : path or URL
        A file of this name is replaced.

    Yields
    ------
    Path
        The path to write the file under, on this machine in any case.
    """
    target = as_address(address)
    if isinstance(target, str):
        with whole_object(target) as path:
            yield path
        return
    unfinished = unfinished_path(target)
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        discard(unfinished)


@contextmanager
def finish_after(finish: Callable[[], None]) -> Iterator[None]:
    """Call a function at the end of the context, unless it ends with an error.

    Parameters
    ----------
    finish : callable
        Writes what a store lacks.
    """
    yield
    finish()


def discard_if_abandoned(address: str) -> None:
    """Remove what a task wrote to a store after the run had given it up.

    Parameters
    ----------
    address : str
        Of `whole_store`.
    """
    target = as_address(address)
    if isinstance(target, Path):
        if not (target / "zarr.json").exists():
            shutil.rmtree(target, ignore_errors=True)
    elif not has_root(target):
        discard_objects(target)


def check_target(address: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse a target that cannot be made, such as the place of a model before a long fit.

    Parameters
    ----------
    address : path or URL
        The store to make.
    overwrite : bool, default False
        If True, an existing Zarr store may be replaced.

    Raises
    ------
    OutputError
        If the target exists (with `overwrite`: and is anything but a Zarr store), or its folder or
        bucket does not, or nothing can be made in it.

    Examples
    --------
    >>> import bigtensor
    >>> bigtensor.check_target("missing_folder/model.zarr")
    Traceback (most recent call last):
    bigtensor.errors.OutputError: the folder missing_folder does not exist; make it first
    """
    path = as_address(address)
    if isinstance(path, str):
        check_object_target(path, overwrite=overwrite)
        return
    _check_output_folder(path.parent)
    if not path.exists():
        return
    if not overwrite:
        raise exists_already(path)
    if not any((path / name).exists() for name in STORE_ROOTS):
        raise no_zarr_store(path)


def check_target_file(address: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a file that cannot be made.

    Parameters
    ----------
    address : path or URL
        The file to make.
    overwrite : bool
        If True, an existing file may be replaced.

    Raises
    ------
    OutputError
        If there is a folder or a device of this name, or a file without `overwrite`, or the folder
        or bucket of the file does not exist, or nothing can be made in it.
    """
    path = as_address(address)
    if isinstance(path, str):
        check_object_file(path, overwrite=overwrite)
        return
    _check_output_folder(path.parent)
    if path.exists() and not path.is_file():
        # a file that is renamed would take the place of /dev/null or of a named pipe
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise OutputError(f"{path} is {kind}; give the name of a file")
    if path.exists() and not overwrite:
        raise exists_already(path)


def check_folder(folder: Path) -> None:
    """Refuse a folder in which no output can be made, by making and removing a file.

    Permissions alone do not tell: a disk may be read-only, or a share of another machine.

    Parameters
    ----------
    folder : Path
        Folder of the output.

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
            "another folder, or ask for the right to write there"
        ) from error
    if not exists:
        raise OutputError(f"the folder {folder} does not exist; make it first")


def _check_output_folder(folder: Path) -> None:
    """Refuse a folder in which no output can be made, or that is a Zarr store itself.

    A table in the folder of a model would be removed and copied with the model.
    """
    check_folder(folder)
    if any((folder / name).exists() for name in STORE_ROOTS):
        raise OutputError(f"{folder} is a Zarr store; give an output outside its folder")


def check_room(address: str | os.PathLike[str], nbytes: int) -> None:
    """Refuse an output that is larger than the free space of its disk.

    Parameters
    ----------
    address : path or URL
        The output, in a folder that exists. Object stores are not asked.
    nbytes : int
        Bytes that the output needs at least.

    Raises
    ------
    OutputError
    """
    path = as_address(address)
    if isinstance(path, str):
        return
    free = shutil.disk_usage(path.parent).free
    if nbytes > free:
        raise OutputError(
            f"{path} needs at least {nbytes:,} bytes, and its disk has {free:,} bytes free; write "
            "fewer rows, make room or choose another disk"
        )


def absent_output(address: str) -> OutputError:
    """Describe an output that the driver has made, and that a worker does not find.

    Parameters
    ----------
    address : str
        The output, for the message.
    """
    remedy = "give a path on a disk that all workers share, or in an object store"
    if address.startswith("memory://"):
        remedy = OF_ONE_PROCESS
    return OutputError(f"{address} is not there for a worker; {remedy}")


@contextmanager
def write_errors(address: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of a disk or an object store, such as a full disk, into an `OutputError`.

    Parameters
    ----------
    address : path or URL
        The output, for the message.

    Raises
    ------
    OutputError
    """
    try:
        yield
    except BigtensorError:
        raise
    except Exception as error:
        target = as_address(address)
        if isinstance(target, str) and is_store_failure(error):
            raise OutputError(explain_failure(target, error)) from hide_passwords(error)
        # errors without a number are of other things than files, such as connections to workers
        if not isinstance(error, OSError) or not error.errno:
            raise
        raise OutputError(
            f"could not write {address}: {error}; check that its folder exists, is writable and "
            "has free space"
        ) from error


def _move_into_place(partial: Path, path: Path, *, overwrite: bool) -> None:
    """Rename a finished store; a store that it replaces is removed afterwards.

    If the finished store cannot be renamed, the earlier one gets its name back.

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
    replaced = path.with_name(replaced_name(path.name))
    if path.exists():
        old = path.with_name(unfinished_name(replaced.name))
        try:
            path.rename(old)
            partial.rename(path)
        except BaseException:
            if old.exists() and not path.exists():
                old.rename(path)
            raise
        discard(old)
    else:
        partial.rename(path)
    # a run that was killed between these steps left the earlier store, which is kept until now
    remove_leftovers(replaced)
