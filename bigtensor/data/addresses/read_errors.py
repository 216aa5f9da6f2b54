"""Errors of reading rows: the rows, the place and the remedy."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from bigtensor.data.addresses.dask_tasks import in_task
from bigtensor.data.addresses.object_stores import credentials_remedy, is_refusal
from bigtensor.data.addresses.repeated_reads import is_transient
from bigtensor.errors import MissingDependencyError, StoreReadError, hide_passwords

if TYPE_CHECKING:
    import xarray as xr


_DAMAGED = (
    "a chunk or shard is missing, truncated or corrupted: restore the file from a copy or import "
    "the data again"
)

OF_ONE_PROCESS = (
    "memory:// is in the memory of one process, which worker processes do not read: use threads, "
    "or write the store to a disk or an object store"
)


class WholeFileError(Exception):
    """A web server sent a whole file where a part of it was requested."""


def too_much_memory(what: str) -> StoreReadError:
    """Return the error of rows whose chunks do not fit in memory.

    Parameters
    ----------
    what : str
        The rows, or the variable, in words.
    """
    return StoreReadError(
        f"{what} asks for too much memory: a chunk is damaged, or larger than this machine can "
        "hold; restore the store from a copy, or write it in smaller chunks"
    )


def read_remedy(error: BaseException, damaged: str) -> str:
    """Return what to do about a failed read.

    Parameters
    ----------
    error : exception
        The error that ended the read.
    damaged : str
        The remedy where neither the network nor the permissions have failed.
    """
    # workers have the settings of the environment that started them, and not the driver's
    worker = f"the worker on {socket.gethostname()}" if in_task() else ""
    if remedy := credentials_remedy(error):
        missing = f". These settings are missing in {worker}: start workers with them"
        return remedy + (missing if worker else "")
    if is_transient(error):
        where = f" for {worker}" if worker else ""
        remedy = f"the disk or the network failed{where}: check it and run the same command again"
        if worker and type(error).__name__ == "EndpointConnectionError":
            remedy += ". Workers need the same endpoint as the driver (AWS_ENDPOINT_URL)"
        return remedy
    if is_refusal(error):
        return (
            "ask the owner of the store for permission, or renew the credentials if they have "
            "expired, and run the same command again"
            + (f"; they are those of {worker}" if worker else "")
        )
    return damaged


@contextmanager
def row_errors(variable: str, address: str, start: int, stop: int) -> Iterator[None]:
    """Turn errors of libraries that read rows into a `StoreReadError`.

    Parameters
    ----------
    variable, address : str
        Name what is read.
    start, stop : int
        The rows.

    Raises
    ------
    StoreReadError
    """
    try:
        yield
    except MissingDependencyError:
        raise
    except MemoryError as error:
        raise too_much_memory(
            f"{variable!r} of rows {start:,} to {stop - 1:,} in {address}"
        ) from error
    except WholeFileError as error:
        raise StoreReadError(
            f"rows {start:,} to {stop - 1:,} of {variable!r} in {address} cannot be read, because "
            f"its server always sends whole files, such as {error}, and shards are read in parts; "
            "use a server that answers range requests, or download the store"
        ) from error
    except Exception as error:
        absent = address.startswith("memory://") and isinstance(error, FileNotFoundError)
        remedy = read_remedy(error, OF_ONE_PROCESS if absent else _DAMAGED)
        raise StoreReadError(
            f"rows {start:,} to {stop - 1:,} of {variable!r} in {address} cannot be "
            f"read ({type(error).__name__}: {error}); {remedy}"
        ) from hide_passwords(error)


def read_variable(variable: xr.DataArray | xr.Variable, name: str) -> NDArray[Any]:
    """Read rows that xarray has not read from its store yet.

    Parameters
    ----------
    variable : DataArray or Variable
        Variable to read.
    name : str
        The variable and its store in words, for the message.

    Raises
    ------
    StoreReadError
        When a chunk is absent or damaged.
    """
    try:
        values: NDArray[Any] = variable.to_numpy()
    except MemoryError as error:
        raise too_much_memory(name) from error
    except Exception as error:
        # xarray passes on what the codecs and file systems raise
        raise StoreReadError(
            f"{name} cannot be read ({type(error).__name__}: {error}); "
            + read_remedy(error, "restore the store from a copy or write it again")
        ) from hide_passwords(error)
    return values
