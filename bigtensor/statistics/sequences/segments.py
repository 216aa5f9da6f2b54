"""Sequences in a block, and blocks that are one sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bigtensor.data.rows.block import Block
from bigtensor.statistics.base import ArraySpec, State

GOES_ON, BEGINS, RESUMES = 0, 1, 2
"""Kinds of rows: later rows of a sequence, first rows of sequences, and rows after a gap.

Where rows were left out, the sequence is cut. The row after the gap has no row before it, but it is
not the first row that is left of its sequence.
"""

_NAMES = ("start", "source_start", "first_row", "last_row", "first_sequence", "last_sequence")

KEYS: dict[str, ArraySpec] = dict.fromkeys(_NAMES, ((), "int64"))
"""Numbers that tell a block, and whether it goes on with the sequence of the one before."""


def row_kinds(block: Block, first: int = GOES_ON) -> NDArray[np.int8]:
    """Return the kind of every row: `GOES_ON`, `BEGINS` or `RESUMES`.

    A sequence ends where its id changes, and where rows were left out.

    Parameters
    ----------
    block : Block
        Rows with the ids of their sequences.
    first : int, default `GOES_ON`
        Kind of the first row, which depends on the block before.

    Returns
    -------
    (rows,) int8 array
        Positive for rows without a row before.
    """
    kinds = np.full(block.rows, GOES_ON, np.int8)
    if block.index is not None:
        own = block.index[: block.rows]
        kinds[1:][own[1:] != own[:-1] + 1] = RESUMES
    if block.sequence is not None:
        own = block.sequence[: block.rows]
        kinds[1:][own[1:] != own[:-1]] = BEGINS
    kinds[0] = first
    return kinds


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


def first_row_kinds(state: State) -> NDArray[np.int8]:
    """Return the kind of the first row of every entry: `GOES_ON`, `BEGINS` or `RESUMES`.

    Parameters
    ----------
    state : mapping of str to (entries,) int64 array
        The arrays of `KEYS`, in the order of the rows.
    """
    kinds = np.full(len(state["start"]), BEGINS, np.int8)
    same = (state["first_sequence"][1:] == state["last_sequence"][:-1]) & (
        state["source_start"][1:] == state["source_start"][:-1]
    )
    adjacent = state["first_row"][1:] == state["last_row"][:-1] + 1
    kinds[1:][same & adjacent] = GOES_ON
    kinds[1:][same & ~adjacent] = RESUMES
    return kinds
