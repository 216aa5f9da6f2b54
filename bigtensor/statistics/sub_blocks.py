"""Cut a block into shorter blocks, for kernels that work on fewer rows at once."""

from __future__ import annotations

from collections.abc import Iterator

from bigtensor.data.rows.block import Block


def sub_blocks(block: Block, rows: int, halo: int = 0) -> Iterator[tuple[slice, Block]]:
    """Yield consecutive windows of a block: nothing is copied.

    Parameters
    ----------
    block : Block
        Block to cut.
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
        yield slice(first, last), block.window(first, last, halo)
