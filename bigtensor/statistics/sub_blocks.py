"""Cut a block into shorter blocks, for kernels that work on fewer rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bigtensor.data.block import Block


def sub_blocks(block: Block, rows: int, halo: int = 0) -> Iterator[tuple[slice, Block]]:
    """Yield consecutive windows of a block: nothing is copied.

    Parameters
    ----------
    block : Block
    rows : int
        Rows of every window but the last, which may be shorter.
    halo : int, default 0
        Rows after a window that may be looked at, as far as ``block`` has them.

    Yields
    ------
    slice
        The rows of the window, counted from the first row of ``block``.
    Block
        The window.
    """
    if block.rows <= rows and block.values.shape[0] <= block.rows + halo:
        if block.rows:
            yield slice(0, block.rows), block
        return
    for first in range(0, block.rows, rows):
        last = min(first + rows, block.rows)
        yield slice(first, last), sub_block(block, first, last, halo)


def sub_block(block: Block, first: int, last: int, halo: int = 0) -> Block:
    """Return a window of a block: nothing is copied.

    Parameters
    ----------
    block : Block
    first, last : int
        First row of the window and the row after its last, counted from the first row of ``block``.
    halo : int, default 0
        Rows after the window that may be looked at, as far as ``block`` has them.
    """
    seen = slice(first, last + halo)
    return replace(
        block,
        values=block.values[seen],
        start=block.start + first,
        rows=last - first,
        weight=None if block.weight is None else block.weight[seen],
        sequence=None if block.sequence is None else block.sequence[seen],
        group=None if block.group is None else block.group[seen],
        index=None if block.index is None else block.index[seen],
    )
