"""Loops over rows that are no matrix product: compiled by Numba at their first call."""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import pickle
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, cast

import numpy as np

_Arguments = ParamSpec("_Arguments")

_LAYOUT = 0x001 | 0x002 | 0x100 | 0x400
"""Flags of an array in the C interface of NumPy: C and Fortran order, aligned, writeable."""

_log = logging.getLogger(__name__)


class RowLoop(Generic[_Arguments]):
    """A function that Numba compiles when it is called first with arguments of some types.

    A loop runs on one thread and without the lock of the interpreter. Sums are taken in an order
    that does not depend on threads or workers.

    Machine code is kept in Numba's cache: in ``NUMBA_CACHE_DIR``, beside the source, or in the
    cache folder of the user. Every process compiles anew if none of them can be written, or if
    other users can write to the folder that Numba takes, because they could run code in the
    processes that read it.

    Parameters
    ----------
    function : callable
        Of arrays and numbers; returns nothing. It calls no other loop, because Numba's cache does
        not notice changes in other files. It copies arrays entry by entry: for ``a[i] = b``, Numba
        compiles an error message about shapes as well, which takes three seconds.
    any_order : bool, default False
        Let Numba choose the order of a sum. A sum over neighbouring numbers then takes a quarter of
        the time. The order is the same at every call only if the innermost loop of the sum writes
        to no array. With a write, Numba compiles a second version for arrays that lie close
        together in memory, and the two versions add up in different orders.
    fused : bool, default False
        Round a product and the sum that it goes into once, in one instruction of the processor.
    """

    def __init__(
        self, function: Callable[_Arguments, None], *, any_order: bool = False, fused: bool = False
    ) -> None:
        self._function = function
        self._fast = {
            flag for flag, enabled in (("reassoc", any_order), ("contract", fused)) if enabled
        }
        self._compiled: dict[tuple[Any, ...], Callable[_Arguments, None]] = {}
        self._by_signature: dict[tuple[Any, ...], Callable[_Arguments, None]] = {}
        update_wrapper(self, function)

    def __call__(self, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        """Run the compiled function."""
        # a list is built faster than a generator runs, which counts for loops of microseconds
        types = tuple([_type_of(value) for value in (*args, *kwargs.values())])
        if types in self._compiled:
            self._compiled[types](*args, **kwargs)
            return
        # Numba takes half a second to import, which commands without rows do not need
        from numba import typeof

        # an array of one row is contiguous in both orders, and a number may be of NumPy or not
        signature = tuple(map(typeof, (*args, *kwargs.values())))
        if signature in self._by_signature:
            compiled = self._by_signature[signature]
            compiled(*args, **kwargs)
        else:
            compiled = self._first_call(signature, *args, **kwargs)
        self._compiled[types] = self._by_signature[signature] = compiled

    def _first_call(
        self, signature: tuple[Any, ...], *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> Callable[_Arguments, None]:
        """Run the function with arguments of a new signature, and return it compiled."""
        # Numba compiles, or reads its cache, before it runs the function
        compiled = self._compile(signature, keep=True)
        try:
            compiled(*args, **kwargs)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            _say_not_kept(getattr(error, "strerror", None) or "a file of Numba's cache is torn")
            compiled = self._compile(signature, keep=False)
            compiled(*args, **kwargs)
        return compiled

    def _compile(self, signature: tuple[Any, ...], *, keep: bool) -> Callable[_Arguments, None]:
        """Return the function for Numba, which compiles it when it is called."""
        from numba import njit

        function = cast("FunctionType", self._function)
        named = FunctionType(function.__code__, function.__globals__, function.__name__)
        named.__module__ = function.__module__
        named.__qualname__ = f"{function.__qualname__}_{_digest(inspect.getfile(named), signature)}"
        options: dict[str, Any] = {
            "nogil": True,
            "fastmath": self._fast or False,
            "error_model": "numpy",
        }
        try:
            compiled = njit(named, cache=keep, **options)
        except RuntimeError:
            _say_not_kept("no folder of Numba's cache can be written")
            keep, compiled = False, njit(named, **options)
        # Numba has made the folder, and reads it at the first call; NUMBA_DISABLE_JIT makes none
        stats = getattr(compiled, "stats", None) if keep else None
        if stats is not None:
            refusal = _refusal_of(Path(stats.cache_path), inspect.getfile(named))
            if refusal is not None:
                _say_not_kept(refusal)
                compiled = njit(named, **options)
        return cast("Callable[_Arguments, None]", compiled)


def row_loop(function: Callable[_Arguments, None]) -> RowLoop[_Arguments]:
    """Decorate a loop over rows; see `RowLoop`."""
    return RowLoop(function)


def reducing_row_loop(function: Callable[_Arguments, None]) -> RowLoop[_Arguments]:
    """Decorate a loop that adds up neighbouring numbers in an order that Numba chooses."""
    return RowLoop(function, any_order=True)


def fused_row_loop(function: Callable[_Arguments, None]) -> RowLoop[_Arguments]:
    """Decorate a loop of weighted sums, whose products and sums are rounded together."""
    return RowLoop(function, fused=True)


def _type_of(value: object) -> type | tuple[np.dtype[Any], int, int]:
    """Return what Numba's type of a value follows from, in a tenth of the time."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num & _LAYOUT
    return type(value)


def _digest(source: str, signature: tuple[Any, ...]) -> str:
    """Return a name for the machine code of one function.

    Numba writes an index and machine code in two steps, and numbers the files. Processes that
    compile the same function for other types, for another processor or from another version of
    the source at the same time would run each other's machine code. With a name for each, they
    write the same bytes to the same file.
    """
    import numba
    from llvmlite import binding

    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    content = repr((numba.__version__, processor, signature)).encode() + Path(source).read_bytes()
    return hashlib.sha256(content).hexdigest()[:16]


def _refusal_of(folder: Path, source: str) -> str | None:
    """Return why the folder that Numba has made for its cache is not used, or None if it is.

    Without HOME and an entry in the list of users, Numba takes the folder ``~/.cache`` literally,
    in the working folder. The empty folder is removed.
    """
    from numba import config

    # settings of Numba are attributes that the environment makes
    own = getattr(config, "CACHE_DIR", "")
    if not folder.is_absolute() and not (own and folder.is_relative_to(own)):
        with suppress(OSError):
            os.removedirs(folder)
        return "this user has no home folder for Numba's cache"
    if _open_to_others(folder, source):
        return "other users can write to the folder of Numba's cache"
    return None


def _open_to_others(folder: Path, source: str) -> bool:
    """Return True if users other than this one, root and the owner of the source can write.

    A group counts as others unless it has the name of the user, which is the group of this user
    alone where a system gives each user a group.
    """
    if not hasattr(os, "geteuid"):
        return False
    from grp import getgrgid
    from pwd import getpwuid

    status = folder.stat()
    if status.st_uid not in {os.geteuid(), 0, Path(source).stat().st_uid}:
        return True
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP:
        return False
    try:
        return getgrgid(status.st_gid).gr_name != getpwuid(status.st_uid).pw_name
    except KeyError:
        # a container may have numbers without names
        return status.st_gid != status.st_uid


@cache
def _say_not_kept(reason: str) -> None:
    """Log that machine code is not kept, once for every reason."""
    _log.warning(
        "loops over rows are compiled again in every process, because machine code cannot be kept "
        "(%s); set NUMBA_CACHE_DIR to a folder of your own",
        reason,
    )
