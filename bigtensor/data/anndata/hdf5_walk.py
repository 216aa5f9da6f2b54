"""Program that reads the structure of an HDF5 file, run in a process of its own.

``python -I hdf5_walk.py FILE SECONDS [FOLDER OF MODULES ...]``

Damage can send the HDF5 library into an endless loop, which nothing in the same process can end.
Here a step that exceeds the time limit ends the process with ``Timeout`` on standard error, and a
crash ends it with ``Fatal Python error``. Errors that the library raises are passed over, because
they are raised again where the file is opened.
"""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h5py

MOST_NBYTES = 2 * 2**30
"""Memory of this process: a damaged length may claim any size."""

ENTRIES_A_STEP = 16_384
"""Entries of variable length that are read together."""

ENTRIES_A_BYTE = 64
"""Most entries of a stored byte: an entry has 16 bytes, and deflate packs 1,032 bytes into one."""

ATTRIBUTES = ("encoding-type", "encoding-version", "shape", "_index", "column-order")
MEMBERS = ("X", "layers", "obsm", "obs", "var", "data", "indices", "indptr", "categories", "codes")
"""Names that are read of AnnData although lists of them may be damaged."""

READ_PARTS = ("/X", "/layers/", "/obsm/", "/obs/", "/var/")
"""Parts of AnnData of which values are read. Of all others only the attributes are."""

Step = Callable[[], AbstractContextManager[None]]
"""Returns a context that has the time limit for itself and passes over errors."""


def main(path: str, seconds: float) -> None:
    """Read attributes, types, shapes and names.

    Parameters
    ----------
    path : str
        HDF5 file on a disk.
    seconds : float
        Time limit of a step, such as reading an attribute.
    """
    import h5py

    _limit_memory()
    faulthandler.enable()
    step = partial(_step, seconds)
    with step():
        file = h5py.File(path, "r")
        visited: set[tuple[int, int]] = set()
        waiting = [file["/"]]
        while waiting:
            with step():
                waiting += _members(waiting.pop(), visited, step)
        with step():
            file.close()
    faulthandler.cancel_dump_traceback_later()


@contextmanager
def _step(seconds: float) -> Iterator[None]:
    """Allow some time from now on, and pass over errors."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    with suppress(Exception):
        yield


def _members(
    node: h5py.Group | h5py.Dataset, visited: set[tuple[int, int]], step: Step
) -> list[h5py.Group | h5py.Dataset]:
    """Read the structure of a group or dataset, and return the members of a group."""
    import h5py

    for key in _listed(node.attrs, ATTRIBUTES):
        with step():
            node.attrs[key]
    # links of a damaged file may lead in circles
    place = h5py.h5g.get_objinfo(node.id).objno
    if place in visited:
        return []
    visited.add(place)
    members: list[h5py.Group | h5py.Dataset] = []
    if isinstance(node, h5py.Dataset):
        _read_variable_lengths(node, step)
    elif isinstance(node, h5py.Group):
        for name in _listed(node, MEMBERS):
            with step():
                # what other links lead to has a hard link too, or lies in another file
                if isinstance(node.get(name, getlink=True), h5py.HardLink):
                    members.append(node[name])
    return members


def _listed(names: Iterable[str], expected: Iterable[str]) -> list[str]:
    """Return the names in a list, or those that AnnData has where the list cannot be read."""
    with suppress(Exception):
        return [*names]
    return [*expected]


def _read_variable_lengths(dataset: h5py.Dataset, step: Step) -> None:
    """Read values of variable length, which lie in heaps as attributes do.

    In valid files they are names of variables and columns of strings. Numbers are not read.
    """
    if not dataset.dtype.hasobject or not dataset.name.startswith(READ_PARTS):
        return
    # names of observations are as many as rows, and the package does not read them
    if dataset.name == f"/obs/{dataset.parent.attrs.get('_index', '_index')}":
        return
    # a damaged length claims more entries than there are
    if dataset.size > ENTRIES_A_BYTE * dataset.id.get_storage_size():
        return
    for start in range(0, len(dataset), ENTRIES_A_STEP):
        with step():
            dataset[start : start + ENTRIES_A_STEP]


def _limit_memory() -> None:
    """Limit the memory of this process where the system can and nobody has done so."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == hard == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_NBYTES, hard))


if __name__ == "__main__":
    # the modules that the package itself uses, wherever they are installed
    sys.path[:] = sys.argv[3:] or sys.path
    main(sys.argv[1], float(sys.argv[2]))
