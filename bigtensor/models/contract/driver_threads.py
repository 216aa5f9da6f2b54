"""Independent work of the driver, on a few threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bigtensor.engine.blas import single_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_on_threads(
    function: Callable[[Item], Result], items: Iterable[Item], most: int
) -> list[Result]:
    """Call a function for every item, several at a time, each with BLAS on one thread.

    Passes do not run meanwhile, so that processors are free. Results do not depend on their number.

    Parameters
    ----------
    function : callable
        It must let go of the interpreter, as NumPy and compiled loops do, to gain from threads.
    items : iterable
        Arguments of the calls.
    most : int
        Largest number of items in work at a time, which bounds the memory that they take.

    Returns
    -------
    list
        The results in the order of the items.
    """

    def called(item: Item) -> Result:
        with single_blas_thread():
            return function(item)

    with ThreadPoolExecutor(
        min(most, _processors()), thread_name_prefix="bigtensor-driver"
    ) as pool:
        return list(pool.map(called, items))


def _processors() -> int:
    """Return the number of processors that this process may use."""
    may_use = getattr(os, "sched_getaffinity", None)
    return len(may_use(0)) if may_use else os.cpu_count() or 1
