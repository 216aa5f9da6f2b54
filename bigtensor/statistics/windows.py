"""Where a pilot looks: a few windows of rows, spread evenly over all of them."""

from __future__ import annotations

WINDOWS = 64
"""Windows of a pilot: it then costs a fraction of a read of the data."""

MIN_WINDOW_ROWS = 4096
"""Rows of a window, unless the sample needs more."""


def sample_windows(rows: int, size: int) -> tuple[tuple[int, int], ...] | None:
    """Choose the row ranges from which a sample is drawn.

    Parameters
    ----------
    rows : int
        Rows of the data.
    size : int
        Rows of the sample.

    Returns
    -------
    tuple of (start, stop), optional
        At most 64 disjoint ranges, evenly spread by global row index, that hold at least twice
        the sample; None for small data, where all rows are looked at.
    """
    length = max(MIN_WINDOW_ROWS, -(-2 * size // WINDOWS))
    if rows <= WINDOWS * length:
        return None
    last = rows - length
    starts = [last * window // (WINDOWS - 1) for window in range(WINDOWS)]
    return tuple((start, start + length) for start in starts)
