"""A random number for every row, the same however the rows are cut into blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.purpose_seeds import purpose_sequence

_DRAWS_PER_COUNTER = 4
"""64-bit numbers that Philox makes of one value of its counter."""

_STRETCH = 65_536
"""Consecutive rows whose keys are drawn together where only some of them are wanted."""


def row_keys(random_state: int, purpose: str, start: int, stop: int) -> NDArray[np.uint64]:
    """Return the keys of consecutive rows.

    The key of row i is number i of the Philox stream (Salmon et al. 2011) of this seed and this
    purpose: a counter-based generator can start anywhere, so that no row depends on another.

    Parameters
    ----------
    random_state : int
        Not negative.
    purpose : str
        What the keys are for; different purposes have independent keys.
    start, stop : int
        Global row indices, ``0 <= start <= stop``.

    Returns
    -------
    (stop - start,) uint64 array
        Uniform over all 64-bit numbers.
    """
    generator = Philox(purpose_sequence(random_state, purpose))
    counter, skipped = divmod(start, _DRAWS_PER_COUNTER)
    generator.advance(counter)
    draws: NDArray[np.uint64] = generator.random_raw(skipped + stop - start)
    return draws[skipped:]


def keys_at(random_state: int, purpose: str, index: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the keys of rows that need not be consecutive.

    Parameters
    ----------
    random_state : int
        Seed of the random numbers.
    purpose : str
        Name of the use of the keys. Different purposes have independent keys.
    index : (rows,) integer array
        Global row indices, in any order.

    Returns
    -------
    (rows,) uint64 array
        Equal to `row_keys` of every row.
    """
    if not index.size:
        return np.empty(0, np.uint64)
    order = np.argsort(index, kind="stable")
    ascending = np.asarray(index)[order].astype(np.int64, copy=False)
    keys, begin = np.empty(len(ascending), np.uint64), 0
    while begin < len(ascending):
        first = int(ascending[begin])
        # chosen rows may lie anywhere in billions of rows
        end = int(np.searchsorted(ascending, first + _STRETCH))
        drawn = row_keys(random_state, purpose, first, int(ascending[end - 1]) + 1)
        keys[order[begin:end]] = drawn[ascending[begin:end] - first]
        begin = end
    return keys


def block_keys(random_state: int, purpose: str, block: Block) -> NDArray[np.uint64]:
    """Return the keys of the rows of a block: ``(block.rows,)`` uint64."""
    if block.index is not None:
        return keys_at(random_state, purpose, block.row_index())
    return row_keys(random_state, purpose, block.start, block.start + block.rows)
