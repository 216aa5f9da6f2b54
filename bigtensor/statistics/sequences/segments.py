"""Sequences in a block, and blocks that are one sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State

_NAMES = ("start", "source_start", "first_row", "last_row", "first_sequence", "last_sequence")

KEYS: dict[str, ArraySpec] = dict.fromkeys(_NAMES, ((), "int64"))
"""Numbers that tell a block, and whether it goes on with the sequence of the one before."""


def sequence_starts(block: Block) -> NDArray[np.bool_]:
    """Return True for the rows at which a sequence starts, but for the first row of a block.

    A sequence ends where its id changes, and where rows were left out.

    Parameters
    ----------
    block : Block
        Rows with the ids of their sequences.

    Returns
    -------
    (rows,) bool array
        False for the first row of the block.
    """
    starts = np.zeros(block.rows, np.bool_)
    if block.sequence is not None:
        own = block.sequence[: block.rows]
        starts[1:] = own[1:] != own[:-1]
    if block.index is not None:
        own = block.index[: block.rows]
        starts[1:] |= own[1:] != own[:-1] + 1
    return starts


def keys_of(block: Block) -> dict[str, int]:
    """Return the numbers of `KEYS` of a block with rows."""
    last = block.rows - 1
    first_row, last_row = block.start, block.start + last
    if block.index is not None:
        first_row, last_row = int(block.index[0]), int(block.index[last])
    first_sequence, last_sequence = 0, 0
    if block.sequence is not None:
        # unsigned ids keep their differences
        ends = block.sequence[[0, last]].astype(np.int64)
        first_sequence, last_sequence = int(ends[0]), int(ends[1])
    return {
        "start": block.start,
        "source_start": block.source_start,
        "first_row": first_row,
        "last_row": last_row,
        "first_sequence": first_sequence,
        "last_sequence": last_sequence,
    }


def continuing(state: State) -> NDArray[np.bool_]:
    """Return True for the entries that go on with the sequence of the entry before.

    Parameters
    ----------
    state : mapping of str to (entries,) int64 array
        The arrays of `KEYS`, in the order of the rows.
    """
    joined = np.zeros(len(state["start"]), np.bool_)
    joined[1:] = (
        (state["first_row"][1:] == state["last_row"][:-1] + 1)
        & (state["first_sequence"][1:] == state["last_sequence"][:-1])
        & (state["source_start"][1:] == state["source_start"][:-1])
    )
    return joined
